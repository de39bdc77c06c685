"""Making a table from the store: our number, spread and verdict for each published cell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.engine import Failure, why_lacking
from omtl.compute.store import Loaded
from omtl.experiment.selection import is_honest, select
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Result
from omtl.measures.metrics import METRICS
from omtl.tables.halving import searched, stages
from omtl.tables.plan import Cell, Table
from omtl.tables.request import Request
from omtl.tables.verdict import MISSING, Difference, Printed, difference, judge, spreads

QUANTITIES = ("delta", "published_se", "ours_se", "df", "low", "high", "share")
"""The columns with the quantities of a verdict (`omtl.tables.verdict.Difference`)."""

SHARED = ("examples", "seen", "seen_by_task")
"""Arrays of a result that are the same for all points."""

OF_REPEATS = ("table", "dataset", "algorithm", "task", "metric", "reading", "seed")
"""Columns that the raw repeats of a cell share."""


@dataclass(frozen=True)
class Scored:
    """A cell with our numbers for it.

    Parameters
    ----------
    values : ndarray of shape (n_repeats,)
        Our number in each repeat; empty if the cell was not run.
    difference : Difference or None
        The difference between our mean and the published one; None if either is missing.
    shuffle_std : float
        Standard deviation of our number over shuffles of the same data.
    spread : tuple of float or None
        Its comparison with the published ± (`omtl.tables.verdict.spreads`).
    params : dict
        The chosen hyper-parameters (the most frequent ones, if the rule chooses by repeat).
    found : dict of str to ndarray
        The learner's findings in its final states, by task, averaged over the repeats.
    why : str
        Why the cell was not run; empty if it was.
    diverged : int
        Number of repeats in which the chosen point diverged; its value there is the metric's worst.
    """

    cell: Cell
    values: np.ndarray
    verdict: str
    difference: Difference | None = None
    shuffle_std: float = 0.0
    spread: tuple[float, float] | None = None
    params: dict[str, Any] = field(default_factory=dict)
    data_sha256: str = ""
    found: dict[str, np.ndarray] = field(default_factory=dict)
    seconds: float = 0.0
    why: str = ""
    diverged: int = 0

    @property
    def mean(self) -> float | None:
        """Mean over the repeats."""
        return float(self.values.mean()) if self.values.size else None

    @property
    def std(self) -> float:
        """Standard deviation over the repeats."""
        return float(self.values.std(ddof=1)) if self.values.size > 1 else 0.0


def values_of(
    cell: Cell, results: list[Result], rule: SelectionSpec, by: list[Result] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return a cell's number in each repeat, and the points that the rule chose.

    The rule uses `results`, or those of the cell's chooser in `by`, and each repeat alone if each
    has its own draw, because the authors had one draw.
    """
    metric = METRICS[cell.metric]
    task = None if cell.task == "all" else int(cell.task.removeprefix("task")) - 1
    points = [point for one in cell.each_rival() for point in one.experiment.points]

    def choice(results: list[Result], points: list[dict[str, Any]]) -> np.ndarray:
        seen = [[r] for r in results] if cell.experiment.drawn else [results]
        return np.concatenate([select(together, points, rule) for together in seen])

    if cell.chooser is None or by is None:
        chosen = choice(results, points)
    else:
        wanted = [cell.chooser.points[p] for p in choice(by, cell.chooser.points)]
        names = list(cell.chooser.algorithm.grid)
        chosen = np.array(
            [[all(p[n] == w[n] for n in names) for p in points].index(True) for w in wanted]
        )
    values = [metric.of(r.arrays, int(p), task) for r, p in zip(results, chosen, strict=True)]
    return np.where(diverged_in(results, chosen), metric.worst, values), chosen


def diverged_in(results: list[Result], chosen: np.ndarray) -> list[bool]:
    """Return for each repeat whether the learner diverged at its chosen point."""
    return [bool(r.arrays["diverged"][p]) for r, p in zip(results, chosen, strict=True)]


def found_by_task(results: list[Result], chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Return the learners' findings about each task at the chosen points, averaged over the
    repeats."""
    n_tasks = len(results[0].facts.get("task_names", ()))
    return {
        name.removeprefix("found_"): np.mean(
            [r.arrays[name][p] for r, p in zip(results, chosen, strict=True)], axis=0
        )
        for name, values in results[0].arrays.items()
        if name.startswith("found_") and values.shape[1:] == (n_tasks,)
    }


def printed(table: Table, cell: Cell) -> Printed:
    """Return a cell's published number."""
    asked = table.description
    return Printed(cell.mean, cell.std, asked.spread, asked.printed_repeats)


def compared(table: Table, cell: Cell, values: np.ndarray) -> Difference | None:
    """Return the difference between our numbers and the published one, or None."""
    if cell.is_ours:
        return None
    std = float(values.std(ddof=1)) if values.size > 1 else 0.0
    drawn = cell.experiment.drawn
    return difference(printed(table, cell), float(values.mean()), std, values.size, drawn)


def not_run(cell: Cell, why: str) -> Scored:
    """Return a cell for which we have no number."""
    return Scored(cell, np.array([]), MISSING, why=why)


def together(parts: Sequence[list[Result]]) -> list[Result]:
    """Combine the results of several experiments into those of one whose grid has all points.

    Results of a repeat share its examples; arrays that not all have are left out.
    """
    if len(parts) == 1:
        return parts[0]
    joined = []
    for results in zip(*parts, strict=False):
        arrays = {
            name: array
            if name in SHARED
            else np.concatenate([result.arrays[name] for result in results])
            for name, array in results[0].arrays.items()
            if all(name in result.arrays for result in results)
        }
        seconds = sum(result.facts["seconds"] for result in results)
        joined.append(Result(arrays, {**results[0].facts, "seconds": seconds}))
    return joined


def score_cell(
    table: Table, cell: Cell, loaded: Loaded, request: Request, failed: Mapping[str, Failure]
) -> Scored:
    """Return a cell with our number for it; with rivals, that of the best over all tasks.

    Under a rule without hindsight, and if each repeat has its own draw, each repeat uses the rival
    that the rule prefers. Of a searched grid it is that of the points which the search left.
    """
    rule = cell.rule(request.rule(table.description))
    if cell.search is not None:
        seed, n_repeats = request.seed, request.n_repeats(table.description)
        found = searched(cell, loaded, rule, seed, n_repeats)
        if found is None:
            part, repeats = stages(cell, loaded, rule, seed, n_repeats)[-1]
            known = cell.too_slow or "the search is not done"
            return not_run(cell, why_lacking(part.repeats(seed, repeats), 0, failed, known))
        return score_cell(table, found, loaded, request, failed)
    if cell.rivals and not is_honest(rule) and not cell.experiment.drawn:
        sign = METRICS[cell.metric].sign

        def rank(rival: Cell) -> float:
            whole = replace(rival, task="all")
            mean = score_cell(table, whole, loaded, request, failed).mean
            return np.inf if mean is None else sign * mean

        best = min(cell.each_rival(), key=rank)
        return score_cell(table, best, loaded, request, failed)
    return _score_played(table, cell, loaded, request, failed)


def _score_played(
    table: Table, cell: Cell, loaded: Loaded, request: Request, failed: Mapping[str, Failure]
) -> Scored:
    """Return a cell with our number for it, from all points of its experiment and its rivals."""
    rule = cell.rule(request.rule(table.description))
    seed, n_repeats = request.seed, request.n_repeats(table.description)
    rivals = [one.experiment for one in cell.each_rival()]
    units = [unit for rival in rivals for unit in rival.repeats(seed, n_repeats)]
    if (n_stored := len(loaded(units))) < len(units):
        return not_run(cell, why_lacking(units, n_stored, failed, cell.too_slow))
    results = together([loaded(rival.repeats(seed, n_repeats)) for rival in rivals])
    by = None
    if cell.chooser is not None:
        units = cell.chooser.repeats(seed, n_repeats)
        if len(by := loaded(units)) < len(units):
            label = cell.chooser.algorithm.label
            return not_run(cell, f"{label}, by which its parameters are chosen, is lacking")
    values, chosen = values_of(cell, results, rule, by)
    off = compared(table, cell, values)
    shuffled = Scored(cell, values, "")
    if cell.experiment.drawn:
        one_draw = cell.of_one_draw()
        shuffled = score_cell(table, one_draw, loaded, request, failed)
    places = [(rival, point) for rival in rivals for point in rival.points]
    most, params = places[int(np.bincount(chosen).argmax())]
    return Scored(
        replace(cell, experiment=most, rivals=()),
        values,
        judge(off, cell.kind),
        difference=off,
        shuffle_std=shuffled.std,
        spread=spreads(printed(table, cell), shuffled.std, shuffled.values.size),
        params=params,
        data_sha256=results[0].facts["data_sha256"],
        found=found_by_task(results, chosen),
        seconds=sum(result.facts["seconds"] for result in results),
        diverged=sum(diverged_in(results, chosen)),
    )


def score_table(
    table: Table, request: Request, failed: Mapping[str, Failure] | None = None
) -> list[Scored]:
    """Return all cells of a table with our numbers, from the store alone.

    Parameters
    ----------
    table : Table
    request : Request
        The repeats and the rule.
    failed : dict, optional
        Why units failed, by key.
    """
    loaded = Loaded(request.store)
    return [score_cell(table, cell, loaded, request, failed or {}) for cell in table.cells]


def frame(table: Table, scored: list[Scored], selection: str) -> pd.DataFrame:
    """Return the rows of ``results/reproduced/<id>.csv``, as text with a fixed precision.

    `n_draws` is how many draws of the data our `n_repeats` numbers are of. `delta`, the standard
    errors of both means, the degrees of freedom, both ends of the interval and the difference as a
    share of the published number are those of the verdict. `shuffle_std` is our deviation over
    shuffles of one draw of the data, `spread_ratio` this over the published ±, and `spread_p` the p
    of an F test (`omtl.tables.verdict.spreads`). A cell that diverged has its repeats and
    parameters, but no number.
    """

    def row(s: Scored) -> dict[str, str]:
        cell, count = s.cell, s.values.size
        has_number = count > 0 and not s.diverged

        def number(value: float | None) -> str:
            return f"{value:.4f}" if has_number and value is not None else ""

        ratio, p = s.spread or (None, None)
        return {
            "table": table.id,
            "dataset": cell.dataset,
            "algorithm": cell.algorithm,
            "task": cell.task,
            "metric": cell.metric,
            "reading": table.reading.name,
            "selection": cell.rule(selection).name,
            "published_mean": cell.mean,
            "published_std": cell.std,
            "published_spread": table.description.spread if cell.std else "",
            "published_repeats": str(table.description.printed_repeats) if cell.mean else "",
            "ours_mean": number(s.mean),
            "ours_std": number(s.std),
            "n_repeats": str(count),
            "n_draws": str(count if cell.experiment.drawn else min(count, 1)),
            **{name: number(getattr(s.difference, name, None)) for name in QUANTITIES},
            "verdict": s.verdict,
            "shuffle_std": number(s.shuffle_std),
            "spread_ratio": number(ratio),
            "spread_p": number(p),
            "params": json.dumps(s.params, sort_keys=True) if count else "",
            "data_sha256": s.data_sha256,
        }

    return pd.DataFrame(map(row, scored))


def raw_repeats(table: Table, scored: list[Scored], seed: int) -> pd.DataFrame:
    """Return one row per cell that was run: its numbers in all repeats, in full precision.

    The numbers stand in the column `values`, with spaces between them.
    """
    rows = [
        (*(table.id, *s.cell.place, table.reading.name, seed), " ".join(map(repr, values)))
        for s in scored
        if (values := s.values.tolist())
    ]
    return pd.DataFrame(rows, columns=[*OF_REPEATS, "values"])


def long_repeats(table: Table, scored: list[Scored], seed: int) -> pd.DataFrame:
    """Return one row per repeat of each cell that was run, in full precision."""
    rows = [
        (*(table.id, *s.cell.place, table.reading.name, seed), repeat, value)
        for s in scored
        for repeat, value in enumerate(s.values.tolist())
    ]
    return pd.DataFrame(rows, columns=[*OF_REPEATS, "repeat", "value"])
