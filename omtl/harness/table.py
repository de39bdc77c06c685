"""Making a table from the store: our number, spread and verdict for each published cell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from omtl.harness.fanout import Failure, why_lacking
from omtl.harness.plan import Cell, Table
from omtl.harness.search import searched, stages
from omtl.harness.selection import is_honest, select
from omtl.harness.store import Loaded, Store
from omtl.harness.unit import Result
from omtl.harness.verdict import MISSING, judge
from omtl.metrics import METRICS

COLUMNS = (
    "table",
    "dataset",
    "algorithm",
    "task",
    "metric",
    "reading",
    "selection",
    "published_mean",
    "published_std",
    "ours_mean",
    "ours_std",
    "n_repeats",
    "delta",
    "verdict",
    "params",
    "data_sha256",
)


SHARED = ("examples", "seen", "seen_by_task")
"""Arrays of a result that are not by point, but the same for all learners."""

REPEATS = ("table", "dataset", "algorithm", "task", "metric", "reading", "seed", "repeat", "value")
"""Columns of the raw repeats."""


@dataclass(frozen=True)
class Scored:
    """A cell with what we have for it.

    Parameters
    ----------
    values : ndarray of shape (n_repeats,)
        Our number in each repeat; empty if the cell was not run.
    data_std : float
        Standard deviation of our mean over fresh draws of synthetic data; 0 for real data.
    params : dict
        The chosen hyper-parameters (those most often chosen, where the rule chooses by repeat).
    found : dict of str to ndarray
        What the learner tells of its final states, by task: the mean over the repeats.
    why : str
        Why the cell was not run; empty if it was.
    diverged : int
        In how many repeats the chosen point diverged: its value there is the metric's worst.
    """

    cell: Cell
    values: np.ndarray
    verdict: str
    data_std: float = 0.0
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
    cell: Cell, results: list[Result], rule: dict[str, Any], by: list[Result] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return a cell's number in each repeat, and the points that the rule chose.

    The rule looks at `results`, or at those of the cell's chooser in `by`.
    """
    metric = METRICS[cell.metric]
    task = None if cell.task == "all" else int(cell.task.removeprefix("task")) - 1
    points = [point for one in cell.each_rival() for point in one.experiment.points]
    if cell.chooser is None or by is None:
        chosen = select(results, points, rule)
    else:
        wanted = [cell.chooser.points[p] for p in select(by, cell.chooser.points, rule)]
        names = list(cell.chooser.algorithm["grid"])
        chosen = np.array(
            [[all(p[n] == w[n] for n in names) for p in points].index(True) for w in wanted]
        )
    values = [metric.of(r.arrays, int(p), task) for r, p in zip(results, chosen, strict=True)]
    diverged = [r.arrays["diverged"][p] > 0 for r, p in zip(results, chosen, strict=True)]
    return np.where(diverged, metric.worst, values), chosen


def found_by_task(results: list[Result], chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Return what learners tell of each task at the chosen points, the mean over the repeats."""
    n_tasks = len(results[0].facts.get("task_names", ()))
    return {
        name.removeprefix("found_"): np.mean(
            [r.arrays[name][p] for r, p in zip(results, chosen, strict=True)], axis=0
        )
        for name, values in results[0].arrays.items()
        if name.startswith("found_") and values.shape[1:] == (n_tasks,)
    }


def spread_of_draws(
    cell: Cell,
    draws: list[list[Result]],
    rule: dict[str, Any],
    shuffle_std: float,
    by: list[list[Result]] | None = None,
) -> float:
    """Return the standard deviation of a cell's mean over fresh draws of the data.

    What the shuffles add to the means of so few repeats is taken off: `shuffle_std` is the standard
    deviation of one repeat. `by` has the results of the cell's chooser on the same draws, where it
    has one.
    """
    if len(draws) < 2:
        return 0.0
    means = [
        values_of(cell, results, rule, None if by is None else by[number])[0].mean()
        for number, results in enumerate(draws)
    ]
    shuffles = np.mean([shuffle_std**2 / len(results) for results in draws])
    return float(np.sqrt(max(0.0, np.var(means, ddof=1) - shuffles)))


def not_run(cell: Cell, why: str) -> Scored:
    """Return a cell for which we have no number."""
    return Scored(cell, np.array([]), MISSING, why=why)


def together(parts: Sequence[list[Result]]) -> list[Result]:
    """Return the results of several experiments as those of one whose grid has all their points.

    Those of a repeat have its examples in common; arrays that not all have are left out.
    """
    if len(parts) == 1:
        return parts[0]
    joined = []
    for results in zip(*parts, strict=False):
        first, *others = (result.arrays for result in results)
        names = [name for name in first if all(name in other for other in others)]
        arrays = {
            name: first[name]
            if name in SHARED
            else np.concatenate([result.arrays[name] for result in results])
            for name in names
        }
        seconds = sum(result.facts["seconds"] for result in results)
        joined.append(Result(arrays, {**results[0].facts, "seconds": seconds}))
    return joined


def score_cell(
    table: Table,
    cell: Cell,
    loaded: Loaded,
    rule: dict[str, Any],
    seed: int,
    n_repeats: int,
    failed: Mapping[str, Failure],
) -> Scored:
    """Return a cell with our number for it; where it has rivals, of the best over all tasks.

    Under a rule without hindsight it is in each repeat of the rival that the rule prefers.
    """
    if cell.search is not None:
        found = searched(cell, loaded, rule, seed, n_repeats)
        if found is None:
            part, repeats = stages(cell, loaded, rule, seed, n_repeats)[-1]
            keys = [unit.key for unit in part.repeats(seed, repeats)]
            reasons = [failed[key].reason for key in keys if key in failed]
            return not_run(cell, reasons[0] if reasons else "the search is not done")
        return score_cell(table, found, loaded, rule, seed, n_repeats, failed)
    if cell.rivals and not is_honest(rule):
        sign = 1.0 if METRICS[cell.metric].lower_is_better else -1.0

        def rank(rival: Cell) -> float:
            whole = replace(rival, task="all")
            mean = score_cell(table, whole, loaded, rule, seed, n_repeats, failed).mean
            return np.inf if mean is None else sign * mean

        best = min(cell.each_rival(), key=rank)
        return score_cell(table, best, loaded, rule, seed, n_repeats, failed)
    published = [float(text) if text else None for text in (cell.mean, cell.std)]
    rivals = [one.experiment for one in cell.each_rival()]
    units = [unit for rival in rivals for unit in rival.repeats(seed, n_repeats)]
    if (n_stored := len(loaded(units))) < len(units):
        return not_run(cell, why_lacking(units, n_stored, failed))
    results = together([loaded(rival.repeats(seed, n_repeats)) for rival in rivals])
    by = None
    if cell.chooser is not None:
        by = loaded(cell.chooser.repeats(seed, n_repeats))
        if len(by) < n_repeats:
            label = cell.chooser.algorithm["label"]
            return not_run(cell, f"{label}, by which its parameters are chosen, is lacking")
    values, chosen = values_of(cell, results, rule, by)
    std = float(values.std(ddof=1)) if values.size > 1 else 0.0
    played = [*rivals, *([cell.chooser] if cell.chooser else [])]
    asked = zip(*(e.fresh_draws(seed, *table.draws(n_repeats)) for e in played), strict=True)
    draws = [[(units, loaded(units)) for units in draw] for draw in asked]
    whole = [
        [got for _, got in draw]
        for draw in draws
        if all(len(got) == len(units) for units, got in draw)
    ]
    fresh = [together(draw[: len(rivals)]) for draw in whole]
    judges = [draw[-1] for draw in whole] if cell.chooser else None
    data_std = spread_of_draws(cell, fresh, rule, std, judges)
    places = [(rival, point) for rival in rivals for point in rival.points]
    most, params = places[int(np.bincount(chosen).argmax())]
    return Scored(
        replace(cell, experiment=most, rivals=()),
        values,
        judge(published[0], published[1], float(values.mean()), std, data_std, cell.kind),
        data_std=data_std,
        params=params,
        data_sha256=results[0].facts["data_sha256"],
        found=found_by_task(results, chosen),
        seconds=sum(result.facts["seconds"] for result in results),
        diverged=sum(
            bool(r.arrays["diverged"][p] > 0) for r, p in zip(results, chosen, strict=True)
        ),
    )


def score_table(
    table: Table,
    store: Store,
    seed: int,
    n_repeats: int,
    failed: Mapping[str, Failure] | None = None,
    selection: str | None = None,
) -> list[Scored]:
    """Return all cells of a table with our numbers, from the store alone.

    Parameters
    ----------
    table : Table
    store : Store
    seed, n_repeats : int
        Which repeats.
    failed : dict, optional
        Why units failed, by key.
    selection : str, optional
        A rule of the group ``selection``; the table's own by default.
    """
    name = selection or table.description["selection"]
    loaded = Loaded(store)
    return [
        score_cell(table, cell, loaded, cell.rule(name), seed, n_repeats, failed or {})
        for cell in table.cells
    ]


def frame(table: Table, scored: list[Scored], selection: str) -> pd.DataFrame:
    """Return the rows of ``results/reproduced/<id>.csv``, as text with a fixed precision.

    A cell that diverged has its repeats and parameters, and no number.
    """

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.4f}"

    def ours(s: Scored) -> tuple[str, str, str, str]:
        count = str(s.values.size)
        if s.mean is None or s.diverged:
            return "", "", count, ""
        delta = None if s.cell.is_ours else s.mean - float(s.cell.mean)
        return number(s.mean), number(s.std), count, number(delta)

    rows = [
        (
            table.id,
            s.cell.dataset,
            s.cell.algorithm,
            s.cell.task,
            s.cell.metric,
            table.reading["name"],
            s.cell.rule(selection)["name"],
            s.cell.mean,
            s.cell.std,
            *ours(s),
            s.verdict,
            json.dumps(s.params, sort_keys=True) if s.values.size else "",
            s.data_sha256,
        )
        for s in scored
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def raw_repeats(table: Table, scored: list[Scored], seed: int) -> pd.DataFrame:
    """Return a row for each repeat of each cell that was run, with all digits."""
    rows = [
        (
            *(table.id, s.cell.dataset, s.cell.algorithm, s.cell.task, s.cell.metric),
            *(table.reading["name"], seed, repeat, value),
        )
        for s in scored
        for repeat, value in enumerate(s.values.tolist())
    ]
    return pd.DataFrame(rows, columns=REPEATS)
