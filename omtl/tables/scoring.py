"""The units that cells need, played where the store lacks them; and our numbers, from the store.

A grid that is too large to play in full is searched by successive halving: each rung plays the
remaining points in a few repeats, on the whole stream or its first part, and keeps the best; the
points remaining after the last rung are played like any grid, which has that one stage only. The
remaining points follow from stored units alone, so an interrupted search resumes, and always ends
the same way. What a search loses is the difference of the numbers that the two grids end with.

As many repeats are played as are asked for, or as the verdicts need (``--repeats auto``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from omtl.compute.engine import Failure, News, Outcome, run_units, why_lacking
from omtl.compute.store import PULLED_FROM, Store, cached
from omtl.experiment.config import options
from omtl.experiment.selection import (
    as_played,
    costs,
    is_without_hindsight,
    kept_by,
    plays_a_path,
    select,
)
from omtl.experiment.specs import ProtocolSpec, SearchSpec, SelectionSpec, known_settings
from omtl.experiment.unit import Experiment, Result, Unit
from omtl.measures.metrics import METRICS, Metric
from omtl.measures.sequential import reach_of_rest
from omtl.protocols.record_schema import SCHEMAS, measured_arrays
from omtl.tables.cells import ALL_TASKS, alternatives_of, each_cell, is_searched, with_columns
from omtl.tables.request import Request
from omtl.tables.verdict import JUDGED, MISSING, VALUE, judged, shares_of_scale, verdict_words
from omtl.util.errors import UserError

RECORD = ("table", "dataset", "algorithm", "reading", "share", "repeats", "n_points", "points")
"""Columns of the record of a search."""

COST = (
    *("table", "dataset", "algorithm", "reading", "plays_full", "plays_search"),
    *("error_full", "error_search", "difference", "chosen_full", "chosen_search"),
)
"""Columns of the cost of a search."""


class Stage(NamedTuple):
    """An experiment that a cell needs, in how many of the paper's repeats.

    The last stage is the one that the cell's number comes from; others are rungs of a search.
    """

    experiment: Experiment
    repeats: int
    is_last: bool


def stages(cell: Any, store: Store | None) -> list[Stage]:
    """Return the stages of a cell, as far as the store has the rungs of its search."""
    experiment, found = cell.experiment, []
    for rung in cell.search.rungs if is_searched(cell) else ():
        repeats = min(rung.repeats, cell.asked_repeats)
        share = min(rung.share, cell.rule.fraction or 1.0)  # no more than the rule may use
        if share < 1.0 and "share" not in known_settings(experiment.protocol.module):
            share = 1.0  # the protocol plays whole data sets only
        if share == 1.0 and repeats == cell.asked_repeats:
            break  # this rung is the full grid
        part = experiment
        if share < 1.0:
            part = part.patched({"protocol.*.share": share, "protocol.*.checkpoints": 1})
        found.append(Stage(part, repeats, False))
        units = part.repeats(cell.seed, repeats)
        results = [] if store is None else store.stored(units)
        if len(results) < len(units):
            return found
        order = np.argsort(costs(results, cell.rule), kind="stable")
        experiment = experiment.only(sorted(order[: rung.keep].tolist()))
    return [*found, Stage(experiment, cell.asked_repeats, True)]


def record(cells: pd.DataFrame, store: Store) -> pd.DataFrame:
    """Return the points of searched grids that were run, one row per rung.

    `points` numbers the points of the whole grid, last hyper-parameter fastest; it is empty where
    all of them were run.
    """
    store, rows = cached(store), []
    for cell in filter(is_searched, each_cell(cells)):
        for experiment, repeats, _ in stages(cell, store):
            share = experiment.protocol.share
            numbers = " ".join(map(str, experiment.algorithm.only or ()))
            place = (cell.table, cell.dataset, cell.algorithm, cell.reading)
            rows.append((*place, f"{share:g}", repeats, len(experiment.points), numbers))
    return pd.DataFrame(rows, columns=RECORD)


def units_at(cell: Any, stage: Stage) -> list[Unit]:
    """Return the units of a stage of a cell, with its alternatives' and what it is tuned by."""
    if not stage.is_last:
        return stage.experiment.repeats(cell.seed, stage.repeats)
    tuned_by = () if cell.tuned_by is None else (cell.tuned_by,)
    return [
        unit
        for experiment in (*tuned_by, stage.experiment, *cell.alternatives)
        for of in (experiment.repeats, experiment.shuffles)
        for unit in of(cell.seed, stage.repeats)
    ]


def units_of(cells: pd.DataFrame, store: Store | None = None, every: bool = False) -> list[Unit]:
    """Return the units that cells need next, or those of every stage so far; repeat after repeat.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.cells.planned`.
    store : Store, optional
        Its results decide which points a search of a grid has left. Without it, only the first
        stage of a search is known.
    every : bool
        Whether to return the units of all stages so far, not only of the last.
    """
    units = [
        unit
        for cell in each_cell(cells)
        for stage in stages(cell, store)[0 if every else -1 :]
        for unit in units_at(cell, stage)
    ]
    return sorted({unit.key: unit for unit in units}.values(), key=lambda unit: unit.repeat)


def play_cells(cells: pd.DataFrame, request: Request, news: News | None = None) -> Outcome:
    """Compute the units of a table that the store lacks, rung by rung where a grid is searched.

    Cells that are too slow are left out unless the request includes them.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.cells.planned`.
    request : Request
        The store, how to compute, and whether slow cells are included.
    news : callable, optional
        What to tell meanwhile (`run_units`).
    """
    cells = cells if request.slow else cells[cells["too_slow"] == ""]
    store = cached(request.store)
    units, asked = units_of(cells, store), set[str]()
    outcome = run_units(units, store, request.parallel, news=news)
    while cells["search"].notna().any():
        # Requested units are stored now, or have failed and would fail again.
        asked |= {unit.key for unit in units}
        units = [unit for unit in units_of(cells, store) if unit.key not in asked]
        if not units:
            break
        outcome.add(run_units(units, store, request.parallel, news=news))
    return outcome


def cost_of(cells: pd.DataFrame, search: SearchSpec, request: Request) -> pd.DataFrame:
    """Return the cost of a search for a table whose large grids are played in full.

    There is one row per data set and algorithm with a large grid: the number of plays of the whole
    stream for the full grid and for the search, and the resulting error rates: over all tasks, or
    of the worst one if the rule minimises that.
    """
    same_for_all = {"task": ALL_TASKS, "metric": "error", "alternatives": (), "search": search}
    names = [{"name": experiment.algorithm.name} for experiment in cells["experiment"]]
    whole = with_columns(cells, [same_for_all | name for name in names])
    whole = whole[[is_searched(cell) for cell in each_cell(whole)]]
    store, rows = cached(request.store), []
    for _, same in whole.groupby(["dataset", "name"], sort=False):
        both = pd.concat([same.tail(1).assign(search=None), same.tail(1)])
        outcome = play_cells(both, request)
        if outcome.failed:
            raise UserError(f"{same['table'].iat[0]}: {next(iter(outcome.failed.values())).reason}")
        full, halved = each_cell(both)
        minimised = [ALL_TASKS]
        if full.rule.target == "worst_task":
            [first] = store.stored(full.experiment.repeats(full.seed, 1))
            minimised = [f"task{1 + k}" for k in range(first.arrays["examples"].size)]
        ends = played(pd.concat([both.assign(task=task) for task in minimised]), store)
        ends["error"] = ends["values"].map(np.mean)
        (best, whole_error), (chosen, error) = (
            (part["params"].iat[0], part["error"].max())
            for part in (ends[ends["search"].isna()], ends[ends["search"].notna()])
        )
        plays = sum(
            experiment.protocol.share * repeats * len(experiment.points)
            for experiment, repeats, _ in stages(halved, store)
        )
        place = full.table, full.dataset, full.experiment.algorithm.label, full.reading
        counts = len(full.experiment.points) * full.asked_repeats, round(plays)
        errors = (f"{one:.4f}" for one in (whole_error, error, error - whole_error))
        rows.append((*place, *counts, *errors, json.dumps(best), json.dumps(chosen)))
    return pd.DataFrame(rows, columns=COST)


OF_DATA = {
    name for kinds in SCHEMAS.values() for name, kind in kinds.items() if "P" not in kind.axes
}
"""Arrays of a result that are the same for all points of a grid; the others have a row a point."""

ERROR = 0.01
"""Allowed probability that a cell's verdict would be another one with all repeats."""

FIRST = 3
"""Number of plays before anything is decided."""

GROWTH = 1.5
"""How many times as many repeats are played before it is looked at again."""

SETTLED, ALL_PLAYED = "settled", "all played"
NOT_PLAYED, WITH_THE_OTHERS = "not played", "with the others"
"""Why a cell was played no further (column ``stopped``)."""


def why_unmeasured(
    metric: Metric, result: Result, rule: SelectionSpec, task: int | None = None
) -> str:
    """Return why a metric has no number under a rule; empty if it has one."""
    if why := why_unkept(metric, result.arrays.keys(), rule, task):
        return why
    if metric.rank and metric.rank > result.arrays[metric.needs[0]].shape[1]:
        return f"the protocol ranks too few for {metric.name}; raise protocol.ranks"
    return ""


def why_unkept(
    metric: Metric, arrays: Set[str], rule: SelectionSpec, task: int | None = None
) -> str:
    """Return why arrays of these names leave a metric no number under a rule; empty if they do."""
    if not arrays >= set(metric.needs):
        return f"the protocol does not measure {metric.name}"
    if not kept_by(rule, arrays) >= set(metric.needs):
        return (
            f"selection {rule.name} has no {metric.name}: the protocol keeps no values of it "
            "at checkpoints; choose another rule or metric"
        )
    is_of_tasks = task is not None or metric.by_task
    if plays_a_path(rule) and is_of_tasks and "checkpoint_by_task" not in arrays:
        return (
            f"selection {rule.name} has no {metric.name} of each task, because the protocol "
            "keeps none at checkpoints; choose one with by_task: true, such as rounds_by_task"
        )
    return ""


def measured_by(protocol: ProtocolSpec) -> list[str] | None:
    """Return the metrics that a protocol measures; None for one that declares no arrays."""
    arrays = measured_arrays(protocol.module, protocol.settings)
    if arrays is None:
        return None
    return [name for name, metric in METRICS.items() if arrays >= {*metric.needs}]


def check_is_measured(protocol: ProtocolSpec, metric: str) -> None:
    """Refuse a metric that a protocol does not measure.

    Raises
    ------
    UserError
        With the protocols for such data that measure it, or else with what this one measures.
    """
    measured = measured_by(protocol)
    if measured is None or metric in measured:
        return
    known = {name: measured_by(ProtocolSpec.named(name)) or [] for name in options("protocol")}
    others = [
        f"protocol={name}"
        for name, of in known.items()
        if metric in of and ("absolute_error" in of) == ("absolute_error" in measured)
    ]
    hint = f"use {' or '.join(others)}" if others else f"it measures {', '.join(measured)}"
    raise UserError(f"protocol {protocol.name} does not measure {metric}; {hint}")


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
            if name in OF_DATA
            else np.concatenate([result.arrays[name] for result in results])
            for name, array in results[0].arrays.items()
            if all(name in result.arrays for result in results)
        }
        seconds = sum(result.facts["seconds"] for result in results)
        joined.append(Result(arrays, {**results[0].facts, "seconds": seconds}))
    return joined


def chosen_for(cell: Any, results: Sequence[Result], tuning: Sequence[Result] = ()) -> np.ndarray:
    """Return the point that a cell's rule chooses for each repeat.

    The rule uses the cell's own results, or those of the experiment that it is ``tuned_by``. Each
    repeat is seen alone if each has its own draw, because the authors had one draw.
    """
    points = [point for one in alternatives_of(cell) for point in one.points]
    seen, choices = (tuning, cell.tuned_by.points) if tuning else (results, points)
    together = [[one] for one in seen] if cell.experiment.drawn else [seen]
    chosen = np.concatenate([select(some, choices, cell.rule) for some in together])
    if not tuning:
        return chosen
    names, wanted = list(cell.tuned_by.algorithm.grid), [choices[number] for number in chosen]
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
    return with_columns(
        cells, [played_cell(cell, store, failed or {}) for cell in each_cell(cells)]
    )


def played_cell(cell: Any, store: Store, failed: Mapping[str, Failure]) -> dict[str, Any]:
    """Return what `played` adds to a cell; of a searched grid, among the points that are left.

    Of alternatives the number is that of the best over all tasks. Under a rule without hindsight,
    or if each repeat has its own draw, each repeat uses the alternative that the rule prefers.
    """
    nothing = {"experiment": cell.experiment, "alternatives": cell.alternatives, **NOTHING}
    experiment, n_repeats, is_last = stages(cell, store)[-1]
    if not is_last:
        lacking = experiment.repeats(cell.seed, n_repeats)
        known = cell.too_slow or "the search is not done"
        return nothing | {"why": why_lacking(lacking, 0, failed, known)}
    cell = cell._replace(experiment=experiment, search=None)
    if cell.alternatives and not is_without_hindsight(cell.rule) and not cell.experiment.drawn:

        def rank(one: Any) -> float:
            values = played_cell(one._replace(task=ALL_TASKS), store, failed)["values"]
            return METRICS[cell.metric].sign * float(values.mean()) if values.size else np.inf

        each = [cell._replace(experiment=one, alternatives=()) for one in alternatives_of(cell)]
        cell = min(each, key=rank)
    several = alternatives_of(cell)
    parts = [store.stored(one.repeats(cell.seed, cell.asked_repeats)) for one in several]
    units = [unit for one in several for unit in one.repeats(cell.seed, cell.asked_repeats)]
    if (n_stored := sum(map(len, parts))) < len(units):
        return nothing | {"why": why_lacking(units, n_stored, failed, cell.too_slow)}
    results, tuning = combined(parts), list[Result]()
    why = why_unmeasured(METRICS[cell.metric], results[0], cell.rule, index_of(cell.task))
    if cell.tuned_by is not None and not why:
        label = cell.tuned_by.algorithm.label
        wanted = cell.tuned_by.repeats(cell.seed, cell.asked_repeats)
        tuning = store.stored(wanted)
        if plays_a_path(cell.rule):
            why = f"{label} chooses one point, not a path"
        elif len(tuning) < len(wanted):
            why = f"{label}, by which its parameters are chosen, is lacking"
    if why:
        return nothing | {"why": why}
    chosen = chosen_for(cell, results, tuning)
    values = numbers_at(results, chosen, cell.metric, cell.rule, cell.task)
    shuffles = values
    if cell.experiment.drawn:
        on_one_draw = with_experiments(cell, Experiment.of_one_draw)
        shuffles = played_cell(on_one_draw, store, failed)["values"]
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


def with_experiments(cell: Any, change: Callable[..., Experiment], *given: Any) -> Any:
    """Return a cell with each of its experiments changed."""
    return cell._replace(
        experiment=change(cell.experiment, *given),
        alternatives=tuple(change(one, *given) for one in cell.alternatives),
        tuned_by=cell.tuned_by and change(cell.tuned_by, *given),
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
        found, totals = scored(part, request.store, outcome.failed), left["asked_repeats"]
        why_to_stop = {
            ALL_PLAYED: found["asked_repeats"] >= totals,
            NOT_PLAYED: found["verdict"] == MISSING,
            "": ~found["verdict"].isin(JUDGED),
            SETTLED: is_settled(found, found["n_repeats"] * totals // found["asked_repeats"]),
        }
        found["stopped"] = np.select([*why_to_stop.values()], [*why_to_stop], "")
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
