"""The store: finished units, found by their keys.

A unit is a record of an append-only file (`omtl.compute.segments`). Its payload is a line of JSON
with facts about the run, then one NumPy record with all arrays as fields: a table reads thousands
of units, and an archive of single arrays takes twice as long to read. A damaged record is never
mistaken for a result: its file is set aside, its other units are kept, and the damaged unit is
recomputed.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from omtl.compute.segments import (
    SUFFIX,
    Damage,
    Record,
    Writer,
    packed,
    record_of,
    rewrite,
    scan,
)
from omtl.experiment.unit import Result, Unit
from omtl.util.errors import UserError
from omtl.util.paths import kept

OLD_LOG = "code.log"
"""Name pattern of an earlier store format, which had one file per unit."""

_told: set[Path] = set()


class Store:
    """Finished units in a folder.

    Parameters
    ----------
    folder : Path
        The folder of the files; created with the first unit.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._records: dict[bytes, Record] = {}
        self._scanned: dict[str, int] = {}

    @staticmethod
    def default() -> Store:
        """Return the store of this checkout."""
        return Store(kept() / "store")

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self.folder)

    def save(self, unit: Unit, result: Result) -> None:
        """Append a unit's result, unless another run has already stored it.

        It survives the end of this process immediately, and a power cut after `sync`.

        Raises
        ------
        WriteError
            If it cannot be written.
        """
        key = bytes.fromhex(unit.key)
        if not self._scanned:
            self.refresh()
        if key not in self._records:
            self.add(packed(key, unit.question, unit.code, _payload_of(result)))

    def add(self, content: bytes) -> None:
        """Append a record.

        Raises
        ------
        WriteError
            If it cannot be written.
        """
        path, begin = self._writer.append(content, self._whole)
        record = record_of(content, path, begin)
        self._records[record.key] = record
        if self._scanned.get(path.name, 0) == begin:
            self._scanned[path.name] = record.end

    def sync(self) -> None:
        """Flush everything saved to disk.

        Raises
        ------
        WriteError
            If flushing fails.
        """
        self._writer.sync()

    def load(self, unit: Unit) -> Result | None:
        """Return a unit's result, or None if it is not stored intact."""
        payload = self._payload(unit)
        if payload is None:
            return None
        stored = io.BytesIO(payload)
        facts = json.loads(stored.readline())
        record = np.load(stored, allow_pickle=False)
        return Result({name: record[name] for name in record.dtype.names or ()}, facts)

    def facts(self, unit: Unit) -> dict[str, Any] | None:
        """Return the facts of a unit's result, or None if it is not stored intact."""
        payload = self._payload(unit)
        return None if payload is None else json.loads(payload[: payload.index(b"\n")])

    def has(self, unit: Unit) -> bool:
        """Whether the unit is stored intact."""
        return self._payload(unit) is not None

    def knows(self, unit: Unit) -> bool:
        """Whether the unit was stored at the last `refresh`."""
        return bytes.fromhex(unit.key) in self._records

    def is_empty(self) -> bool:
        """Whether no unit is stored."""
        self.refresh()
        return not self._records

    def records(self) -> Iterator[Record]:
        """Yield the latest stored record of each unit."""
        self.refresh()
        yield from list(self._records.values())

    def _payload(self, unit: Unit) -> bytes | None:
        """Return a unit's stored record, or None if there is no intact one.

        Raises
        ------
        UserError
            If its file cannot be read.
        """
        key = bytes.fromhex(unit.key)
        while (record := self._found(key)) is not None:
            try:
                payload = record.payload()
            except FileNotFoundError:
                self.refresh()  # another process has rewritten the file
                continue
            except OSError as fault:
                raise _unreadable(record.path, fault) from fault
            if payload is not None:
                return payload
            del self._records[key]
            self._set_aside(Damage(record.path, record.begin, record.end))
        return None

    def _found(self, key: bytes) -> Record | None:
        """Return the place of a unit; if unknown, read what other processes have written."""
        if key not in self._records:
            self.refresh()
        return self._records.get(key)

    def refresh(self) -> None:
        """Read newly appended records, and forget removed files.

        Raises
        ------
        UserError
            If a file cannot be read.
        """
        sizes: dict[str, int] = {}
        absent = suppress(FileNotFoundError, NotADirectoryError)
        try:
            with absent, os.scandir(self.folder) as entries:
                for entry in entries:
                    if entry.name == OLD_LOG and self.folder not in _told:
                        _told.add(self.folder)
                        print(
                            f"omtl: units of an earlier format in {self.folder} are not read; "
                            "omtl prune removes them",
                            file=sys.stderr,
                        )
                    if entry.name.endswith(SUFFIX):
                        with suppress(FileNotFoundError):
                            sizes[entry.name] = entry.stat().st_size
        except OSError as fault:
            raise _unreadable(self.folder, fault) from fault
        if gone := self._scanned.keys() - sizes.keys():
            for name in gone:
                del self._scanned[name]
            self._records = {
                key: record for key, record in self._records.items() if record.path.name not in gone
            }
        for name, size in sizes.items():
            begin = self._scanned.get(name, 0)
            if size > begin:
                self._read(self.folder / name, begin)

    def _read(self, path: Path, begin: int) -> None:
        """Index the records of a file from a position on."""
        damages = []
        try:
            for found in scan(path, begin):
                self._scanned[path.name] = found.end
                if isinstance(found, Damage):
                    damages.append(found)
                else:
                    self._records[found.key] = found
        except FileNotFoundError:
            return
        except OSError as fault:
            raise _unreadable(path, fault) from fault
        for damage in damages[:1]:
            in_work = damage.end == self._scanned[path.name]
            if not self._set_aside(damage, reported=not in_work) and in_work:
                self._scanned[path.name] = damage.begin  # another process may be writing it

    def _whole(self, path: Path) -> int:
        """Return the position up to which a file is known to be intact."""
        self._read(path, self._scanned.get(path.name, 0))
        return self._scanned.get(path.name, 0)

    def _set_aside(self, damage: Damage, reported: bool = True) -> bool:
        """Set a damaged file aside unless another process appends to it, and keep its other units.

        Returns whether it was set aside; if not, this is reported if `reported`.
        """
        aside = damage.path.with_suffix(".damaged")
        done = rewrite(damage.path, bool, aside)
        if done or reported:
            moved = f", set aside as {aside.name}" * done
            print(
                f"{damage.path}: damaged at byte {damage.begin}{moved}; lost units are recomputed",
                file=sys.stderr,
            )
        return done


def _unreadable(path: Path, fault: OSError) -> UserError:
    return UserError(f"{path} cannot be read ({fault.strerror})")


def _payload_of(result: Result) -> bytes:
    """Return the stored form of a result."""
    fields = [(name, array.dtype, array.shape) for name, array in result.arrays.items()]
    record = np.zeros((), dtype=np.dtype(fields, align=True))
    for name, array in result.arrays.items():
        record[name] = array
    return json.dumps(result.facts).encode() + b"\n" + _header(record.dtype) + record.tobytes()


@lru_cache(256)
def _header(kind: np.dtype) -> bytes:
    """Return the header of a NumPy file with one record of a type."""
    content = io.BytesIO()
    record = np.zeros((), kind)
    np.save(content, record, allow_pickle=False)
    return content.getvalue()[: -record.nbytes or None]


class Loaded:
    """A cache of the store that reads each unit once: cells of an experiment share units."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, Result | None] = {}

    def __call__(self, units: list[Unit]) -> list[Result]:
        if self._store.is_empty():  # as in a fresh clone: to name all units takes seconds
            return []
        for unit in units:
            if unit.key not in self._read:
                self._read[unit.key] = self._store.load(unit)
        return [result for unit in units if (result := self._read[unit.key]) is not None]
