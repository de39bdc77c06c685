"""Names of result files: the table or figure, and what differs from the defaults."""

from __future__ import annotations

from collections.abc import Mapping

SUPPORT = ("silent", "ambiguous", "contradicts")
"""What a paper's text makes of an answer that is not literal: it says nothing, its words bear
both, or it says something else."""

READINGS: Mapping[str, tuple[str, ...]] = {
    "as_written": (),
    "as_read": SUPPORT[:2],
    "as_published": SUPPORT,
}
"""The standard readings, each with the answers that are taken besides the literal ones, by what the
paper's text makes of them."""

LITERAL, CLOSEST = next(iter(READINGS)), "as_published"
"""The reading of literal answers alone; and the one that comes closest to what is published, whose
files carry no name of it."""


def by_rule(name: str, selection: str, own: str) -> str:
    """Return the name with that of the selection rule, unless it is the table's or figure's own."""
    return name if selection == own else f"{name}.{selection}"


def by_reading(name: str, reading: str) -> str:
    """Return the name with that of the reading, unless it is the closest."""
    return name if reading == CLOSEST else f"{name}.{reading}"
