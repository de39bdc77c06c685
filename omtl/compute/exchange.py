"""Exchanging finished units as SQLite files, and pruning the store.

Nothing in a file of others is believed: a unit's hash must match its content, its key its
description, and its arrays its protocol's schema. Units are found only by their keys, which include
the code, so those made by other code are never mistaken for ours.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from data_fetchers.fetch import SourceError
from omtl.compute.store import MOST_BYTES, SCHEMA, Store, StoredRow
from omtl.experiment.unit import Result, Unit, code_here
from omtl.util.errors import UserError
from omtl.util.files import write_whole

MOST_DOWNLOADED = 2**33
"""Maximum size of a downloaded file, in bytes."""

DEEPEST = 30
"""Maximum depth of a unit's facts."""

LONGEST_SOURCE = 1000
"""Maximum length of the text that says where a unit came from."""


class PulledCounts(NamedTuple):
    """The number of units in a file, of the installed code, and of new ones."""

    units: int
    ours: int
    new: int


def is_current(row: StoredRow, result: Result | None = None) -> bool:
    """Whether a stored unit, of which the result may be known, is intact and of this code."""
    try:
        identity = (result or row.result()).facts["unit"]
        return code_here(identity) == identity["code"]
    except (UserError, ValueError, KeyError, TypeError, AttributeError):
        return False  # damaged, or its learner, data set or protocol is gone


def push(units: Iterable[Unit] | None, store: Store, path: Path) -> int:
    """Write stored units to a file; return their number.

    Parameters
    ----------
    units : iterable of Unit, or None
        The units; None for all that belong to the installed code.
    store : Store
    path : Path
        The file.

    Raises
    ------
    UserError
        If none of them is stored, or the file cannot be written.
    """
    keys = None if units is None else {bytes.fromhex(unit.key) for unit in units}
    wanted = (row for row in store.rows() if keys is None or row.key in keys)
    found = list(filter(is_current, wanted))
    if not found:
        raise UserError(f"{store.folder} has none of these units; compute them first")
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(SCHEMA)
        db.executemany("insert into units values (?, ?, ?, ?, ?)", found)
        db.commit()
        write_whole(path, db.serialize())
    return len(found)


@contextmanager
def archive_at(place: str) -> Iterator[Path]:
    """Provide the file at a path or an address; a downloaded file is removed at the end.

    Raises
    ------
    UserError
        If there is no answer, or the file is too large.
    """
    if "://" not in place:
        yield Path(place)
        return
    from data_fetchers._download import download

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "units"
        try:
            download(place, path, MOST_DOWNLOADED, place)
        except (SourceError, OSError) as fault:
            raise UserError(f"{place} cannot be downloaded ({fault})") from fault
        yield path


def pull(path: Path, store: Store, source: str = "") -> PulledCounts:
    """Import the units of a file into the store, which notes where they came from.

    Parameters
    ----------
    path : Path
        The file: one that `push` wrote, or that of another store.
    store : Store
    source : str
        Where it came from; by default, its path.

    Raises
    ------
    UserError
        If it cannot be read, or anything in it is not a unit; the store is then unchanged.
    """
    if not path.is_file():
        why = "it is a folder" if path.is_dir() else "there is no such file"
        raise UserError(f"{path} cannot be read ({why})")
    rows, ours = [], 0
    try:
        for row, result in _units_of_others(path):
            before = f", before that from {row.source}" if row.source else ""
            told = f"{source or path}{before}"[:LONGEST_SOURCE]
            rows.append(row._replace(source="".join(filter(str.isprintable, told))))
            ours += is_current(row, result)
    except (sqlite3.Error, ValueError, TypeError, AttributeError) as fault:
        raise UserError(
            f"{path} is not a file of units, or is damaged ({fault}); nothing was imported"
        ) from fault
    return PulledCounts(len(rows), ours, store.add(rows))


def _units_of_others(path: Path) -> Iterator[tuple[StoredRow, Result]]:
    """Yield the units of a file, in which nothing but data is used.

    Raises
    ------
    ValueError, TypeError, AttributeError, sqlite3.Error
        If one holds no result under its own key.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        db.execute("pragma trusted_schema = off")
        kinds = db.execute("select type from sqlite_master where name not like 'sqlite_%'")
        if kinds.fetchall() != [("table",)]:
            raise ValueError("it has not one table")
        for found in db.execute(f"select {', '.join(StoredRow._fields)} from units"):
            row = StoredRow(*found)
            if list(map(type, row)) != [bytes, str, bytes, bytes, bytes]:
                raise ValueError("a unit has other types")
            result = row.result()
            if _depth(result.facts) > DEEPEST:
                raise ValueError("a unit's facts are nested too deeply")
            yield row, result


def _depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inside), default=0)


def prune(store: Store, only_count: bool = False) -> tuple[int, int]:
    """Remove units whose code is gone, and damaged files.

    Parameters
    ----------
    store : Store
    only_count : bool
        Whether to only count, without removing anything.

    Returns
    -------
    tuple of int
        The numbers of removed and remaining units.
    """
    keys = store.keys()
    gone = [row.key for row in store.rows() if not is_current(row)]
    if not only_count:
        store.remove(gone)
        for path in list(store.folder.glob("*.damaged*")):
            path.unlink(missing_ok=True)
    return len(gone), len(keys) - len(gone)
