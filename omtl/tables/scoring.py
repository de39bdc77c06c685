"""Our number for each cell of a table, from the store alone, and its verdict.

It takes as many repeats as are asked for, or as the verdicts need (``--repeats auto``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.engine import Failure, Outcome, why_lacking
from omtl.compute.store import PULLED_FROM, Store, cached
from omtl.experiment.selection import as_played, is_without_hindsight, plays_a_path, select
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Result
from omtl.measures.metrics import METRICS, Metric
from omtl.measures.sequential import reach_of_rest
from omtl.tables.cells import ALL_TASKS, alternatives_of, each_cell, with_columns
from omtl.tables.play import left_by_search, play_cells
from omtl.tables.request import Request
from omtl.tables.verdict import JUDGED, MISSING, VALUE, judged, shares_of_scale, verdict_words
from omtl.util.errors import UserError

SHARED = ("examples", "seen", "seen_by_task")
"""Arrays of a result that are the same for all points."""

ERROR = 0.01
"""Allowed probability that a cell's verdict would be another one with all repeats."""

FIRST = 3
"""Number of plays before anything is decided."""

GROWTH = 1.5
"""How many times as many repeats are played before it is looked at again."""

SETTLED, ALL_PLAYED = "settled", "all played"
NOT_PLAYED, WITH_THE_OTHERS = "not played", "with the others"
"""Why a cell was played no further (column ``stopped``)."""


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
            f"selection {rule.name} has no {metric.name}: the protocol keeps no values of it "
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


def chosen_for(cell: Any, results: Sequence[Result], tuning: Sequence[Result] = ()) -> np.ndarray:
    """Return the point that a cell's rule chooses for each repeat.

    The rule uses the cell's own results, or those of the experiment that it is ``tuned_by``.
    """
    points = [point for one in alternatives_of(cell) for point in one.points]
    drawn = cell.experiment.drawn
    if cell.tuned_by is None or not tuning:
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
    cells: pd.DataFrame, store: Store, failed: Mapping[str, Failure] | None = None
) -> pd.DataFrame:
    """Add our numbers to planned cells, from the store alone.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.cells.planned`.
    store : Store
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
    store = cached(store)
    return with_columns(cells, [_played(cell, store, failed or {}) for cell in each_cell(cells)])


class LackingError(Exception):
    """Why there is no number of a cell."""


def _played(cell: Any, store: Store, failed: Mapping[str, Failure]) -> dict[str, Any]:
    """Return what `played` adds to a cell."""
    try:
        return _number(cell, store, failed)
    except LackingError as why:
        given = {"experiment": cell.experiment, "alternatives": cell.alternatives}
        return {**given, **NOTHING, "why": str(why)}


def _number(cell: Any, store: Store, failed: Mapping[str, Failure]) -> dict[str, Any]:
    """Return a cell's number; of a searched grid, among the points that the search left.

    Of alternatives it is that of the best over all tasks. Under a rule without hindsight, or if
    each repeat has its own draw, each repeat uses the alternative that the rule prefers.

    Raises
    ------
    LackingError
        If there is none.
    """
    cell, lacking = left_by_search(cell, store)
    if lacking:
        known = cell.too_slow or "the search is not done"
        raise LackingError(why_lacking(lacking, 0, failed, known))
    if not cell.alternatives or is_without_hindsight(cell.rule) or cell.experiment.drawn:
        return _chosen_number(cell, store, failed)
    sign = METRICS[cell.metric].sign

    def rank(one: Any) -> float:
        values = _played(one._replace(task=ALL_TASKS), store, failed)["values"]
        return sign * float(values.mean()) if values.size else np.inf

    each = [cell._replace(experiment=one, alternatives=()) for one in alternatives_of(cell)]
    return _chosen_number(min(each, key=rank), store, failed)


def _chosen_number(cell: Any, store: Store, failed: Mapping[str, Failure]) -> dict[str, Any]:
    """Return the number that a rule gives, among all points of a cell's alternatives."""
    several = alternatives_of(cell)
    each = [one.repeats(cell.seed, cell.asked_repeats) for one in several]
    parts = [store.stored(units) for units in each]
    units, n_stored = [*chain(*each)], sum(map(len, parts))
    if n_stored < len(units):
        raise LackingError(why_lacking(units, n_stored, failed, cell.too_slow))
    results = combined(parts)
    if why := why_unmeasured(METRICS[cell.metric], results[0], cell.rule, index_of(cell.task)):
        raise LackingError(why)
    tuning = _tuning_of(cell, store) if cell.tuned_by is not None else []
    chosen = chosen_for(cell, results, tuning)
    values = numbers_at(results, chosen, cell.metric, cell.rule, cell.task)
    drawn = cell.experiment.drawn
    shuffles = _played(on_one_draw(cell), store, failed)["values"] if drawn else values
    places = [(one, point) for one in several for point in one.points]
    experiment, params = places[int(np.bincount(chosen).argmax())]
    sources = {result.facts.get(PULLED_FROM, "") for result in chain(*parts, tuning)}
    return {
        **NOTHING,
        "experiment": experiment,
        "alternatives": (),
        "values": values,
        "shuffles": shuffles,
        "params": params,
        "data_sha256": results[0].facts["data_sha256"],
        "pulled_from": ", ".join(sorted(sources - {""})),
        "findings": findings_by_task(results, chosen),
        "seconds": sum(result.facts["seconds"] for result in results),
        "diverged": sum(diverged_in(results, chosen)),
    }


def _tuning_of(cell: Any, store: Store) -> list[Result]:
    """Return the results by which another row chooses the parameters of a cell."""
    label = cell.tuned_by.algorithm.label
    if plays_a_path(cell.rule):
        raise LackingError(f"{label} chooses one point, not a path")
    wanted = cell.tuned_by.repeats(cell.seed, cell.asked_repeats)
    if len(results := store.stored(wanted)) < len(wanted):
        raise LackingError(f"{label}, by which its parameters are chosen, is lacking")
    return results


def on_one_draw(cell: Any) -> Any:
    """Return a cell with all its repeats on one draw of synthetic data."""
    return cell._replace(
        experiment=cell.experiment.of_one_draw(),
        alternatives=tuple(one.of_one_draw() for one in cell.alternatives),
        tuned_by=cell.tuned_by and cell.tuned_by.of_one_draw(),
    )


def scored(
    cells: pd.DataFrame, store: Store, failed: Mapping[str, Failure] | None = None
) -> pd.DataFrame:
    """Return planned cells with our numbers (`played`) and their verdicts.

    The verdicts are `omtl.tables.verdict.judged`.
    """
    return judged(played(cells, store, failed))


def play_until_settled(cells: pd.DataFrame, request: Request) -> tuple[pd.DataFrame, Outcome]:
    """Play the cells of a table in batches of repeats, each until its verdict is settled.

    Cells of one algorithm on one data set share their units, so they stop together. Cells that are
    not compared with print, such as our baselines, are played until the last one that is stops; if
    none is, as in a table of times, all repeats are played. The cells that take part, the order of
    the repeats and the bound are fixed beforehand, so that the same seed gives the same numbers
    whatever is stored already.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.cells.planned`, with all repeats that may be played.
    request : Request

    Returns
    -------
    cells : DataFrame
        The judged cells. ``asked_repeats`` is how many repeats each was played for, and ``stopped``
        says why no more.
    outcome : Outcome
    """
    request = replace(request, store=cached(request.store))
    outcome, done, left = Outcome(), [], cells
    is_compared = cells["kind"] == VALUE
    for count in _counts(cells):
        part = left.assign(asked_repeats=left["asked_repeats"].clip(upper=count))
        outcome.add(play_cells(part, request))
        found = scored(part, request.store, outcome.failed)
        found = found.assign(stopped=why_to_stop(found, left["asked_repeats"]))
        together = [found["dataset"], found["algorithm"]]
        stops = found["stopped"].ne("").groupby(together).transform("all")
        if is_compared.any() and stops[is_compared[stops.index]].all():
            found["stopped"] = found["stopped"].replace("", WITH_THE_OTHERS)
            stops[:] = True
        done.append(found[stops])
        left = left[~stops]
        if left.empty:
            break
    return pd.concat(done).loc[cells.index], outcome


def _counts(cells: pd.DataFrame) -> Iterator[int]:
    """Yield the numbers of the paper's repeats after which verdicts are looked at, growing."""
    most = int(cells["asked_repeats"].max())
    plays = max(experiment.plays for experiment in cells["experiment"])
    count = math.ceil(FIRST / plays)
    while count < most:
        yield count
        count = math.ceil(GROWTH * count)
    yield most


def why_to_stop(cells: pd.DataFrame, totals: pd.Series) -> np.ndarray:
    """Return why judged cells need no more repeats, of some in all; empty for one that does."""
    plays, asked = cells["n_repeats"], cells["asked_repeats"]
    return np.select(
        [
            asked >= totals,
            cells["verdict"] == MISSING,
            ~cells["verdict"].isin(JUDGED),
            is_settled(cells, plays * totals // asked),
        ],
        [ALL_PLAYED, NOT_PLAYED, "", SETTLED],
        "",
    )


def is_settled(cells: pd.DataFrame, totals: pd.Series) -> pd.Series:
    """Return which verdicts no mean that all plays can still have would change.

    Parameters
    ----------
    cells : DataFrame
        Judged cells.
    totals : Series
        The number of plays of each cell that there may be.
    """
    so_far = zip(cells["ours_std"], cells["n_repeats"], totals, strict=True)
    reach = np.array([reach_of_rest(std, seen, total, ERROR) for std, seen, total in so_far])
    away, scale = cells["delta"].abs().to_numpy(), cells["scale"].to_numpy()
    ends = [
        verdict_words(shares_of_scale(end, scale))
        for end in (np.maximum(0.0, away - reach), away + reach)
    ]
    same = [cells["verdict"] == end for end in ends]
    return ~np.isfinite(away) | (same[0] & same[1])  # off, however often it diverges
