"""How files of results are called: what they are of, and what of it is not as it is by default."""

from __future__ import annotations

CLOSEST = "as_published"
"""The reading whose files carry no name of it: the one that comes closest to what is published."""


def by_rule(name: str, selection: str, own: str) -> str:
    """Return the name with that of the selection rule, unless it is the table's or figure's own."""
    return name if selection == own else f"{name}.{selection}"


def by_reading(name: str, reading: str) -> str:
    """Return the name with that of the reading, unless it is the closest."""
    return name if reading == CLOSEST else f"{name}.{reading}"
