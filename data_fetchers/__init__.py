"""The data sets: where each file comes from, its hash, and how its bytes become tasks.

A data set is a module of this package, named as the data set is; it is found by being there.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from data_fetchers import fetch
from data_fetchers.fetch import DataMissing, RemoteFile
from omtl.data.streams import Tasks
from omtl.util.errors import UserError


class DataSet(Protocol):
    """What a data set's module has."""

    NAME: str
    FILES: tuple[RemoteFile, ...]
    CITATION: str
    LICENCE: str

    def load(self, *, home: Path | None = None, **options: Any) -> Tasks:
        """Fetch the files if need be, and make tasks of them."""


@lru_cache
def names() -> tuple[str, ...]:
    """Return the names of the data sets, sorted; every unit asks, so the folder is read once."""
    return tuple(
        sorted(
            module.name
            for module in pkgutil.iter_modules(__path__)
            if module.name != "fetch" and not module.name.startswith("_")
        )
    )


def data_set(name: str) -> DataSet:
    """Return a data set's module, imported when it is first asked for.

    Parameters
    ----------
    name : str
        One of ``names()``.

    Raises
    ------
    UserError
        There is no data set of this name.
    """
    if name not in names():
        raise UserError(f"There is no data set {name!r}: choose among {', '.join(names())}.")
    return cast(DataSet, import_module(f"{__name__}.{name}"))


def load(name: str, **options: Any) -> Tasks:
    """Fetch a data set's files if need be, and make tasks of them.

    Parameters
    ----------
    name : str
        One of ``names()``.
    **options
        Those of the data set's own ``load``.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        The name or an option is wrong.
    """
    return data_set(name).load(**options)


def folder_of(one: DataSet) -> str:
    """Return the folder of a data set's files: its name, or the one that it shares with another."""
    return getattr(one, "FOLDER", one.NAME)


def fetch_all(
    wanted: Iterable[str] | None = None,
    *,
    home: Path | None = None,
    mirror: str | None = None,
    on_file: Callable[[Path], None] | None = None,
) -> list[Path]:
    """Fetch the files of several data sets; one that is missing does not keep back the others.

    Parameters
    ----------
    wanted : iterable of str, optional
        Names of data sets; else all.
    home, mirror
        As of `data_fetchers.fetch.fetch`.
    on_file : callable, optional
        Called with each file's path as soon as the file is there.

    Returns
    -------
    list of Path
        The files, verified.

    Raises
    ------
    DataMissing
        If files are missing, with one line for each; the other files are fetched nonetheless.
    UserError
        A name is unknown; nothing is fetched then.
    """
    sets = [data_set(name) for name in (names() if wanted is None else wanted)]
    paths: list[Path] = []
    missing: list[str] = []
    for one in sets:
        for file in one.FILES:
            try:
                path = fetch.fetch(folder_of(one), file, home=home, mirror=mirror)
            except DataMissing as fault:
                missing.append(str(fault))
            else:
                paths.append(path)
                if on_file is not None:
                    on_file(path)
    if missing:
        raise DataMissing("\n".join(missing))
    return paths
