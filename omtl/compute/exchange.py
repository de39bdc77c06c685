"""Exchanging finished units as SQLite files, and pruning the store.

Nothing in a file of others is believed: a unit's hash must match its content, its key its
description, and its arrays its protocol's schema. Units are found only by their keys, which include
the code, so those made by other code are never mistaken for ours.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from omtl.compute.store import MOST_BYTES, SCHEMA, Store, StoredRow
from omtl.experiment.unit import Unit, code_here
from omtl.util.errors import UserError
from omtl.util.files import write_whole

MOST_DOWNLOADED = 2**33
"""Maximum size of a downloaded file, in bytes."""

DEEPEST = 30
"""Maximum depth of a unit's facts."""

LONGEST_SOURCE = 1000
"""Maximum length of the text that says where a unit came from."""

OLD_FORMATS = ("*.damaged*", "*.units", "code.log")
"""Names of damaged files, and of those of earlier formats of the store."""


class PulledCounts(NamedTuple):
    """The number of units in a file, of the installed code, and of new ones."""

    units: int
    ours: int
    new: int


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
    is_current = Current()
    wanted = None if units is None else {bytes.fromhex(unit.key) for unit in units}
    found = [
        row
        for row in store.rows()
        if (row.key in wanted if wanted is not None else is_current(row)) and identity_of(row)
    ]
    if not found:
        raise UserError(f"{store.folder} has none of these units; compute them first")
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(SCHEMA)
        db.executemany("insert into units values (?, ?, ?, ?, ?)", found)
        db.commit()
        write_whole(path, db.serialize())
    return len(found)


@contextmanager
def fetched(place: str) -> Iterator[Path]:
    """Provide the file at a path or an address; a downloaded file is removed at the end.

    Raises
    ------
    UserError
        If there is no answer, or the file is too large.
    """
    if "://" not in place:
        yield Path(place)
        return
    import requests

    with tempfile.TemporaryDirectory() as folder:
        path, size = Path(folder) / "units", 0
        try:
            with requests.get(place, stream=True, timeout=60) as answer, path.open("wb") as file:
                answer.raise_for_status()
                for part in answer.iter_content(2**20):
                    size += file.write(part)
                    if size > MOST_DOWNLOADED:
                        raise UserError(f"{place} is larger than {MOST_DOWNLOADED:,} bytes")
        except (requests.RequestException, OSError) as fault:
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
        raise UserError(f"{path} cannot be read (there is no such file)")
    is_current, known, new = Current(), set(store.keys()), []
    count = ours = 0
    try:
        for row in _rows_of_others(path):
            _check(row)
            count, ours = count + 1, ours + is_current(row)
            if row.key not in known:
                before = f", before that from {row.source}" if row.source else ""
                told = f"{source or path}{before}"[:LONGEST_SOURCE]
                new.append(row._replace(source="".join(filter(str.isprintable, told))))
    except (sqlite3.Error, ValueError, TypeError, AttributeError) as fault:
        raise UserError(
            f"{path} is not a file of units, or is damaged ({fault}); nothing was imported"
        ) from fault
    store.add(new)
    return PulledCounts(count, ours, len(new))


def _rows_of_others(path: Path) -> Iterator[StoredRow]:
    """Yield the rows of a file, in which nothing but data is used."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        db.execute("pragma trusted_schema = off")
        kinds = db.execute("select type from sqlite_master where name not like 'sqlite_%'")
        if kinds.fetchall() != [("table",)]:
            raise ValueError("it has not one table")
        columns = ", ".join(StoredRow._fields)
        for found in db.execute(f"select {columns} from units"):
            yield StoredRow(*found)


def _check(row: StoredRow) -> None:
    """Raise a ValueError unless a row of others holds a result under its own key."""
    are_bytes = all(isinstance(value, bytes) for value in (row.key, row.facts, row.arrays))
    if not (are_bytes and isinstance(row.source, str)):
        raise ValueError("a unit has other types")
    if _depth(row.result().facts) > DEEPEST:
        raise ValueError("a unit's facts are nested too deeply")


def _depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inside), default=0)


def identity_of(row: StoredRow) -> dict[str, Any] | None:
    """Return the identity of a stored unit; None if it is damaged, or under another's key."""
    try:
        return row.checked_facts()["unit"]
    except ValueError:
        return None


class Current:
    """Whether stored units belong to the installed code."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def __call__(self, row: StoredRow) -> bool:
        identity = identity_of(row)
        if identity is None:
            return False
        made_by = json.dumps([identity["code"], identity["algorithm"].get("learner")])
        if made_by not in self._known:
            self._known[made_by] = self._is(identity)
        return self._known[made_by]

    def _is(self, identity: dict[str, Any]) -> bool:
        try:
            return code_here(identity) == identity["code"]
        except (UserError, KeyError, TypeError, AttributeError):
            return False  # its learner, data set or protocol is gone


def damaged_units(store: Store) -> dict[str, str]:
    """Return the units whose content is not that of their hash, with why, by their keys."""
    found = {}
    for row in store.rows():
        try:
            row.result()
        except ValueError as fault:
            found[row.key.hex()] = str(fault)
    return found


def prune(store: Store, only_count: bool = False) -> tuple[int, int]:
    """Remove units whose code is gone, damaged files, and those of earlier formats.

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
    is_current = Current()
    keys = store.keys()
    gone = [row.key for row in store.rows() if not is_current(row)]
    if not only_count:
        store.remove(gone)
        for path in [path for name in OLD_FORMATS for path in store.folder.glob(name)]:
            path.unlink(missing_ok=True)
    return len(gone), len(keys) - len(gone)
