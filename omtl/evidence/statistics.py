"""The statistics of a table or figure: its claims' tests, equivalence, average ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from omtl.evidence.claims import judged
from omtl.evidence.comparisons import as_text, beside
from omtl.evidence.paired_tests import as_family
from omtl.evidence.rank_diagrams import write_diagrams
from omtl.evidence.ranks import Ranking, rank_rows, rankings
from omtl.experiment.naming import by_reading
from omtl.experiment.readings import Reading
from omtl.figures.numbers import Shown, show_figure
from omtl.figures.plan import plan_figure
from omtl.figures.play import as_chosen
from omtl.measures.metrics import METRICS
from omtl.tables.committed import keep_times, stored_or_kept
from omtl.tables.plan import describe, descriptions, plan_table
from omtl.tables.request import Request
from omtl.tables.scoring import Scored
from omtl.tables.writing import write_rows
from omtl.util.errors import UserError

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


def equivalence_rows(
    table: str, reading: str, proposed: Sequence[str], scored: Sequence[Scored]
) -> pd.DataFrame:
    """Return a row for each of the paper's own algorithms beside each other one, in each place.

    Metrics that do not tell which learner is better are left out, and what was not run.
    """
    run = [s for s in scored if s.values.size and METRICS[s.cell.metric].compares]
    rows = []
    for own in (s for s in run if s.cell.algorithm in proposed):
        cell = own.cell
        place = {"metric": cell.metric, "dataset": cell.dataset, "task": cell.task}
        for other in (s for s in run if s is not own):
            if any(getattr(other.cell, key) != one for key, one in place.items()):
                continue
            row = {"table": table, "reading": reading, **place, "algorithm": cell.algorithm}
            row |= {"other": other.cell.algorithm, "repeats_are_of": cell.experiment.repeats_are_of}
            rows.append(
                row | beside(own.values, other.values, METRICS[cell.metric].lower_is_better)
            )
    return as_text(pd.DataFrame(rows, columns=EQUIVALENCE))


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
    kind = "figure" if name in descriptions("figure") else "table"
    description = describe(kind, name)
    n_repeats = request.n_repeats(description)
    ranked: list[Ranking] = []
    files: dict[str, pd.DataFrame] = {}
    numbers: Sequence[Scored] | Sequence[Shown]
    if kind == "table":
        table = plan_table(name, reading)
        numbers, _ = stored_or_kept(table, request)
        if request.is_full(description) and not request.times:
            numbers = keep_times(table, numbers, request)
        anything = any(s.values.size for s in numbers)
        ranked, proposed = rankings(numbers), table.description.proposed
        files["csv"] = rank_rows(name, reading.name, ranked)
        files["equivalence.csv"] = equivalence_rows(name, reading.name, proposed, numbers)
    else:
        numbers = show_figure(as_chosen(plan_figure(name, reading), request), request)
        anything = any(panel.parts for panel in numbers)
    if not anything:
        raise UserError(
            f"{name}: there are no results for {n_repeats} repeats of reading "
            f"{reading.name}; run `omtl {kind} {name}` with the same options first"
        )
    tests = judged(description.paper, name, numbers)
    files["claims.csv"] = as_family(description.paper, reading.name, tests, request.seed)
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
