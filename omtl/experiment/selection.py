"""The selection rules: how to choose a point of a grid."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from omtl.experiment.config import options
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Result
from omtl.util.errors import UserError
from omtl.util.screen import plural

LATEST = 2.0
"""The first part of a stream may be at most this many times as long as a rule wants it."""


def costs(results: Sequence[Result], rule: SelectionSpec) -> np.ndarray:
    """Return each point's cost in hindsight: its mistakes over all repeats, shape (n_points,).

    The rule may name the `tasks` whose mistakes count, from 1; the `target` ``worst_task``, for the
    highest error rate of a counted task; under `least`, an array to sum instead of the mistakes;
    or, under `most`, an array by point and task whose mean should be highest. Of cross-validation
    it is the mean on held-out parts that should be highest. A point that diverged has infinite
    cost.
    """
    if rule.rule == "cross_validation":
        mean = np.mean([result.arrays["validation"] for result in results], axis=0)
        return _barred(-mean, results)
    if rule.most:
        gains = np.array([r.arrays[rule.most][:, _tasks(rule)] for r in results])
        return _barred(-np.nanmean(gains, axis=(0, 2)), results)
    mistakes = np.sum([result.arrays[rule.least] for result in results], axis=0)
    return _barred(_aimed(mistakes, results[0].arrays["examples"], rule), results)


def early_costs(result: Result, rule: SelectionSpec) -> np.ndarray:
    """Return each point's cost on the first part of one repeat's stream, shape (n_points,).

    The part ends at the first checkpoint with at least the rule's `fraction` of the examples. Costs
    are as in `costs`, except that a point that diverges costs what it did up to there: a score of
    NaN is a mistake, and later scores are not known yet.

    Raises
    ------
    UserError
        If that checkpoint comes after more than `LATEST` times the fraction.
    """
    seen, fraction = result.arrays["seen"], rule.fraction or 1.0
    early = int(np.searchsorted(seen, fraction * seen[-1]))
    if seen[early] > LATEST * fraction * seen[-1] and len(result.arrays["diverged"]) > 1:
        raise UserError(
            f"selection {rule.name} chooses on the first {fraction:.0%} of the "
            f"stream, whose first checkpoint from there on is at {seen[early] / seen[-1]:.0%} of "
            f"its {seen[-1]} examples; play more examples, set protocol.checkpoints higher, or "
            "choose progressively (selection=progressive)"
        )
    return _costs_up_to(result, early, rule)


def looks_at(rule: SelectionSpec) -> str:
    """Return the name of the array that a rule chooses by."""
    if rule.rule == "cross_validation":
        return "validation"
    if rule.rule == "oracle":
        return rule.most or rule.least
    is_by_task = rule.tasks or rule.target == "worst_task"
    return f"checkpoint_{'by_task' if is_by_task else rule.least}"


def _costs_up_to(result: Result, checkpoint: int, rule: SelectionSpec) -> np.ndarray:
    """Return each point's cost up to a checkpoint; infinite if it is NaN."""
    array = looks_at(rule)
    cost = result.arrays[array][:, checkpoint]
    if array == "checkpoint_by_task":
        cost = _aimed(cost, result.arrays["seen_by_task"][checkpoint], rule)
    return np.where(np.isnan(cost), np.inf, cost)


def _tasks(rule: SelectionSpec) -> Any:
    """Return the index of the counted tasks."""
    return [task - 1 for task in rule.tasks] or slice(None)


def _aimed(mistakes: np.ndarray, examples: np.ndarray, rule: SelectionSpec) -> np.ndarray:
    """Return a rule's target of mistakes by point and task, and examples by task."""
    tasks = _tasks(rule)
    if rule.target == "worst_task":
        return np.max(mistakes[:, tasks] / np.maximum(examples[tasks], 1), axis=1)
    return np.sum(mistakes[:, tasks], axis=1)


def costs_on_the_way(result: Result, rule: SelectionSpec) -> np.ndarray:
    """Return each point's cost up to every checkpoint but the last, shape (n_checkpoints - 1, P).

    They are those by which ``progressive`` chooses.
    """
    n = result.arrays["seen"].size - 1
    each = [_costs_up_to(result, checkpoint, rule) for checkpoint in range(n)]
    return np.reshape(each, (n, len(result.arrays["diverged"])))


def path(result: Result, rule: SelectionSpec) -> np.ndarray:
    """Return the point that ``progressive`` plays up to each checkpoint, shape (n_checkpoints,).

    Up to the first checkpoint it is the one in the middle of the grid, then the first with the
    least cost so far.
    """
    middle = len(result.arrays["diverged"]) // 2
    return np.append(middle, np.argmin(costs_on_the_way(result, rule), axis=1))


OF_THE_STREAM = ("diverged", "examples", "seen", "seen_by_task")
"""Arrays that are the same whichever points a path takes, and the divergence of its last point."""


def as_played(result: Result, point: int, rule: SelectionSpec) -> Result:
    """Return a repeat's result as a rule that has chosen a point played it.

    For ``progressive``, the point's row has the sums over the stretches between checkpoints of what
    the path's points made of them. Arrays without values at checkpoints are left out; where there
    are none by task, those of all tasks stand as of a single one.
    """
    if not plays_a_path(rule):
        return result
    taken, given = path(result, rule), result.arrays
    arrays = {name: given[name] for name in OF_THE_STREAM if name in given}
    for name in given:
        if name.startswith("checkpoint_"):  # cumulative counts, losses and errors
            stretches = np.diff(given[name], axis=1, prepend=0)[taken, np.arange(taken.size)]
            arrays[name] = np.array(given[name])
            arrays[name][point] = np.cumsum(stretches, axis=0)
    if "checkpoint_by_task" in arrays:
        arrays["mistakes"] = arrays["checkpoint_by_task"][:, -1]
    else:
        arrays["examples"] = np.array([given["seen"][-1]])
        for name in ("mistakes", "absolute"):
            if f"checkpoint_{name}" in arrays:
                arrays[name] = arrays[f"checkpoint_{name}"][:, -1:]
    return replace(result, arrays=arrays)


def kept_by(rule: SelectionSpec, arrays: Set[str]) -> Set[str]:
    """Return which arrays of these names have the numbers of what a rule played (`as_played`)."""
    if not plays_a_path(rule):
        return arrays
    kept = {name for name in arrays if name in OF_THE_STREAM or name.startswith("checkpoint_")}
    return kept | {name for name in ("mistakes", "absolute") if f"checkpoint_{name}" in kept}


def _barred(cost: np.ndarray, results: Sequence[Result]) -> np.ndarray:
    """Return each point's cost, infinite if it ever diverged or is NaN."""
    diverged = sum(result.arrays["diverged"] for result in results)
    return np.where((diverged > 0) | np.isnan(cost), np.inf, cost)


NO_HINDSIGHT = "prefix"
"""The rule, in the group ``selection``, also applied to tables chosen in hindsight."""


def is_without_hindsight(rule: SelectionSpec) -> bool:
    """Whether a rule chooses without using the numbers for which it chooses, as ``oracle`` does.

    Cross-validation ``chosen_for: all`` repeats does not: training examples of one shuffle are test
    examples of others.
    """
    return rule.rule != "oracle" and rule.chosen_for != "all"


def plays_a_path(rule: SelectionSpec) -> bool:
    """Whether a rule plays several points of the grid in turn (`path`)."""
    return rule.rule == "progressive"


def by_repeat(rule: SelectionSpec) -> bool:
    """Whether a rule's choice for each repeat depends only on that repeat."""
    is_validated = rule.rule == "cross_validation" and rule.chosen_for == "each"
    return rule.rule == "prefix" or plays_a_path(rule) or is_validated


def in_words(rule: SelectionSpec) -> str:
    """Return what a rule chooses, and by what."""
    tasks = f"tasks {', '.join(map(str, rule.tasks))}" if rule.tasks else "all tasks"
    least = {"mistakes": "the fewest mistakes", "absolute": "the smallest sum of absolute errors"}
    best = f"{least.get(rule.least, f'the least {rule.least}')} over {tasks}"
    if rule.target == "worst_task":
        best = f"the lowest error rate of the worst of {tasks}"
    if rule.most:
        best = f"the highest mean {rule.most} over {tasks}"
    each = rule.chosen_for == "each"
    words = {
        "oracle": f"in hindsight, the point with {best}",
        "prefix": f"for each repeat, the point with {best} on the first {rule.fraction or 1:.0%} "
        "of its stream",
        "progressive": f"for each repeat, at each checkpoint the point with {best} so far",
        "fixed": f"the point {', '.join(f'{name}={value}' for name, value in rule.point.items())}",
        "cross_validation": "the best point on held-out parts of the training examples, "
        + ("for each repeat alone" if each else "on average over all repeats"),
    }
    return f"{rule.name}: {words[rule.rule]}"


def select(
    results: Sequence[Result], points: Sequence[Mapping[str, Any]], rule: SelectionSpec
) -> np.ndarray:
    """Return the chosen point's number for each repeat: the first of those with the least cost.

    ``oracle`` takes the cost over all repeats, in hindsight, and so does ``cross_validation`` that
    is ``chosen_for: all``. The others choose for each repeat: ``cross_validation`` by held-out
    parts of its training examples, ``prefix`` by the first part of its stream, though the repeat's
    number covers the whole stream, like the published one. Of ``progressive`` it is the point with
    which the stream ends; its number is that of the whole `path` (`as_played`).

    Parameters
    ----------
    results : sequence of Result
        One per repeat, all with the same grid.
    points : sequence of mapping
        The grid's points.
    rule : SelectionSpec

    Raises
    ------
    UserError
        If the rule needs an array or a task that the results do not have, or names no point.
    """
    if rule.tasks and max(rule.tasks) > (n_tasks := len(results[0].facts["task_names"])):
        raise UserError(
            f"selection {rule.name}: there is no task {max(rule.tasks)}; choose from 1 to {n_tasks}"
        )
    if rule.rule == "fixed":
        return np.full(len(results), _named_point(points, rule.point))
    if looks_at(rule) not in results[0].arrays:
        raise UserError(
            f"selection {rule.name} needs {looks_at(rule)!r}, which is not measured here; choose "
            f"from {', '.join(_measured(results[0].arrays))}"
        )
    if plays_a_path(rule):
        return np.array([path(result, rule)[-1] for result in results])
    if not by_repeat(rule):
        return np.full(len(results), np.argmin(costs(results, rule)))
    if rule.rule == "prefix":
        return np.argmin([early_costs(result, rule) for result in results], axis=1)
    return np.argmin([costs([result], rule) for result in results], axis=1)


def _measured(arrays: Collection[str]) -> Iterator[str]:
    """Yield the names of the rules that choose by one of these arrays, or by none."""
    for name in options("selection"):
        with suppress(UserError):  # another rule's file is wrong
            rule = SelectionSpec.named(name)
            if rule.rule == "fixed" or looks_at(rule) in arrays:
                yield name


def _named_point(points: Sequence[Mapping[str, Any]], wanted: Mapping[str, Any]) -> int:
    """Return the number of the only point that has some values; raise UserError if it is none."""
    hits = [i for i, point in enumerate(points) if all(point.get(k) == wanted[k] for k in wanted)]
    if len(hits) != 1:
        raise UserError(
            f"selection.point={dict(wanted)} fits {len(hits)} of the grid's "
            f"{plural(len(points), 'point')}; name one value of each hyper-parameter"
        )
    return hits[0]
