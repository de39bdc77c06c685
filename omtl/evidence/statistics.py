"""The statistics of a table or figure: its claims' tests, equivalence, average ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from omtl.evidence.claims import Numbers, decided_by, judge_claims
from omtl.evidence.comparisons import beside, bootstrap_interval, correct_family, p_of_ranks
from omtl.evidence.ranks import Ranking, rank_rows, rankings, write_diagrams
from omtl.experiment.descriptions import TableDescription, describe, descriptions
from omtl.experiment.readings import Reading, by_reading
from omtl.figures.numbers import as_chosen, plan_figure
from omtl.measures.metrics import METRICS
from omtl.tables.cells import as_text, each_cell, planned
from omtl.tables.published_results import (
    folder_for,
    stored_or_published,
    with_published_times,
    write_rows,
)
from omtl.tables.request import Request
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
    place = ["table", "reading", "metric", "dataset", "task"]
    others = run[[*place, "algorithm", "values"]].rename(columns={"algorithm": "other"})
    pairs = run[run["algorithm"].isin(proposed)].merge(others, on=place, suffixes=("", "_other"))
    pairs = pairs[pairs["algorithm"] != pairs["other"]]
    rows = [
        {name: getattr(one, name) for name in (*place, "algorithm", "other")}
        | {"repeats_are_of": one.experiment.repeats_are_of}
        | beside(one.values, one.values_other, METRICS[one.metric].lower_is_better)
        for one in each_cell(pairs)
    ]
    return as_text(pd.DataFrame(rows, columns=EQUIVALENCE))


def reproduce_statistics(name: str, request: Request) -> list[Path]:
    """Write the statistics of a table or figure; return the paths. Nothing is computed.

    They are from the store; a table's are from the repeats in ``results/`` where it has fewer.
    Times of a full run are those that are kept, unless those of the store are asked for.

    Its ``claims.csv`` has the comparisons of its claims. A table with several data sets also has a
    csv of average ranks, and their diagrams where the critical difference leaves room for any;
    one with algorithms of the paper's own has ``equivalence.csv``, which says where they differ
    from others by more than 5%.

    Raises
    ------
    UserError
        On an unknown table, figure, reading or rule, or where there are no numbers of it.
    """
    kind = "figure" if name in descriptions("figure") else "table"
    of = describe(kind, name)
    request.check(of)
    reading = Reading.of(of.paper, request.reading)
    ranked: list[Ranking] = []
    files: dict[str, pd.DataFrame] = {}
    numbers: Numbers
    if isinstance(of, TableDescription):
        cells, _ = stored_or_published(planned(name, request, reading), request)
        if request.is_full(of) and not request.times:
            cells = with_published_times(cells, request)
        numbers, anything = cells, bool(cells["n_repeats"].any())
        ranked = rankings(cells)
        files["csv"] = rank_rows(name, reading.name, ranked)
        files["equivalence.csv"] = equivalence_rows(cells, of.proposed)
    else:
        numbers = as_chosen(plan_figure(name, request)).panels
        anything = any(panel.parts for panel in numbers)
    if not anything:
        raise UserError(
            f"{name}: there are no results for {request.n_repeats(of)} repeats of reading "
            f"{reading.name}; run `omtl {kind} {name}` with the same options first"
        )
    judged = judge_claims(decided_by(of.paper, name), numbers)
    files["claims.csv"] = comparison_rows(of.paper, reading.name, judged, request.seed)
    folder, paths = folder_for(request.is_full(of), "statistics", apart=True), []
    for form, rows in sorted(files.items()):
        path = folder / f"{name}.{form}"
        if len(rows) or path.exists():  # rows of an earlier run go
            write_rows(path, rows, reading.name)
            paths.append(path)
    if drawn := [one for one in ranked if one.tells]:
        rule, stem = request.rule(of), by_reading(name, reading.name)
        subtitle = f"{name}, reading {reading.name}, selection {rule}"
        subtitle += f", repeats {request.n_repeats(of)}"
        paths += write_diagrams(drawn, folder / stem, subtitle)
    return paths
