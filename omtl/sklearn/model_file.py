"""Estimators in files of skops: arrays, and the names of types. Reading one executes nothing."""

from __future__ import annotations

from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Self, cast

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from omtl.util.errors import UserError
from omtl.util.files import write_whole

OURS = ("omtl.data.rows", "omtl.kernel.", "omtl.learners.", "omtl.sklearn")
"""Beginnings of the modules whose types a file may have."""


class SaveLoadMixin:
    """An estimator that can be written to a file and read again."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the estimator to a file of skops.

        Parameters
        ----------
        path : path-like
            Replaced if it exists.

        Raises
        ------
        UserError
            If the file cannot be written.
        NotFittedError
            If nothing has been learnt.
        """
        from skops.io import dumps

        check_is_fitted(self)
        write_whole(Path(fspath(path)), dumps(self))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the estimator of a file that `save` wrote.

        Raises
        ------
        UserError
            If the file is not such a file, or of another learner.
        """
        return cast(Self, load(path, cls))


def load(path: str | PathLike[str], kind: type = object) -> Any:
    """Return the estimator of a file, of this kind.

    Types of other packages than this one, which could run code, are not read. Compiled code trusts
    the indices in a file.

    Raises
    ------
    UserError
        If the file cannot be read, is not a model of this version, or is of another kind.

    Examples
    --------
    >>> import tempfile
    >>> from omtl.sklearn import Perceptron, load
    >>> model = Perceptron().fit([[1.0], [-1.0]], ["spam", "ham"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.skops")
    ...     load(f"{folder}/model.skops").predict([[2.0]])
    array(['spam'], dtype='<U4')
    """
    from skops.io import get_untrusted_types, loads

    try:
        content = Path(fspath(path)).read_bytes()
    except OSError as fault:
        raise UserError(f"{path}: cannot be read ({fault.strerror or fault})") from fault
    try:
        trusted = [name for name in get_untrusted_types(data=content) if _is_ours(name)]
        found = loads(content, trusted=trusted)
    except Exception as fault:  # whatever a damaged or hostile file brings about
        raise UserError(
            f"{path}: is not a model file of this omtl, or is damaged ({fault})"
        ) from fault
    if not isinstance(found, kind):
        raise UserError(f"{path}: has a {type(found).__name__}, not a {kind.__name__}")
    return found


def _is_ours(name: str) -> bool:
    """Whether a name is that of a type of this package which only holds data."""
    module, _, own = name.rpartition(".")
    found = getattr(import_module(module), own, None) if name.startswith(OURS) else None
    return isinstance(found, type) and issubclass(found, tuple | BaseEstimator)
