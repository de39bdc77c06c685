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
    """Return a table as its paper lays it out.

    A description with ``blocks: dataset`` has a block of rows a data set, and the tasks in columns;
    otherwise the data sets are in columns, each with its metrics.
    """
    in_blocks = table.description.get("blocks") == "dataset"
    blocks = dict.fromkeys(s.cell.dataset for s in scored) if in_blocks else [None]
    place = {(s.cell.dataset if in_blocks else None, s.cell.algorithm, _head(s)): s for s in scored}
    heads = tuple(dict.fromkeys(_head(s) for s in scored))
    lines: list[Line] = []
    for block in blocks:
        if block is not None:
            lines.append(Line(block))
        for row in table.description["rows"]:
            if "group" in row:
                lines.append(Line(row["group"]))
                continue
            cells = tuple(place.get((block, row["published"], head)) for head in heads)
            if any(cells):
                lines.append(Line(row["published"], cells))
    several = len({s.cell.metric for s in scored}) > 1
    shown = tuple(
        f"task {task.removeprefix('task')}"
        if in_blocks
        else f"{data} {metric}"
        if several
        else data
        for data, task, metric in heads
    )
    subtitle = (
        f"reading {table.reading['name']}, selection {selection}, "
        f"{n_repeats} repeats, seed {seed}; {counts(scored)}"
    )
    return Layout(
        table.description["title"],
        subtitle,
        shown,
        tuple(lines),
        tuple(_notes(table, scored)),
        table.description["digits"],
    )


def _head(s: Scored) -> tuple[str, str, str]:
    """Return the column of a cell: its task alone where data sets are blocks of rows."""
    return (s.cell.dataset if s.cell.task == "all" else "", s.cell.task, s.cell.metric)


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
        name = s.cell.algorithm if s.cell.task == "all" else f"{s.cell.algorithm} {s.cell.task}"
        by_dataset.setdefault(s.cell.dataset, []).append(name)
    return "; ".join(
        f"{data}: {'all' if len(names) == everywhere[data] else ', '.join(names)}"
        for data, names in by_dataset.items()
    )


def spread(mean: Any, std: Any, digits: int) -> str:
    """Return a mean with its spread, as in the papers."""
    shown = f"{float(mean):.{digits}f}"
    return f"{shown} ± {float(std):.{digits}f}" if std not in ("", None) else shown
