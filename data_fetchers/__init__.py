"""The data sets: where each file comes from, its hash, and how its bytes become tasks.

A data set is a module of this package with the data set's name, or one of ``synthetic.DATA_SETS``;
modules are discovered, and imported when they are asked for, because they need NumPy and SciPy.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from omtl.util.code import imported
from omtl.util.errors import UserError
from omtl.util.providers import added_module
from omtl.util.user_errors import describe_fault

if TYPE_CHECKING:
    from data_fetchers.fetch import RemoteFile
    from omtl.data.streams import Tasks

GIVEN = "rng"
"""What a synthetic data set is given besides its options: a random generator."""


class DataSetModule(Protocol):
    """The interface of a data set: of its module, or of `synthetic.SyntheticSource`."""

    __name__: str
    NAME: str
    FILES: tuple[RemoteFile, ...]
    CITATION: str
    LICENCE: str

    def load(self, *args: Any, **given: Any) -> Tasks:
        """Download the files if necessary, and turn them into tasks.

        Its keyword arguments are the data set's options or, if the module has a dataclass
        ``Options`` of them, its only argument is one. A synthetic data set takes the generator
        `rng` besides.
        """


@lru_cache
def data_set_names() -> tuple[str, ...]:
    """Return the names of the data sets, sorted; cached, because every unit asks."""
    return tuple(sorted(_modules() | _drawn().keys()))


@lru_cache
def _modules() -> frozenset[str]:
    """Return the names of the modules that are data sets."""
    modules = {module.name for module in pkgutil.iter_modules(__path__)}
    return frozenset(name for name in modules if not name.startswith("_")) - {"fetch", "synthetic"}


def _drawn() -> Mapping[str, DataSetModule]:
    """Return the synthetic data sets; imported by name, so that others do not depend on them."""
    return import_module(f"{__name__}.synthetic").DATA_SETS


def data_set(name: str) -> DataSetModule:
    """Return a data set, imported on first use.

    Parameters
    ----------
    name : str
        One of ``data_set_names()``, or the module of an extension or of the user's own folder.

    Raises
    ------
    UserError
        If there is no data set of this name, or it cannot be imported.
    """
    if name in _modules():
        return cast(DataSetModule, import_module(f"{__name__}.{name}"))
    if name in _drawn():
        return _drawn()[name]
    if added_module(name) is not None:
        try:
            added = cast(DataSetModule, imported(name))
        except Exception as fault:  # any error that a user's file raises on import
            why = describe_fault(fault)
            raise UserError(f"the data set {name!r} cannot be imported: {why}") from fault
        needed = (*DataSetModule.__annotations__, "load")
        if lacking := [each for each in needed if not hasattr(added, each)]:
            raise UserError(f"data set {name!r} lacks {', '.join(lacking)} (docs/adding.md)")
        return added
    raise UserError(f"no data set {name!r}; choose from {', '.join(data_set_names())}")


def options_of(one: DataSetModule) -> Callable[..., Any]:
    """Return what has the options of a data set as parameters: its ``Options`` or its ``load``."""
    return getattr(one, "Options", one.load)


def load(name: str, /, **options: Any) -> Tasks:
    """Download a data set's files if necessary, and turn them into tasks.

    Parameters
    ----------
    name : str
        One of ``data_set_names()``.
    **options
        Options of the data set, and `rng` of a synthetic one.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        If the name or an option is wrong.
    """
    one = data_set(name)
    return one.load(one.Options(**options)) if hasattr(one, "Options") else one.load(**options)


def folder_of(one: DataSetModule) -> str:
    """Return the folder of a data set's files: its name, or one shared with another data set."""
    return getattr(one, "FOLDER", one.NAME)


def fetch_all(wanted: Iterable[str]) -> Iterator[Path]:
    """Download the files of several data sets; a missing one does not stop the others.

    Parameters
    ----------
    wanted : iterable of str
        Names of data sets.

    Yields
    ------
    Path
        Each file, verified, as soon as it is available.

    Raises
    ------
    DataMissing
        If files are missing, with one line for each; the other files are downloaded.
    UserError
        If a name is unknown; nothing is downloaded then.
    """
    from data_fetchers.fetch import DataMissing, fetch

    missing: list[str] = []
    for one in [data_set(name) for name in wanted]:
        for file in one.FILES:
            try:
                yield fetch(folder_of(one), file)
            except DataMissing as fault:
                missing.append(str(fault))
    if missing:
        raise DataMissing("\n".join(missing))
