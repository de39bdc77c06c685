"""The statistics of a table or figure: its claims' tests, equivalence, average ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from omtl.evidence.claims import Numbers, judge_claims
from omtl.evidence.comparisons import (
    as_text,
    beside,
    bootstrap_interval,
    correct_family,
    p_of_ranks,
)
from omtl.evidence.rank_diagrams import write_diagrams
from omtl.evidence.ranks import Ranking, rank_rows, rankings
from omtl.experiment.descriptions import TableDescription, by_reading
from omtl.experiment.readings import Reading
from omtl.figures.numbers import show_figure
from omtl.figures.plan import plan_figure
from omtl.figures.play import as_chosen
from omtl.measures.metrics import METRICS
from omtl.tables.cells import each_cell, planned
from omtl.tables.plan import describe, descriptions
from omtl.tables.published_results import stored_or_published, with_published_times
from omtl.tables.request import Request
from omtl.tables.writing import folder_for, write_rows
from omtl.util.errors import UserError

COMPARISONS = (
    *("paper", "claim", "reading", "comparison"),
    *("n_repeats", "repeats_are_of", "mean", "low", "high"),
    *("bootstrap_low", "bootstrap_high"),
    *("effect", "p", "p_wilcoxon", "p_holm", "q_by"),
    *("outcome", "corrected"),
)
"""Columns of ``results/statistics/<id>.claims.csv``.

Intervals and p values of repeats of one data set (`repeats_are_of`) are conditional on it.
"""

EQUIVALENCE = (
    *("table", "reading", "metric", "dataset", "task"),
    *("algorithm", "other"),
    *("ratio", "low", "high"),
    *("n_repeats", "repeats_are_of", "outcome"),
)
"""Columns of ``results/statistics/<id>.equivalence.csv``.

`ratio` is the geometric mean over the repeats of the algorithm's number over the other's, and
`outcome` how it stands beside it (`omtl.evidence.comparisons.standing`).
"""


def comparison_rows(paper: str, reading: str, judged: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return the rows of comparisons (`COMPARISONS`), corrected as one family.

    Parameters
    ----------
    paper, reading : str
    judged : DataFrame
        The comparisons of claims (`omtl.evidence.claims.judge_claims`).
    seed : int
        Of the bootstrap's resamples.
    """
    if judged.empty:
        return pd.DataFrame(columns=COMPARISONS)
    rows = correct_family(judged).assign(paper=paper, reading=reading)
    ends = np.array(
        [bootstrap_interval(row.differences, seed, row.comparison) for row in each_cell(rows)]
    )
    np.exp(ends, out=ends, where=rows[["is_ratio"]].to_numpy(bool))  # bootstrapped as logarithms
    rows["bootstrap_low"], rows["bootstrap_high"] = ends.T
    rows["p_wilcoxon"] = rows["away"].map(p_of_ranks).where(rows["n_repeats"] > 0)
    return as_text(rows[[*COMPARISONS]])


def equivalence_rows(cells: pd.DataFrame, proposed: Sequence[str]) -> pd.DataFrame:
    """Return a row for each of the paper's own algorithms beside each other one, in each place.

    Metrics that do not tell which learner is better are left out, and what was not run.
    """
    compares = cells["metric"].map(lambda metric: METRICS[metric].compares)
    run = cells[compares & (cells["n_repeats"] > 0)]
    place = ["metric", "dataset", "task"]
    rows = []
    for own in each_cell(run[run["algorithm"].isin(proposed)]):
        here = (run[place] == [getattr(own, name) for name in place]).all(axis="columns")
        for other in each_cell(run[here].drop(own.Index)):
            row = {name: getattr(own, name) for name in ("table", "reading", *place, "algorithm")}
            row |= {"other": other.algorithm, "repeats_are_of": own.experiment.repeats_are_of}
            rows.append(row | beside(own.values, other.values, METRICS[own.metric].lower_is_better))
    return as_text(pd.DataFrame(rows, columns=EQUIVALENCE))


def reproduce_statistics(name: str, request: Request) -> list[Path]:
    """Write the statistics of a table or figure; return the paths. Nothing is computed.

    Raises
    ------
    UserError
        On an unknown table, figure, reading or rule, or where there are no numbers of it.
    """
    description = describe(_kind_of(name), name)
    request.check(description)
    folder = folder_for(request.is_full(description), "statistics", apart=True)
    reading = Reading.of(description.paper, request.reading)
    return make_statistics(name, reading, request, folder)


def _kind_of(name: str) -> str:
    """Return whether a name is that of a figure or of a table."""
    return "figure" if name in descriptions("figure") else "table"


def make_statistics(name: str, reading: Reading, request: Request, folder: Path) -> list[Path]:
    """Write the statistics of a table or figure; return the paths.

    They are from the store; a table's are from the repeats in ``results/`` where it has fewer.

    Its ``claims.csv`` has the comparisons of its claims. A table with several data sets also has a
    csv of average ranks, and their diagrams where the critical difference leaves room for any;
    one with algorithms of the paper's own has ``equivalence.csv``, which says where they differ
    from others by more than 5 %.

    Parameters
    ----------
    name : str
        The table's or figure's id.
    reading : Reading
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
    kind = _kind_of(name)
    description = describe(kind, name)
    n_repeats = request.n_repeats(description)
    ranked: list[Ranking] = []
    files: dict[str, pd.DataFrame] = {}
    numbers: Numbers
    if isinstance(description, TableDescription):
        cells, _ = stored_or_published(planned(name, request, reading), request)
        if request.is_full(description) and not request.times:
            cells = with_published_times(cells, request)
        numbers, anything = cells, bool(cells["n_repeats"].any())
        ranked = rankings(cells)
        files["csv"] = rank_rows(name, reading.name, ranked)
        files["equivalence.csv"] = equivalence_rows(cells, description.proposed)
    else:
        numbers = show_figure(as_chosen(plan_figure(name, reading), request), request)
        anything = any(panel.parts for panel in numbers)
    if not anything:
        raise UserError(
            f"{name}: there are no results for {n_repeats} repeats of reading "
            f"{reading.name}; run `omtl {kind} {name}` with the same options first"
        )
    judged = judge_claims(description.paper, name, numbers)
    files["claims.csv"] = comparison_rows(description.paper, reading.name, judged, request.seed)
    paths = []
    for form, rows in sorted(files.items()):
        path = folder / f"{name}.{form}"
        if len(rows) or path.exists():  # rows of an earlier run go
            write_rows(path, rows, reading.name)
            paths.append(path)
    if drawn := [one for one in ranked if one.tells]:
        rule, stem = request.rule(description), by_reading(name, reading.name)
        subtitle = f"{name}, reading {reading.name}, selection {rule}, repeats {n_repeats}"
        paths += write_diagrams(drawn, folder / stem, subtitle)
    return paths
