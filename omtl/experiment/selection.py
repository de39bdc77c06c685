"""The selection rules: how to choose a point of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omtl.experiment.schema import choose
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Result
from omtl.util.errors import UserError


def costs(results: Sequence[Result], rule: SelectionSpec) -> np.ndarray:
    """Return each point's cost in hindsight: its mistakes over all repeats, shape (n_points,).

    The rule may name the `tasks` whose mistakes count, from 1; the `target` ``worst_task``, for the
    highest error rate of a counted task; under `least`, an array to sum instead of the mistakes;
    or, under `most`, an array by point and task whose mean should be highest. A point that diverged
    has infinite cost.
    """
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
    """
    seen = result.arrays["seen"]
    early = int(np.searchsorted(seen, (rule.fraction or 1.0) * seen[-1]))
    if _tasks(rule) == slice(None) and rule.target == "total":
        return result.arrays[f"checkpoint_{rule.least}"][:, early]
    mistakes = result.arrays["checkpoint_by_task"][:, early]
    return _aimed(mistakes, result.arrays["seen_by_task"][early], rule)


def _tasks(rule: SelectionSpec) -> Any:
    """Return the index of the counted tasks."""
    return [task - 1 for task in rule.tasks] or slice(None)


def _aimed(mistakes: np.ndarray, examples: np.ndarray, rule: SelectionSpec) -> np.ndarray:
    """Return a rule's target of mistakes by point and task, and examples by task."""
    tasks = _tasks(rule)
    if rule.target == "worst_task":
        return np.max(mistakes[:, tasks] / np.maximum(examples[tasks], 1), axis=1)
    return np.sum(mistakes[:, tasks], axis=1)


def oracle(
    results: Sequence[Result],
    points: Sequence[Mapping[str, Any]],  # noqa: ARG001
    rule: SelectionSpec,
) -> np.ndarray:
    """Choose the first point with the least cost over all repeats, in hindsight (`costs`)."""
    return np.full(len(results), np.argmin(costs(results, rule)))


def cross_validation(
    results: Sequence[Result],
    points: Sequence[Mapping[str, Any]],  # noqa: ARG001
    rule: SelectionSpec,
) -> np.ndarray:
    """For each repeat, choose the point that is best on held-out parts of its training examples.

    With ``chosen_for: all`` it is the point that is best over all repeats, for all of them.
    """
    if rule.chosen_for == "all":
        mean = np.mean([result.arrays["validation"] for result in results], axis=0)
        return np.full(len(results), np.argmin(_barred(-mean, results)))
    each = [_barred(-result.arrays["validation"], [result]) for result in results]
    return np.argmin(each, axis=1)


def prefix(
    results: Sequence[Result],
    points: Sequence[Mapping[str, Any]],  # noqa: ARG001
    rule: SelectionSpec,
) -> np.ndarray:
    """For each repeat, choose the first point with the least cost on the first part of its stream.

    The repeat's number still covers the whole stream, like the published one.
    """
    return np.argmin([early_costs(result, rule) for result in results], axis=1)


def fixed(
    results: Sequence[Result], points: Sequence[Mapping[str, Any]], rule: SelectionSpec
) -> np.ndarray:
    """Choose the point named by the rule."""
    wanted = dict(rule.point)
    hits = [i for i, point in enumerate(points) if all(point.get(k) == wanted[k] for k in wanted)]
    if len(hits) != 1:
        those = "1 point" if len(points) == 1 else f"{len(points)} points"
        raise UserError(
            f"selection.point={wanted} fits {len(hits)} of the grid's {those}; "
            "name one value of each hyper-parameter"
        )
    return np.full(len(results), hits[0])


def _barred(cost: np.ndarray, results: Sequence[Result]) -> np.ndarray:
    """Return each point's cost, infinite if it ever diverged or is NaN."""
    diverged = sum(result.arrays["diverged"] for result in results)
    return np.where((diverged > 0) | np.isnan(cost), np.inf, cost)


RULES = {rule.__name__: rule for rule in (oracle, prefix, fixed, cross_validation)}

LOOKS_AT = {
    "oracle": "mistakes",
    "oracle_auc": "auc",
    "oracle_absolute": "absolute",
    "prefix": "checkpoint_mistakes",
    "prefix_absolute": "checkpoint_absolute",
    "cv5": "validation",
}
"""The first array that each rule of the group ``selection`` uses."""

IN_HINDSIGHT = ("oracle",)
"""Rules that use the same numbers for which they choose."""

HONEST = "prefix"
"""The rule, in the group ``selection``, also applied to tables chosen in hindsight."""


HONEST_OF = {"cross_validation": "cv5_each"}
"""The honest option for some kinds of rule, instead of `HONEST`."""


def is_honest(rule: SelectionSpec) -> bool:
    """Whether a rule chooses without using the numbers for which it chooses.

    Cross-validation ``chosen_for: all`` repeats does not: training examples of one shuffle are test
    examples of others.
    """
    return rule.rule not in IN_HINDSIGHT and rule.chosen_for != "all"


def by_repeat(rule: SelectionSpec) -> bool:
    """Whether a rule's choice for each repeat depends only on that repeat."""
    return rule.rule == "prefix" or (rule.rule == "cross_validation" and rule.chosen_for == "each")


def select(
    results: Sequence[Result], points: Sequence[Mapping[str, Any]], rule: SelectionSpec
) -> np.ndarray:
    """Return the chosen point's number for each repeat.

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
        If the rule is unknown, or needs an array that the results do not have.
    """
    name = choose("selection rule", rule.rule, list(RULES))
    try:
        return RULES[name](results, points, rule)
    except KeyError as fault:
        measured = [rule for rule, array in LOOKS_AT.items() if array in results[0].arrays]
        raise UserError(
            f"selection rule {name} needs {fault}, which is not measured here; choose from "
            f"{', '.join(measured) or 'fixed'}"
        ) from fault
