"""Numbers and lines of results as the pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scripts import records
from scripts.bench.targets import Line, place_of


def figure(value: float) -> str:
    """Return a number with about three digits."""
    if value == 0.0 or value != value:
        return f"{value:g}"
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{figure(seconds / size)} {unit}"
    return f"{figure(seconds / 1e-9)} ns"


def spread(line: Line, kind: str = "ratio", low: str = "min", high: str = "max") -> str:
    """Return a median with its extremes."""
    median, least, most = (figure(float(line[f"{kind}_{part}"])) for part in ("median", low, high))
    return f"{median} ({least} to {most})"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table, numbers to the right, or a sentence where it has no row."""
    lines = records.table(titles, rows)
    return [*lines, ""] if len(lines) > 2 else ["No run is stored.", ""]


def grouped(lines: Sequence[Line]) -> dict[tuple[str, ...], dict[str, Line]]:
    """Return the lines of each benchmark by contender."""
    found: dict[tuple[str, ...], dict[str, Line]] = {}
    for line in lines:
        found.setdefault(place_of(line), {})[line["contender"]] = line
    return found


def cell(contenders: dict[str, Line], name: str) -> str:
    """Return a contender's ratio with its spread, or nothing where it was not run."""
    return spread(contenders[name]) if name in contenders else "–"
