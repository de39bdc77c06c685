"""Our number for each cell of a table, from the store alone, and its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.engine import Failure, why_lacking
from omtl.compute.store import PULLED_FROM, CachedStore, Store
from omtl.experiment.selection import as_played, is_without_hindsight, plays_a_path, select
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Result
from omtl.measures.metrics import METRICS, Metric
from omtl.tables.cells import ALL_TASKS, alternatives_of, each_cell, with_columns
from omtl.tables.play import left_by_search
from omtl.tables.verdict import MISSING, OURS, VALUE, PrintedNumber, difference, judge, spreads
from omtl.util.errors import UserError

QUANTITIES = ("delta", "published_se", "ours_se", "df", "low", "high", "share")
"""The columns with the quantities of a verdict (`omtl.tables.verdict.Difference`)."""

SHARED = ("examples", "seen", "seen_by_task")
"""Arrays of a result that are the same for all points."""

Points = Sequence[Mapping[str, Any]]


def choose_points(
    results: Sequence[Result], points: Points, rule: SelectionSpec, drawn: bool = False
) -> np.ndarray:
    """Return the point that a rule chooses for each repeat.

    Each repeat is seen alone if each has its own draw, because the authors had one draw.
    """
    together = [[one] for one in results] if drawn else [results]
    return np.concatenate([select(some, points, rule) for some in together])


def why_unmeasured(
    metric: Metric, result: Result, rule: SelectionSpec, task: int | None = None
) -> str:
    """Return why a metric has no number under a rule; empty if it has one."""
    played = as_played(result, 0, rule).arrays
    if not set(metric.needs) <= result.arrays.keys():
        return f"the protocol does not measure {metric.name}"
    if metric.rank and metric.rank > result.arrays[metric.needs[0]].shape[1]:
        return f"the protocol ranks too few for {metric.name}; raise protocol.ranks"
    if not set(metric.needs) <= played.keys():
        return (
            f"selection {rule.name} has no {metric.name}, of which the protocol keeps no values "
            "at checkpoints; choose another rule or metric"
        )
    is_of_tasks = task is not None or metric.by_task
    if plays_a_path(rule) and is_of_tasks and "checkpoint_by_task" not in played:
        return (
            f"selection {rule.name} has no {metric.name} of each task, because the protocol "
            "keeps none at checkpoints; choose one with by_task: true, such as rounds_by_task"
        )
    return ""


def numbers_at(
    results: Sequence[Result],
    chosen: np.ndarray,
    metric: str,
    rule: SelectionSpec,
    task: str = ALL_TASKS,
) -> np.ndarray:
    """Return a metric in each repeat, as a rule that chose these points played it.

    It is the metric's worst value if the chosen point diverged.

    Raises
    ------
    UserError
        If the metric has no number under the rule.
    """
    number, k = METRICS[metric], index_of(task)
    if why := why_unmeasured(number, results[0], rule, k):
        raise UserError(why)
    values = [
        number.of(as_played(r, int(p), rule).arrays, int(p), k)
        for r, p in zip(results, chosen, strict=True)
    ]
    return np.where(diverged_in(results, chosen), number.worst, values)


def index_of(task: str) -> int | None:
    """Return the index of a cell's task; None for all tasks."""
    return None if task == ALL_TASKS else int(task.removeprefix("task")) - 1


def diverged_in(results: Sequence[Result], chosen: np.ndarray) -> list[bool]:
    """Return for each repeat whether the learner diverged at its chosen point."""
    return [bool(r.arrays["diverged"][p]) for r, p in zip(results, chosen, strict=True)]


def findings_by_task(results: Sequence[Result], chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Return what learners found about each task at the chosen points, mean over the repeats."""
    n_tasks = len(results[0].facts.get("task_names", ()))
    return {
        name.removeprefix("found_"): np.mean(
            [r.arrays[name][p] for r, p in zip(results, chosen, strict=True)], axis=0
        )
        for name, values in results[0].arrays.items()
        if name.startswith("found_") and values.shape[1:] == (n_tasks,)
    }


def combined(parts: Sequence[Sequence[Result]]) -> list[Result]:
    """Combine the results of several experiments into those of one whose grid has all points.

    Results of a repeat share its examples; arrays that not all have are left out.
    """
    if len(parts) == 1:
        return list(parts[0])
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


def points_of(cell: Any) -> list[dict[str, Any]]:
    """Return the points that a cell's number is chosen from: of all its alternatives."""
    return [point for one in alternatives_of(cell) for point in one.points]


def chosen_for(
    cell: Any, results: Sequence[Result], tuning: Sequence[Result] | None = None
) -> np.ndarray:
    """Return the point that a cell's rule chooses for each repeat.

    The rule uses the cell's own results, or those of the experiment that it is ``tuned_by``.
    """
    points, drawn = points_of(cell), cell.experiment.drawn
    if cell.tuned_by is None or tuning is None:
        return choose_points(results, points, cell.rule, drawn)
    others, names = cell.tuned_by.points, list(cell.tuned_by.algorithm.grid)
    wanted = [others[p] for p in choose_points(tuning, others, cell.rule, drawn)]
    return np.array(
        [[all(p[name] == w[name] for name in names) for p in points].index(True) for w in wanted]
    )


NOTHING: Mapping[str, Any] = {
    "values": np.empty(0),
    "shuffles": np.empty(0),
    "params": {},
    "data_sha256": "",
    "pulled_from": "",
    "findings": {},
    "seconds": 0.0,
    "diverged": 0,
    "why": "",
}
"""What `played` adds to a cell for which we have no number."""


def played(
    cells: pd.DataFrame, store: Store | CachedStore, failed: Mapping[str, Failure] | None = None
) -> pd.DataFrame:
    """Add our numbers to planned cells, from the store alone.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.cells.planned`.
    store : Store or CachedStore
    failed : mapping, optional
        Why units failed, by key.

    Returns
    -------
    DataFrame
        With our number in each repeat, ``values`` (empty if the cell was not run, with ``why``),
        and over ``shuffles`` of one draw of the data; the chosen hyper-parameters, ``params`` (the
        most frequent ones, if the rule chooses by repeat), and their ``experiment``; the hash of
        the data; where its units were ``pulled_from``; the learner's ``findings`` about tasks; the
        ``seconds`` of all plays; and in how many repeats the chosen point ``diverged``, whose value
        is then the metric's worst.
    """
    load, faults = store if isinstance(store, CachedStore) else CachedStore(store), failed or {}
    return with_columns(cells, [_number(cell, load, faults) for cell in each_cell(cells)])


def _lacking(cell: Any, why: str) -> dict[str, Any]:
    return {"experiment": cell.experiment, "alternatives": cell.alternatives, **NOTHING, "why": why}


def _number(cell: Any, load: CachedStore, failed: Mapping[str, Failure]) -> dict[str, Any]:
    """Return a cell's number; of a searched grid, among the points that the search left.

    Of alternatives it is that of the best over all tasks. Under a rule without hindsight, or if
    each repeat has its own draw, each repeat uses the alternative that the rule prefers.
    """
    cell, lacking = left_by_search(cell, load)
    if lacking:
        known = cell.too_slow or "the search is not done"
        return _lacking(cell, why_lacking(lacking, 0, failed, known))
    if cell.alternatives and not is_without_hindsight(cell.rule) and not cell.experiment.drawn:
        sign = METRICS[cell.metric].sign

        def rank(one: Any) -> float:
            values = _chosen_number(one._replace(task=ALL_TASKS), load, failed)["values"]
            return sign * float(values.mean()) if values.size else np.inf

        each = [cell._replace(experiment=e, alternatives=()) for e in alternatives_of(cell)]
        cell = min(each, key=rank)
    return _chosen_number(cell, load, failed)


def _chosen_number(cell: Any, load: CachedStore, failed: Mapping[str, Failure]) -> dict[str, Any]:
    """Return the number that a rule gives, among all points of a cell's alternatives."""
    several = alternatives_of(cell)
    each = [one.repeats(cell.seed, cell.asked_repeats) for one in several]
    parts = [load(units) for units in each]
    units, n_stored = [*chain(*each)], sum(map(len, parts))
    if n_stored < len(units):
        return _lacking(cell, why_lacking(units, n_stored, failed, cell.too_slow))
    results, tuning = combined(parts), None
    if why := why_unmeasured(METRICS[cell.metric], results[0], cell.rule, index_of(cell.task)):
        return _lacking(cell, why)
    if cell.tuned_by is not None:
        if plays_a_path(cell.rule):
            label = cell.tuned_by.algorithm.label
            return _lacking(cell, f"{label} chooses one point, not a path")
        wanted = cell.tuned_by.repeats(cell.seed, cell.asked_repeats)
        if len(tuning := load(wanted)) < len(wanted):
            label = cell.tuned_by.algorithm.label
            return _lacking(cell, f"{label}, by which its parameters are chosen, is lacking")
    chosen = chosen_for(cell, results, tuning)
    values = numbers_at(results, chosen, cell.metric, cell.rule, cell.task)
    shuffles = values
    if cell.experiment.drawn:
        shuffles = _number(on_one_draw(cell), load, failed)["values"]
    places = [(one, point) for one in several for point in one.points]
    experiment, params = places[int(np.bincount(chosen).argmax())]
    return {
        "experiment": experiment,
        "alternatives": (),
        "values": values,
        "shuffles": shuffles,
        "params": params,
        "data_sha256": results[0].facts["data_sha256"],
        "pulled_from": _sources_of([*chain(*parts), *(tuning or ())]),
        "findings": findings_by_task(results, chosen),
        "seconds": sum(result.facts["seconds"] for result in results),
        "diverged": sum(diverged_in(results, chosen)),
        "why": "",
    }


def _sources_of(results: Iterable[Result]) -> str:
    """Return where results were pulled from; empty if all were computed here."""
    return ", ".join(sorted({result.facts.get(PULLED_FROM, "") for result in results} - {""}))


def on_one_draw(cell: Any) -> Any:
    """Return a cell with all its repeats on one draw of synthetic data."""
    return cell._replace(
        experiment=cell.experiment.of_one_draw(),
        alternatives=tuple(one.of_one_draw() for one in cell.alternatives),
        tuned_by=cell.tuned_by and cell.tuned_by.of_one_draw(),
    )


def judged(cells: pd.DataFrame) -> pd.DataFrame:
    """Add the verdicts to cells with our numbers.

    Returns
    -------
    DataFrame
        With ``ours_mean`` and ``ours_std`` over ``n_repeats`` repeats, which are of ``n_draws``
        draws of the data; the `QUANTITIES` of the difference from print, and whether it
        ``is_apart``; the ``verdict``, and whether the ``interval`` contains print (empty where the
        cell is not compared); our deviation over shuffles of one draw, ``shuffle_std``,
        its ratio to the printed ±, ``spread_ratio``, and the p of an F test that they are the same,
        ``spread_p``. What does not exist is NaN.
    """
    return with_columns(cells, [_judgement(cell) for cell in each_cell(cells)])


def _judgement(cell: Any) -> dict[str, Any]:
    values, shuffles, drawn = cell.values, cell.shuffles, cell.experiment.drawn
    count, std, shuffle_std = values.size, std_of(values), std_of(shuffles)
    mean = float(values.mean()) if count else np.nan
    printed, off = printed_of(cell), None
    if count and cell.kind != OURS:
        off = difference(printed, mean, std, count, drawn)
    spread = spreads(printed, shuffle_std, shuffles.size)
    ratio, p = spread if spread is not None else (np.nan, np.nan)
    return {
        "ours_mean": mean,
        "ours_std": std,
        "n_repeats": count,
        "n_draws": count if drawn else min(count, 1),
        **{name: np.nan if off is None else getattr(off, name) for name in QUANTITIES},
        "is_apart": off is not None and off.is_apart,
        "verdict": judge(off, cell.kind) if count else MISSING,
        "interval": off.interval if off is not None and cell.kind == VALUE else "",
        "shuffle_std": shuffle_std,
        "spread_ratio": ratio,
        "spread_p": p,
    }


def printed_of(cell: Any) -> PrintedNumber:
    """Return the published number of a cell."""
    return PrintedNumber(
        *(cell.published_mean, cell.published_std),
        *(cell.published_spread, cell.published_repeats),
        METRICS[cell.metric].scale,
    )


def std_of(values: np.ndarray) -> float:
    """Return the standard deviation of single numbers; 0 for fewer than two."""
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def scored(
    cells: pd.DataFrame, store: Store | CachedStore, failed: Mapping[str, Failure] | None = None
) -> pd.DataFrame:
    """Return planned cells with our numbers (`played`) and their verdicts (`judged`)."""
    return judged(played(cells, store, failed))
