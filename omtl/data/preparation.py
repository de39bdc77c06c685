"""Preparing a data set for learners: bias feature, normalisation, layout."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from omtl.data.rows import Examples, rows_of, square_norms
from omtl.data.scaling import SCALES, new_scale
from omtl.data.streams import Stream, Tasks
from omtl.data.validation import sound_tasks
from omtl.util.errors import UserError, choose

SPARSE_BELOW = 0.25
"""Rows with a smaller share of nonzeros than this are stored sparse."""

LARGE = 2**27
"""From this size in bytes on, a unit plays examples in place instead of copying them in order."""


def with_bias(tasks: Tasks) -> Tasks:
    """Return the tasks with an additional last feature that is always 1."""
    ones = np.ones((tasks.X.shape[0], 1))
    if isinstance(tasks.X, sparse.csr_array):
        return replace(tasks, X=sparse.csr_array(sparse.hstack([tasks.X, ones])))
    return replace(tasks, X=np.hstack([tasks.X, ones]))


def with_unit_rows(tasks: Tasks) -> Tasks:
    """Return the tasks with each example divided by its Euclidean norm (a zero row stays zero)."""
    norm = np.sqrt(square_norms(tasks.X))
    scale = 1.0 / np.where(norm > 0.0, norm, 1.0)
    return scaled_rows(tasks, scale)


def scaled_rows(tasks: Tasks, scale: np.ndarray) -> Tasks:
    """Return the tasks with each example multiplied by a number."""
    if isinstance(tasks.X, sparse.csr_array):
        return replace(tasks, X=sparse.csr_array(sparse.diags_array(scale) @ tasks.X))
    return replace(tasks, X=tasks.X * scale[:, None])


NORMALISATIONS = ("none", "unit", *SCALES)
"""What rows may be divided by; those of `SCALES` are scaled later, in the order of a stream."""


def prepare(tasks: Tasks, normalise: str = "none", bias: bool = False) -> Tasks:
    """Return the tasks prepared for learners.

    Parameters
    ----------
    tasks : Tasks
    normalise : {"none", "unit", "standard", "minmax"}
        Whether to divide each example by its norm, including the bias feature. Rows for one of
        `SCALES` are left as they are, and dense.
    bias : bool
        Whether to add a feature that is always 1.

    Raises
    ------
    UserError
        If the normalisation is not known or needs too much memory, or the tasks are malformed.
    """
    choose("dataset.normalise", normalise, NORMALISATIONS)
    tasks = sound_tasks(tasks)
    if bias:
        tasks = with_bias(tasks)
    if normalise == "unit":
        tasks = with_unit_rows(tasks)
    X = tasks.X
    if normalise in SCALES:
        if isinstance(X, sparse.csr_array) and 8 * X.shape[0] * X.shape[1] > LARGE:
            raise UserError(
                f"dataset.normalise={normalise}: sparse rows of {X.shape[1]} features become "
                "dense, and need too much memory; use unit"
            )
        return replace(tasks, X=X.toarray() if isinstance(X, sparse.csr_array) else X)
    nonzeros = X.nnz if isinstance(X, sparse.csr_array) else np.count_nonzero(X)
    if nonzeros < SPARSE_BELOW * X.shape[0] * X.shape[1]:
        X = sparse.csr_array(X)
        X.sort_indices()
    elif isinstance(X, sparse.csr_array):
        X = X.toarray()
    return replace(tasks, X=X)


@dataclass(frozen=True)
class PreparedData:
    """A data set prepared for learners.

    Parameters
    ----------
    tasks : Tasks
        The examples, without features that occur in a single example.
    square_norm : ndarray of shape (n_examples,)
        Squared norms of the whole rows.
    sha256 : str
        Hash of the whole rows, labels and tasks.
    is_reduced : bool
        Whether such features were dropped.
    scale : str
        One of `SCALES`, by which the rows are scaled when they are put in the order of a stream;
        or empty.
    constant : bool
        Whether the last feature is the bias, which is not scaled.
    """

    tasks: Tasks
    square_norm: np.ndarray
    sha256: str
    is_reduced: bool = False
    scale: str = ""
    constant: bool = False

    @property
    def nbytes(self) -> int:
        """Memory of the rows and their norms, in bytes."""
        return _bytes_of(self.tasks.X) + self.square_norm.nbytes


def prepared_data(tasks: Tasks) -> PreparedData:
    """Return prepared tasks in the form for learners.

    If each example is played once, a feature that occurs in a single example changes no score: it
    is dropped from the row and kept in the squared norm. The most common features come first, so
    that the most used weights lie together in memory.
    """
    reduced = tasks
    if isinstance(tasks.X, sparse.csr_array):
        rows_with = np.bincount(tasks.X.indices, minlength=tasks.X.shape[1])
        common_first = np.argsort(-rows_with, kind="stable")
        kept = sparse.csr_array(tasks.X[:, common_first[: np.count_nonzero(rows_with > 1)]])
        kept.sort_indices()
        reduced = replace(tasks, X=kept)
    is_reduced = reduced.X.shape[1] < tasks.X.shape[1]
    return PreparedData(reduced, square_norms(tasks.X), tasks.sha256, is_reduced)


def read_only(source: PreparedData) -> PreparedData:
    """Return a read-only copy: NumPy refuses a learner that changes its rows."""
    tasks = source.tasks
    X: np.ndarray | sparse.csr_array = tasks.X
    if isinstance(X, sparse.csr_array):
        X = sparse.csr_array(X)
        X.data, X.indices, X.indptr = map(_locked, (X.data, X.indices, X.indptr))
    else:
        X = _locked(X)
    tasks = replace(tasks, X=X, y=_locked(tasks.y), task=_locked(tasks.task))
    return replace(source, tasks=tasks, square_norm=_locked(source.square_norm))


def _locked(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view


def scaled_in_order(source: PreparedData, order: np.ndarray, n_learnt: int) -> np.ndarray:
    """Return rows in this order, scaled as `source` says.

    Those after the first `n_learnt` are scaled each as if it came next.
    """
    X = source.tasks.X[order]
    columns = slice(X.shape[1] - source.constant)
    scale = new_scale(source.scale)
    X[:n_learnt, columns] = scale.follow(X[:n_learnt, columns])
    X[n_learnt:, columns] = scale.next_one(X[n_learnt:, columns])
    return X


def in_order(
    source: PreparedData, stream: Stream, n_learnt: int | None = None
) -> tuple[Examples, Stream]:
    """Return the examples in stream order, and the stream over them.

    With `n_learnt`, only so many of the first are learnt from (`scaled_in_order`).

    Memory is then read from front to back, which makes a play several times faster. Data above
    `LARGE` stay in place, in their own order: a unit then needs no copy, and may take twice as
    long. Data that are `read_only` stay so.
    """
    tasks, order = source.tasks, stream.example
    if not source.scale and _bytes_of(tasks.X) * order.size > LARGE * tasks.y.size:
        examples = Examples(rows_of(tasks.X, copy=False), tasks.y, tasks.task, source.square_norm)
    else:
        if source.scale:
            X = scaled_in_order(source, order, order.size if n_learnt is None else n_learnt)
            square_norm = square_norms(X)
        else:
            X, square_norm = tasks.X[order], source.square_norm[order]
        examples = Examples(rows_of(X, copy=False), tasks.y[order], tasks.task[order], square_norm)
        stream = stream._replace(example=np.arange(order.size))
    if not source.square_norm.flags.writeable:
        rows = type(examples.rows)(*map(_locked, examples.rows))
        examples = Examples(rows, *map(_locked, examples[1:]))
    return examples, stream


def _bytes_of(X: np.ndarray | sparse.csr_array) -> int:
    """Return the size in bytes of a matrix's values and, if sparse, their columns."""
    return X.data.nbytes + X.indices.nbytes if isinstance(X, sparse.csr_array) else X.nbytes
