"""The statistics of a table or figure: tests, ranks, drawings, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.evidence.equivalence import equivalence_rows
from omtl.evidence.paired_tests import as_family, judged
from omtl.evidence.rank_diagrams import write_diagrams
from omtl.evidence.ranks import Ranking, rank_rows, rankings
from omtl.experiment.naming import by_reading
from omtl.figures.numbers import Shown, show_figure
from omtl.figures.plan import plan_figure
from omtl.figures.play import as_chosen
from omtl.tables.committed import keep_times, stored_or_kept
from omtl.tables.plan import describe, descriptions, plan_table
from omtl.tables.request import Request
from omtl.tables.scoring import Scored
from omtl.tables.writing import write_rows
from omtl.util.errors import UserError


def make_statistics(
    name: str, reading: Mapping[str, Any], request: Request, folder: Path
) -> list[Path]:
    """Write the statistics of a table or figure; return the paths.

    They are from the store; a table's are from the repeats in ``results/`` where it has fewer.

    Its ``claims.csv`` has the comparisons of its claims. A table with several data sets also has a
    csv of average ranks, and their diagrams where the critical difference leaves room for any;
    one with algorithms of the paper's own has ``equivalence.csv``, which tells where they differ
    from others by more than 5 %.

    Parameters
    ----------
    name : str
        The table's or figure's id.
    reading : mapping
        A reading's config.
    request : Request
        Which repeats, by which rule; times of a full run are those that are kept, unless those of
        the store are asked for.
    folder : Path
        Where the files go.

    Raises
    ------
    UserError
        If a name is unknown, or nothing of it is stored.
    """
    kind = "figure" if name in descriptions("figure") else "table"
    description = describe(kind, name)
    paper = description["paper"]
    n_repeats, selection = request.n_repeats(description), request.rule(description)
    ranked: list[Ranking] = []
    alike = pd.DataFrame()
    numbers: Sequence[Scored] | Sequence[Shown]
    if kind == "table":
        table = plan_table(name, reading)
        numbers, _ = stored_or_kept(table, request)
        if request.is_full(description) and not request.times:
            numbers = keep_times(table, numbers, request)
        ranked = rankings(numbers)
        if "proposed" in description:
            alike = equivalence_rows(name, reading["name"], description["proposed"], numbers)
        anything = any(s.values.size for s in numbers)
    else:
        figure = as_chosen(plan_figure(name, reading), request)
        numbers = show_figure(figure, request)
        anything = any(panel.parts for panel in numbers)
    if not anything:
        raise UserError(
            f"{name}: nothing is stored or kept for {n_repeats} repeats of reading "
            f"{reading['name']}; "
            f"run `make reproduce-{kind} {kind.upper()}={name}` first"
        )
    rows = as_family(paper, reading["name"], judged(paper, kind, name, numbers), request.seed)
    paths = []
    if len(rows):
        paths.append(folder / f"{name}.claims.csv")
        write_rows(paths[-1], rows)
    if ranked:
        paths.append(folder / f"{name}.csv")
        write_rows(paths[-1], rank_rows(name, reading["name"], ranked))
        stem = by_reading(name, reading["name"])
        subtitle = f"{name}, reading {reading['name']}, selection {selection}, repeats {n_repeats}"
        if drawn := [one for one in ranked if one.tells]:
            paths += write_diagrams(drawn, folder / stem, subtitle)
    if len(alike):
        paths.append(folder / f"{name}.equivalence.csv")
        write_rows(paths[-1], alike)
    return paths
