"""What suites that break runs demand of them."""

from __future__ import annotations

from pathlib import Path

from omtl.compute.segments import SUFFIX, Damage, scan


class BrokenError(Exception):
    """Something that must hold after a fault does not."""


def demand(holds: bool, what: str) -> None:
    """Raise `BrokenError` if something does not hold."""
    if not holds:
        raise BrokenError(what)


def stored(store: Path) -> dict[str, tuple[str, int]]:
    """Return the units in a store by their keys, each with what changes if it is written again.

    Raises
    ------
    BrokenError
        If one is not whole.
    """
    found = {}
    for path in sorted(store.glob(f"*{SUFFIX}")):
        for part in scan(path):
            if isinstance(part, Damage) or part.payload() is None:
                raise BrokenError(f"{path.name} is damaged at byte {part.begin}")
            found[part.key.hex()] = path.name, part.begin
    return found
