"""The layout of a table as printed in its paper, the source of every output format."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pandas as pd

from omtl.experiment.descriptions import TableDescription
from omtl.tables.agreement import Agreement, agreement
from omtl.tables.cells import (
    ALL_TASKS,
    Place,
    description_of,
    each_cell,
    first_cell,
    places_in,
    with_columns,
)
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

    The cells of its lines have their texts: ``shown_published`` and ``shown_ours``. Its `agreement`
    with print, which is the first of the notes too, is None if no cell is compared.
    """

    title: str
    subtitle: str
    heads: list[str]
    lines: list[LayoutLine]
    notes: list[str]
    agreement: Agreement | None

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
        What else stands below the table (`omtl.tables.notes.notes`).
    """
    of, found = description_of(cells), agreement(cells)
    cells = with_texts(cells, of)
    heads = list(dict.fromkeys(cells["head"]))
    notes = notes if found is None else [found.line, *notes]
    return Layout(of.title, subtitle_of(cells), heads, layout_lines(cells, of), notes, found)


def with_texts(cells: pd.DataFrame, of: TableDescription) -> pd.DataFrame:
    """Return cells with what a reader sees of each.

    That is the texts of its published number and of ours, the ``head`` of its column, and the
    ``block`` of rows in which it stands, if there are blocks.
    """
    odd, in_blocks = suspects(of.id), of.blocks == "dataset"
    several = cells["metric"].nunique() > 1

    def texts(cell: Any, place: Place) -> dict[str, str]:
        digits = of.digits_of(cell.metric)
        published = with_spread(cell.published_mean, cell.published_std, digits)
        ours = "diverged" if cell.diverged else "—"
        if cell.n_repeats and not cell.diverged:
            ours = with_spread(cell.ours_mean, cell.ours_std, digits)
        task = "" if cell.task == ALL_TASKS else f"task {cell.task.removeprefix('task')}"
        head = ("" if in_blocks else cell.dataset, task, cell.metric if several else "")
        return {
            "shown_published": published + (SUSPECT if place in odd else ""),
            "shown_ours": ours,
            "head": " ".join(filter(None, head)),
            "block": cell.dataset if in_blocks else "",
        }

    return with_columns(cells, list(map(texts, each_cell(cells), places_in(cells))))


def subtitle_of(cells: pd.DataFrame) -> str:
    """Return the reading, the selection rule, the repeats and the verdicts' counts."""
    asked, experiments = first_cell(cells), list(cells["experiment"])
    plays = max(experiment.plays for experiment in experiments)
    drawn = any(experiment.drawn for experiment in experiments)
    apart = [f"{plays} for each of the paper's"] * (plays > 1)
    apart += ["synthetic data: one draw each"] * drawn
    least, most = (plays * cells["asked_repeats"].agg(end) for end in ("min", "max"))
    repeats = plural(most, "repeat") if least == most else f"{least} to {most} repeats"
    repeats += f" ({'; '.join(apart)})" if apart else ""
    return (
        f"reading {asked.reading}, selection {asked.selection}, {repeats}, "
        f"seed {asked.seed}; {counts(cells)}"
    )


def layout_lines(cells: pd.DataFrame, of: TableDescription) -> list[LayoutLine]:
    """Return the rows of a table, those of each block together, of cells with their texts."""
    heads = list(dict.fromkeys(cells["head"]))
    place = {(cell.block, cell.algorithm, cell.head): cell for cell in each_cell(cells)}
    lines = []
    for block in dict.fromkeys(cells["block"]):
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
    """Return a mean with its spread, as in the papers; nothing without a mean."""
    if mean == "":
        return ""
    shown = f"{float(mean):.{digits}f}"
    return f"{shown} ± {float(std):.{digits}f}" if std not in ("", None) else shown
