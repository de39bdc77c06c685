"""The store: one file a finished unit, named by its key.

A file is written whole or not at all, and begins with the hash of the rest, so a half-written or
damaged one is never taken for a result: it is set aside and the unit is computed again.
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

from omtl.errors import UserError
from omtl.files import cannot_write, write_whole
from omtl.harness import changes
from omtl.harness.unit import Result, Unit
from omtl.paths import kept

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
        payload = io.BytesIO()
        facts = np.array(json.dumps(result.facts))
        np.savez(payload, allow_pickle=False, facts=facts, **result.arrays)
        content = payload.getvalue()
        write_whole(self.path(unit), hashlib.sha256(content).hexdigest().encode() + content)
        changes.note(self.folder, unit)

    def load(self, unit: Unit) -> Result | None:
        """Return a unit's result, or None if it is not stored whole."""
        payload = self._payload(unit)
        if payload is None:
            return None
        with np.load(io.BytesIO(payload), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        return Result(arrays, json.loads(str(arrays.pop("facts"))))

    def facts(self, unit: Unit) -> dict[str, Any] | None:
        """Return the facts of a unit's result, or None if it is not stored whole."""
        payload = self._payload(unit)
        if payload is None:
            return None
        with np.load(io.BytesIO(payload), allow_pickle=False) as stored:
            return json.loads(str(stored["facts"]))

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
