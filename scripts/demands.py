"""What suites that break runs demand of them."""

from __future__ import annotations

from pathlib import Path

from omtl.compute.store import Store


class BrokenError(Exception):
    """Something that must hold after a fault does not."""


def demand(holds: bool, what: str) -> None:
    """Raise `BrokenError` if something does not hold."""
    if not holds:
        raise BrokenError(what)


def stored(store: Path) -> dict[str, str]:
    """Return the units in a store by their keys, each with a hash that changes with its seconds.

    Raises
    ------
    BrokenError
        If one is not whole.
    """
    found = {}
    for row in Store(store).rows():
        try:
            row.result()
        except ValueError as fault:
            raise BrokenError(f"{row.key.hex()} is damaged ({fault})") from fault
        found[row.key.hex()] = row.sha256.hex()
    return found
