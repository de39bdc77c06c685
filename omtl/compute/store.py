"""The store: finished units by their keys, in one SQLite file.

The process that hands out units writes them; workers only return results. A row carries the hash of
its content, so a damaged one is never taken for a result: it is dropped and its unit recomputed.
The file needs a local disk: network disks do not offer reliably the locks that SQLite needs.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from omtl.experiment.unit import Result, Unit, key_of
from omtl.protocols.record_schema import check_arrays
from omtl.util.errors import UserError, WriteError
from omtl.util.files import cannot_write
from omtl.util.paths import home_folder

FILE = "units.db"

MOST_BYTES = 2**28
"""Maximum size of a unit's arrays, and of its facts."""

AT_ONCE = 64
"""Number of rows that are read with one connection when all rows are read (`Store.rows`)."""

PATIENCE = 60.0
"""Seconds to wait while another process writes."""

SCHEMA = """create table if not exists units (key blob primary key, source text not null,
            sha256 blob not null, facts blob not null, arrays blob not null)"""

BY_KEY = "select * from units where key = ?"

NUMBERS = "biuf"
"""The kinds of arrays that a result may have: NumPy's codes of truth values and real numbers."""

FACTS = {"unit": dict, "data_sha256": str, "task_names": list, "seconds": float, "host": dict}
"""What the facts about each result contain."""

PULLED_FROM = "pulled_from"
"""The fact about a result that was not computed here: the file or address that it came from."""

DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR")
"""SQLite's names of errors of files that are damaged, or hold something else."""


class StoredRow(NamedTuple):
    """A stored unit; `source` says where it was pulled from, and is empty if computed here."""

    key: bytes
    source: str
    sha256: bytes
    facts: bytes
    arrays: bytes

    @classmethod
    def of(cls, unit: Unit, result: Result) -> StoredRow:
        """Return the row of a result that was computed here."""
        key, facts = bytes.fromhex(unit.key), json.dumps(result.facts).encode()
        arrays = packed(result.arrays)
        return cls(key, "", _digest(key, facts, arrays), facts, arrays)

    def result(self) -> Result:
        """Return the result; of a pulled one, the facts say where it came from.

        Raises
        ------
        ValueError
            If the row is damaged, stands under another key, or is not a result of its protocol.
        """
        if _digest(self.key, self.facts, self.arrays) != self.sha256:
            raise ValueError("its hash differs")
        try:
            arrays, facts = unpacked(self.arrays), json.loads(self.facts)
            self._check(facts, arrays)
        except (KeyError, TypeError, AttributeError, RecursionError) as fault:
            raise ValueError("its facts are incomplete") from fault
        facts.pop(PULLED_FROM, None)  # only the store itself knows
        return Result(arrays, facts | ({PULLED_FROM: self.source} if self.source else {}))

    def _check(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if not all(isinstance(facts[name], kind) for name, kind in FACTS.items()):
            raise ValueError("its facts are incomplete")
        if key_of(facts["unit"]) != self.key.hex():
            raise ValueError("it does not match its key")
        if not 0.0 <= facts["seconds"] < math.inf:
            raise ValueError("its duration is not a number of seconds")
        algorithm, only = facts["unit"]["algorithm"], facts["unit"]["algorithm"].get("only")
        n_points = math.prod(map(len, algorithm["grid"].values())) if only is None else len(only)
        protocol = str(facts["unit"]["protocol"]["module"])
        check_arrays(arrays, protocol, n_points, len(facts["task_names"]))


def packed(arrays: dict[str, np.ndarray]) -> bytes:
    """Return arrays as bytes: a line of JSON with names, types and shapes, then the numbers."""
    header = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    numbers = b"".join(array.tobytes() for array in arrays.values())
    return json.dumps(header).encode() + b"\n" + numbers


def unpacked(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays that `packed` has made bytes of.

    Raises
    ------
    ValueError
        If they are something else, or not all numbers.
    """
    begin = content.index(b"\n") + 1
    arrays = {}
    try:
        for name, kind, shape in json.loads(content[:begin]):
            dtype = np.dtype(kind)
            if dtype.kind not in NUMBERS or any(size < 0 for size in shape):
                raise ValueError(f"{name!r} is no array of numbers")
            flat = np.frombuffer(content, dtype, math.prod(shape), begin)
            arrays[str(name)] = flat.reshape(shape).copy()
            begin += flat.nbytes
    except (TypeError, RecursionError, OverflowError) as fault:
        raise ValueError("its arrays cannot be read") from fault
    if begin != len(content):
        raise ValueError("its arrays have other sizes")
    return arrays


def _digest(key: bytes, facts: bytes, arrays: bytes) -> bytes:
    return hashlib.sha256(key + facts + arrays).digest()


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection to a file of units; all changes are made at its end, or none."""
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as db, db:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        db.execute("pragma synchronous = full")
        db.execute(SCHEMA)
        yield db


class Store:
    """Finished units in a folder.

    Each call opens the file anew, so threads, processes and forks can share a store.

    Parameters
    ----------
    folder : Path
        The folder of the file; created with the first unit.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / FILE

    @staticmethod
    def default() -> Store:
        """Return the store of this checkout."""
        return Store(home_folder() / "store")

    def add(self, rows: Iterable[StoredRow]) -> int:
        """Store rows, all or none, and flush them to disk; return how many were new.

        Raises
        ------
        WriteError
            If they cannot be written.
        """
        return self._change("insert or ignore into units values (?, ?, ?, ?, ?)", rows)

    def remove(self, keys: Iterable[bytes]) -> None:
        """Remove units."""
        self._change("delete from units where key = ?", ((key,) for key in keys))

    def results_of(self, units: Collection[Unit]) -> dict[str, Result]:
        """Return the results of those units that are stored intact, by their keys."""
        if not self.path.exists():  # as in a fresh clone: naming units takes seconds
            return {}
        found, names = {}, {bytes.fromhex(unit.key): unit.name for unit in units}
        for row in map(StoredRow._make, self._read(BY_KEY, names)):
            try:
                found[row.key.hex()] = row.result()
            except ValueError as fault:
                why = f"{names[row.key]} is damaged ({fault}) and will be recomputed"
                print(f"omtl: {self.path}: {why}", file=sys.stderr)
                self.remove([row.key])
        return found

    def stored(self, units: Collection[Unit]) -> list[Result]:
        """Return the results of those units that are stored intact, in order."""
        found = self.results_of(units)
        return [found[unit.key] for unit in units if unit.key in found] if found else []

    def note_on(self, units: Collection[Unit]) -> str:
        """Return where some of the units were pulled from; empty if all were computed here."""
        keys = (bytes.fromhex(unit.key) for unit in units)
        found = self._read("select source from units where key = ?", keys)
        return pulled_note(source for (source,) in found)

    def keys(self) -> list[bytes]:
        """Return the keys of all stored units, sorted."""
        return [key for (key,) in self._read("select key from units order by key")]

    def rows(self) -> Iterator[StoredRow]:
        """Yield all rows, damaged ones too."""
        keys = self.keys()
        for begin in range(0, len(keys), AT_ONCE):
            yield from map(StoredRow._make, self._read(BY_KEY, keys[begin : begin + AT_ONCE]))

    def damaged(self) -> dict[str, str]:
        """Return the units whose content is not that of their hash, with why, by their keys."""
        found = {}
        for row in self.rows():
            try:
                row.result()
            except ValueError as fault:
                found[row.key.hex()] = str(fault)
        return found

    def _read(self, query: str, keys: Iterable[bytes] | None = None) -> list[Any]:
        """Return the rows that a query finds, of each key if it is of one; none without a file."""
        if not self.path.exists():
            return []
        given = [()] if keys is None else [(key,) for key in keys]
        return self._attempt(lambda db: [row for one in given for row in db.execute(query, one)])

    def _change(self, statement: str, rows: Iterable[Any]) -> int:
        many = list(rows)  # which a second attempt needs again
        if not many:
            return 0
        return self._attempt(lambda db: db.executemany(statement, many).rowcount, is_write=True)

    def _attempt(
        self, function: Callable[[sqlite3.Connection], Any], is_write: bool = False
    ) -> Any:
        """Call a function of a connection; if the file is damaged, again with a new file.

        Raises
        ------
        UserError
            If the file cannot be read or written; a `WriteError` in the latter case.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                with connected(self.path) as db:
                    return function(db)
            except sqlite3.DatabaseError as fault:
                if not fault.sqlite_errorname.startswith(DAMAGED):
                    raise
                self._rescue()
                with connected(self.path) as db:
                    return function(db)
        except sqlite3.DatabaseError as fault:
            if any(word in fault.sqlite_errorname for word in ("BUSY", "LOCK", "PROTOCOL")):
                raise WriteError(
                    f"{self.path} cannot be used ({fault}): the store needs a local disk with "
                    "locks; name a folder there by OMTL_HOME (docs/cluster.md)"
                ) from fault
            if is_write:
                raise cannot_write(self.path, OSError(str(fault))) from fault
            raise UserError(f"{self.path} cannot be read ({fault})") from fault
        except OSError as fault:
            raise cannot_write(self.path, fault) from fault

    def _rescue(self) -> None:
        """Set a damaged file aside, and copy all intact units of it into a new one."""
        aside = self.path.with_suffix(".damaged")
        for end in ("-journal", "-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                self.path.with_name(self.path.name + end).replace(f"{aside}{end}")
        kept = 0
        with suppress(sqlite3.DatabaseError), connected(aside) as old:
            ((last,),) = old.execute("select max(rowid) from units")
            for number in range(1, (last or 0) + 1):
                with suppress(sqlite3.DatabaseError, ValueError):
                    for found in old.execute("select * from units where rowid = ?", (number,)):
                        (row := StoredRow(*found)).result()
                        kept += self.add([row])
        print(
            f"omtl: {self.path} is damaged and was set aside as {aside.name}; {kept} units are "
            "kept, lost ones are recomputed",
            file=sys.stderr,
        )


def pulled_note(sources: Iterable[str]) -> str:
    """Return the sentence on numbers that were pulled from some places; empty without any."""
    named = ", ".join(sorted({*sources} - {""}))
    told = f"not computed here but pulled from {named}; `omtl store verify --replay 10` replays "
    return f"{told}a sample" if named else ""


class CachedStore(Store):
    """A store that reads each finished unit once: cells of an experiment share units.

    Units that are missing may be computed later, and are looked for again.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store.folder)
        self._known: dict[str, Result] = {}

    def results_of(self, units: Collection[Unit]) -> dict[str, Result]:
        """Return the results of those units that are stored intact, by their keys."""
        if not (self._known or self.path.exists()):  # naming units takes seconds
            return {}
        self._known |= super().results_of([unit for unit in units if unit.key not in self._known])
        return {unit.key: self._known[unit.key] for unit in units if unit.key in self._known}


def cached(store: Store) -> CachedStore:
    """Return a store that reads each unit once: itself, if it does."""
    return store if isinstance(store, CachedStore) else CachedStore(store)
