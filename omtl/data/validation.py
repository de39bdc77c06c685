"""Validation of examples on input: once per matrix, before compiled code reads it.

Compiled code does not check indices: one beyond the weights would write to foreign memory. SciPy
does not check indices when a matrix is made from arrays, and they can be changed later, so this
module trusts nothing that a matrix claims about itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from omtl.util.errors import UserError, repeated

WIDEST = 2**31 - 1
"""Maximum number of columns: compiled code stores column indices in 32 bits."""


COMPRESSED = {"csr": (sparse.csr_array, 1, "column"), "csc": (sparse.csc_array, 0, "row")}
"""Formats whose arrays are checked directly, with the axis that their indices are of."""


def sound_rows(X: Any) -> Any:
    """Return a sparse matrix in canonical form, after checking that its indices fit its shape.

    Canonical means CSR with ascending, unique columns in each row (duplicates are summed), as made
    by SciPy's ``sum_duplicates``. A canonical matrix is not copied; the given matrix is never
    changed.

    Parameters
    ----------
    X : object
        Anything that is not sparse is returned unchanged.

    Returns
    -------
    csr_array or object

    Raises
    ------
    ValueError
        If an index is outside the shape, or the arrays do not belong together.
    """
    if not sparse.issparse(X):
        return X
    if len(X.shape) != 2:
        raise ValueError(f"X must have two axes, and has the shape {X.shape}")
    if X.shape[1] > WIDEST:
        raise ValueError(f"X has {X.shape[1]} columns, more than {WIDEST}: hash the features")
    # A new matrix has no cached facts about its indices, which may have changed.
    try:
        if X.format in COMPRESSED:
            kind, axis, name = COMPRESSED[X.format]
            _check_integers(X.indptr, "X.indptr")
            if (X.indptr[1:] < X.indptr[:-1]).any():  # SciPy does not check it if the last is 0
                raise ValueError("X.indptr must not decrease")
            _check_index(X.indices, X.shape[axis], name)
            rows = kind((X.data, X.indices, X.indptr), shape=X.shape)
            rows.check_format(full_check=True)
        else:
            found = X.tocoo()
            rows = sparse.coo_array((found.data, found.coords), shape=found.shape)
    except ValueError as fault:
        raise ValueError(f"X is malformed: {fault}") from fault
    rows = rows.tocsr()
    if not rows.has_canonical_format:
        rows = rows.astype(np.promote_types(rows.dtype, np.float64))  # a copy, summed in full
        rows.sum_duplicates()
    return rows


def _check_integers(array: Any, name: str) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be an array of whole numbers")


def _check_index(index: Any, size: int, name: str) -> None:
    """Raise ValueError unless all numbers are whole and in range."""
    _check_integers(index, name)
    wrong = index[(index < 0) | (index >= size)]
    if wrong.size:
        raise ValueError(f"{name} {wrong[0]} is none of {size}, which are numbered from 0")


def sound_tasks(tasks: Any) -> Any:
    """Return a data set with canonical rows, after checking that compiled code can read it.

    Parameters
    ----------
    tasks : Tasks
        Or examples with classes (``label``) instead of a ``y`` of -1 or +1; the ``y`` of
        `RealTasks` may be any finite numbers.

    Raises
    ------
    UserError
        If rows, labels and tasks do not belong together.
    """
    try:
        X = sound_rows(tasks.X)
        _check_examples(X, tasks)
    except ValueError as fault:
        raise UserError(f"its examples are malformed: {fault}") from fault
    return tasks if X is tasks.X else replace(tasks, X=X)


def _check_examples(X: Any, tasks: Any) -> None:
    """Raise ValueError unless labels and tasks belong to checked rows."""
    has_classes = hasattr(tasks, "label")
    labels = tasks.label if has_classes else tasks.y
    for name, array in (("X", X), ("labels", labels), ("task", tasks.task)):
        if not (sparse.issparse(array) or type(array) in (np.ndarray, np.memmap)):
            raise ValueError(f"{name} must be an array, not {type(array).__name__!r}")
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{name} must be numbers, not {str(array.dtype)!r}")
    if X.ndim != 2 or not all(X.shape):
        raise ValueError(f"X of shape {X.shape} must have a row for each example, and a feature")
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
        raise ValueError("X has numbers that are not finite")
    n = X.shape[0]
    if twice := repeated(tasks.names):
        raise ValueError(f"two tasks have the name {twice[0]!r}")
    for name, array in (("labels", labels), ("task", tasks.task)):
        if array.shape != (n,):
            raise ValueError(f"X has {n} rows, and {name} the shape {array.shape}")
    if not has_classes and tasks.real and not np.isfinite(labels).all():
        raise ValueError("targets must be finite numbers")
    if not has_classes and not tasks.real and not (np.abs(labels) == 1.0).all():
        raise ValueError("labels must be -1 or +1")
    _check_index(tasks.task, len(tasks.names), "task")
