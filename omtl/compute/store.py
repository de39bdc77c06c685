"""The store: one file a finished unit, named by its key.

A file is written whole or not at all, and begins with the hash of the rest, so a half-written or
damaged one is never taken for a result: it is set aside and the unit is computed again. After the
hash comes a line of JSON with the facts, then one NumPy record that has all arrays as its fields: a
table reads thousands of files, and an archive of single arrays takes twice as long to read.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from omtl.compute import code_log
from omtl.experiment.unit import Result, Unit
from omtl.util.errors import UserError
from omtl.util.files import cannot_write, write_whole
from omtl.util.paths import kept

HASH_LENGTH = 64


@dataclass(frozen=True)
class Store:
    """Finished units in a folder.

    Parameters
    ----------
    folder : Path
        Where the files are; made when the first is written.
    """

    folder: Path

    @staticmethod
    def default() -> Store:
        """Return the store of this checkout."""
        return Store(kept() / "store")

    def path(self, unit: Unit) -> Path:
        """Return the place of a unit's file."""
        return self.folder / unit.key[:2] / f"{unit.key}.unit"

    def save(self, unit: Unit, result: Result) -> None:
        """Write a unit's result, atomically; the first one stays where another run was faster.

        Raises
        ------
        WriteError
            If it cannot be written.
        """
        if self.has(unit):
            return
        content = _packed(result)
        write_whole(self.path(unit), hashlib.sha256(content).hexdigest().encode() + content)
        code_log.note(self.folder, unit)

    def load(self, unit: Unit) -> Result | None:
        """Return a unit's result, or None if it is not stored whole."""
        payload = self._payload(unit)
        if payload is None:
            return None
        stored = io.BytesIO(payload)
        facts = json.loads(stored.readline())
        record = np.load(stored, allow_pickle=False)
        return Result({name: record[name] for name in record.dtype.names or ()}, facts)

    def facts(self, unit: Unit) -> dict[str, Any] | None:
        """Return the facts of a unit's result, or None if it is not stored whole."""
        payload = self._payload(unit)
        return None if payload is None else json.loads(payload[: payload.index(b"\n")])

    def has(self, unit: Unit) -> bool:
        """Whether the unit is stored whole."""
        return self._payload(unit) is not None

    def _payload(self, unit: Unit) -> bytes | None:
        """Return what follows the hash in a unit's file, or None where there is no whole file.

        A damaged file is renamed to end in ``.damaged`` and reported on standard error.
        """
        path = self.path(unit)
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as fault:
            raise UserError(f"{path} cannot be read ({fault.strerror})") from fault
        stated, payload = content[:HASH_LENGTH], content[HASH_LENGTH:]
        if hashlib.sha256(payload).hexdigest().encode() == stated:
            return payload
        aside = path.with_suffix(".damaged")
        try:
            path.replace(aside)
        except FileNotFoundError:
            return None  # another process was faster
        except OSError as fault:
            raise cannot_write(aside, fault) from fault
        print(f"{path}: damaged, set aside as {aside.name}; to be computed again", file=sys.stderr)
        return None


def _packed(result: Result) -> bytes:
    """Return what a result's file holds after the hash."""
    fields = [(name, array.dtype, array.shape) for name, array in result.arrays.items()]
    record = np.zeros((), dtype=np.dtype(fields, align=True))
    for name, array in result.arrays.items():
        record[name] = array
    content = io.BytesIO()
    content.write(json.dumps(result.facts).encode() + b"\n")
    np.save(content, record, allow_pickle=False)
    return content.getvalue()


class Loaded:
    """What the store has, each unit read once: cells of one experiment share their units."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, Result | None] = {}

    def __call__(self, units: list[Unit]) -> list[Result]:
        for unit in units:
            if unit.key not in self._read:
                self._read[unit.key] = self._store.load(unit)
        return [result for unit in units if (result := self._read[unit.key]) is not None]
