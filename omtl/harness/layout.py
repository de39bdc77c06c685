"""A table laid out as its paper lays it out: the one object that every form of it is made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from omtl.harness.diagnosis import diagnosis_of
from omtl.harness.plan import Table
from omtl.harness.table import Scored
from omtl.harness.verdict import MISSING, OFF, VERDICTS


@dataclass(frozen=True)
class Line:
    """A row of a laid-out table: the name of a group, or an algorithm with its cells."""

    label: str
    cells: tuple[Scored | None, ...] = ()

    @property
    def is_group(self) -> bool:
        """Whether the line only names a group of algorithms."""
        return not self.cells


@dataclass(frozen=True)
class Layout:
    """A laid-out table.

    Parameters
    ----------
    title : str
    subtitle : str
        Reading, selection rule, repeats, seed.
    heads : tuple of str
        The columns' heads, without that of the algorithms.
    lines : tuple of Line
    notes : tuple of str
        What is missing and why, and the diagnoses of cells that are off.
    """

    title: str
    subtitle: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    digits: int


def counts(scored: Sequence[Scored]) -> str:
    """Return how many cells got each verdict, as text."""
    tally = Counter(s.verdict for s in scored)
    parts = [f"{verdict} {tally[verdict]}" for verdict in VERDICTS if tally[verdict]]
    return f"{len(scored)} cells: {', '.join(parts)}"


def lay_out(
    table: Table, scored: Sequence[Scored], selection: str, seed: int, n_repeats: int
) -> Layout:
    """Return a table as its paper lays it out."""
    heads = tuple(dict.fromkeys(s.cell.dataset for s in scored))
    by_place = {(s.cell.algorithm, s.cell.dataset): s for s in scored}
    lines = tuple(
        Line(row["group"])
        if "group" in row
        else Line(row["published"], tuple(by_place.get((row["published"], h)) for h in heads))
        for row in table.description["rows"]
    )
    subtitle = (
        f"reading {table.reading['name']}, selection {selection}, "
        f"{n_repeats} repeats, seed {seed}; {counts(scored)}"
    )
    return Layout(
        table.description["title"],
        subtitle,
        heads,
        lines,
        tuple(_notes(table, scored)),
        table.description["digits"],
    )


def _notes(table: Table, scored: Sequence[Scored]) -> list[str]:
    reasons: dict[str, list[Scored]] = {}
    for s in scored:
        if s.verdict == MISSING:
            reasons.setdefault(f"missing: {s.why}", []).append(s)
        elif s.verdict == OFF:
            diagnosis = diagnosis_of(table, s) or "no diagnosis yet"
            reasons.setdefault(f"off: {diagnosis}", []).append(s)
    return [f"{_places(group, scored)} — {reason}" for reason, group in reasons.items()]


def _places(group: Sequence[Scored], scored: Sequence[Scored]) -> str:
    """Return where a group of cells is: by data set, the algorithms, or all of them."""
    everywhere = Counter(s.cell.dataset for s in scored)
    by_dataset: dict[str, list[str]] = {}
    for s in group:
        by_dataset.setdefault(s.cell.dataset, []).append(s.cell.algorithm)
    return "; ".join(
        f"{data}: {'all' if len(names) == everywhere[data] else ', '.join(names)}"
        for data, names in by_dataset.items()
    )


def spread(mean: Any, std: Any, digits: int) -> str:
    """Return a mean with its spread, as in the papers."""
    shown = f"{float(mean):.{digits}f}"
    return f"{shown} ± {float(std):.{digits}f}" if std not in ("", None) else shown
