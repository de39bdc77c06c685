"""Names of result files: the table or figure, and what differs from the defaults."""

from __future__ import annotations

from collections.abc import Mapping

SUPPORT = ("silent", "ambiguous", "contradicts", "contrived")
"""The support of a non-literal answer in a paper's text: it says nothing, its words allow both, it
says something else, or nobody would write the answer before seeing the printed rows."""

READINGS: Mapping[str, tuple[str, ...]] = {
    "as_written": (),
    "as_read": SUPPORT[:2],
    "as_published": SUPPORT,
}
"""The standard readings, each with the non-literal answers that it may use, by their support in the
paper's text."""

BLIND = "blind"
"""The reading without answers to questions of which an option was found by looking at printed
numbers, and without contrived ones."""

LITERAL, CLOSEST = next(iter(READINGS)), "as_published"
"""The reading with only literal answers, and the one closest to the published numbers, whose files
do not carry its name."""


def by_rule(name: str, selection: str, own: str) -> str:
    """Return the name with the selection rule's, unless that is the table's or figure's own."""
    return name if selection == own else f"{name}.{selection}"


def by_reading(name: str, reading: str) -> str:
    """Return the name with the reading's, unless that is the closest one."""
    return name if reading == CLOSEST else f"{name}.{reading}"
