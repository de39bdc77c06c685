"""The layout of a table as printed in its paper, the source of every output format."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pandas as pd

from omtl.experiment.descriptions import TableDescription
from omtl.tables.cells import ALL_TASKS, Place, description_of, each_cell, first_cell, places_in
from omtl.tables.proofread import suspects
from omtl.tables.verdict import OURS, VERDICTS

GROUP_OF_OURS = "Ours (not in the paper)"

SUSPECT = "!"
"""After a published number that is suspect in print."""


def plural(n: int, what: str) -> str:
    """Return a count with its noun: ``1 repeat``, ``2 repeats``."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


class LayoutLine(NamedTuple):
    """A row of a laid-out table: a group's name, or an algorithm with its cells.

    The cells are rows of the frame of cells, or None where the table has none.
    """

    label: str
    cells: tuple[Any, ...] = ()

    @property
    def is_group(self) -> bool:
        """Whether the line only names a group of algorithms."""
        return not self.cells

    @property
    def is_ours(self) -> bool:
        """Whether it is of a learner that the paper does not have."""
        return any(cell is not None and cell.kind == OURS for cell in self.cells)


class Layout(NamedTuple):
    """A laid-out table: what every output format shows.

    The cells of its lines have their texts: ``shown_published`` and ``shown_ours``.
    """

    title: str
    subtitle: str
    heads: list[str]
    lines: list[LayoutLine]
    notes: list[str]

    @property
    def has_suspects(self) -> bool:
        """Whether a published number is suspect in print."""
        return any(
            cell is not None and cell.shown_published.endswith(SUSPECT)
            for line in self.lines
            for cell in line.cells
        )


def counts(cells: pd.DataFrame) -> str:
    """Return the number of the paper's cells with each verdict, as text."""
    tally = Counter(cells["verdict"][cells["kind"] != OURS])
    parts = [f"{verdict} {tally[verdict]}" for verdict in VERDICTS if tally[verdict]]
    if not parts:
        return "no cell of the paper"
    return f"{plural(tally.total(), 'cell')}: {', '.join(parts)}"


def lay_out(cells: pd.DataFrame, notes: list[str]) -> Layout:
    """Return a table in its paper's layout.

    With ``blocks: dataset`` in the description, there is a block of rows per data set, with the
    tasks as columns; otherwise the data sets are columns, each with its metrics. Our extra
    baselines are a separate group.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.scoring.judged`.
    notes : list of str
        What stands below the table (`omtl.tables.notes.notes`).
    """
    of = description_of(cells)
    return Layout(
        of.title,
        subtitle_of(cells),
        heads_of(cells, of),
        layout_lines(with_texts(cells, of), of),
        notes,
    )


def with_texts(cells: pd.DataFrame, of: TableDescription) -> pd.DataFrame:
    """Return cells with the texts of their published number and of ours."""
    odd = suspects(of.id)

    def published(cell: Any, place: Place) -> str:
        if cell.kind == OURS:
            return ""
        mark = SUSPECT if place in odd else ""
        digits = of.digits_of(cell.metric)
        return with_spread(cell.published_mean, cell.published_std, digits) + mark

    def ours(cell: Any) -> str:
        if not cell.n_repeats:
            return "—"
        if cell.diverged:
            return "diverged"
        return with_spread(cell.ours_mean, cell.ours_std, of.digits_of(cell.metric))

    rows = list(each_cell(cells))
    return cells.assign(
        shown_published=list(map(published, rows, places_in(cells))),
        shown_ours=list(map(ours, rows)),
    )


def subtitle_of(cells: pd.DataFrame) -> str:
    """Return the reading, the selection rule, the repeats and the verdicts' counts."""
    asked = first_cell(cells)
    return (
        f"reading {asked.reading}, selection {asked.selection}, {_repeats(cells)}, "
        f"seed {asked.seed}; {counts(cells)}"
    )


def _repeats(cells: pd.DataFrame) -> str:
    """Return how many repeats were played, and how they differ from the paper's, as text."""
    plays = max(experiment.plays for experiment in cells["experiment"])
    apart = []
    if plays > 1:
        apart.append(f"{plays} for each of the paper's")
    if any(experiment.drawn for experiment in cells["experiment"]):
        apart.append("synthetic data: one draw each")
    least, most = (plays * cells["asked_repeats"].agg(end) for end in ("min", "max"))
    text = plural(most, "repeat") if least == most else f"{least} to {most} repeats"
    return f"{text} ({'; '.join(apart)})" if apart else text


Head = tuple[str, str, str]
"""The column of a cell: data set (none if these are blocks of rows), task and metric."""


def _head(cell: Any) -> Head:
    return (cell.dataset if cell.task == ALL_TASKS else "", cell.task, cell.metric)


def heads_of(cells: pd.DataFrame, of: TableDescription) -> list[str]:
    """Return the heads of a table's columns, without that of the algorithms."""
    several = cells["metric"].nunique() > 1

    def text(data: str, task: str, metric: str) -> str:
        if of.blocks == "dataset":
            return f"task {task.removeprefix('task')}"
        return f"{data} {metric}" if several else data

    return [text(*head) for head in dict.fromkeys(map(_head, each_cell(cells)))]


def layout_lines(cells: pd.DataFrame, of: TableDescription) -> list[LayoutLine]:
    """Return the rows of a table, those of each data set apart if these are blocks."""
    in_blocks = of.blocks == "dataset"
    rows = list(each_cell(cells))
    heads = list(dict.fromkeys(map(_head, rows)))
    place = {(row.dataset if in_blocks else "", row.algorithm, _head(row)): row for row in rows}
    lines = []
    for block in dict.fromkeys(block for block, *_ in place):
        part = [LayoutLine(block)] if block else []
        group = ""
        for row in of.rows:
            here = tuple(place.get((block, row.label, head)) for head in heads)
            group = row.group or (GROUP_OF_OURS if row.ours else group)
            if any(cell is not None for cell in here):
                if group and LayoutLine(group) not in part:
                    part.append(LayoutLine(group))
                part.append(LayoutLine(row.label, here))
        lines += part
    return lines


def with_spread(mean: Any, std: Any, digits: int) -> str:
    """Return a mean with its spread, as in the papers."""
    shown = f"{float(mean):.{digits}f}"
    return f"{shown} ± {float(std):.{digits}f}" if std not in ("", None) else shown
