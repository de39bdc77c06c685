"""The selection rules: how a point of a grid is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omtl.experiment.config import choose
from omtl.experiment.unit import Result
from omtl.util.errors import UserError


def costs(results: Sequence[Result], rule: Mapping[str, Any]) -> np.ndarray:
    """Return what each point costs in hindsight: its mistakes over all repeats, shape (n_points,).

    The rule may name the `tasks` whose mistakes count, from 1; a `target` ``worst_task``, so that
    it is the highest error rate of a task that counts; under `least`, an array to be summed in
    place of the mistakes; or, under `most`, one by point and task whose mean is to be the highest
    instead. A point that diverged costs infinitely much.
    """
    if "most" in rule:
        gains = np.array([r.arrays[rule["most"]][:, _tasks(rule)] for r in results])
        return _barred(-np.nanmean(gains, axis=(0, 2)), results)
    mistakes = np.sum([result.arrays[rule.get("least", "mistakes")] for result in results], axis=0)
    return _barred(_aimed(mistakes, results[0].arrays["examples"], rule), results)


def early_costs(result: Result, rule: Mapping[str, Any]) -> np.ndarray:
    """Return what each point costs on the first part of one repeat's stream, shape (n_points,).

    The part ends with the first checkpoint that has the rule's `fraction` of the examples. What
    counts is as in `costs`, but that a point which diverges costs what it did up to there: a score
    that is no number is a mistake, and what comes later is not known yet.
    """
    seen = result.arrays["seen"]
    early = int(np.searchsorted(seen, rule["fraction"] * seen[-1]))
    if _tasks(rule) == slice(None) and rule.get("target", "total") == "total":
        cost = result.arrays[f"checkpoint_{rule.get('least', 'mistakes')}"][:, early]
    else:
        mistakes = result.arrays["checkpoint_by_task"][:, early]
        cost = _aimed(mistakes, result.arrays["seen_by_task"][early], rule)
    return cost


def _tasks(rule: Mapping[str, Any]) -> Any:
    """Return the index of the tasks that count."""
    return [task - 1 for task in rule.get("tasks", [])] or slice(None)


def _aimed(mistakes: np.ndarray, examples: np.ndarray, rule: Mapping[str, Any]) -> np.ndarray:
    """Return a rule's target of mistakes by point and task, and examples by task."""
    tasks = _tasks(rule)
    if rule.get("target", "total") == "worst_task":
        return np.max(mistakes[:, tasks] / np.maximum(examples[tasks], 1), axis=1)
    return np.sum(mistakes[:, tasks], axis=1)


def oracle(
    results: Sequence[Result],
    points: Sequence[Mapping[str, Any]],  # noqa: ARG001
    rule: Mapping[str, Any],
) -> np.ndarray:
    """Choose the first point that costs least over all repeats, in hindsight (`costs`)."""
    return np.full(len(results), int(np.argmin(costs(results, rule))))


def cross_validation(
    results: Sequence[Result],
    points: Sequence[Mapping[str, Any]],  # noqa: ARG001
    rule: Mapping[str, Any],
) -> np.ndarray:
    """Choose for each repeat the point that is best on held-out parts of its training examples.

    Where the rule says ``for: all``, the point that is best over the repeats, for all of them.
    """
    if rule["for"] == "all":
        mean = np.mean([result.arrays["validation"] for result in results], axis=0)
        return np.full(len(results), _fewest(-mean, results))
    return np.array([_fewest(-result.arrays["validation"], [result]) for result in results])


def prefix(
    results: Sequence[Result],
    points: Sequence[Mapping[str, Any]],  # noqa: ARG001
    rule: Mapping[str, Any],
) -> np.ndarray:
    """Choose for each repeat the first point that costs least on the first part of its stream.

    The repeat's number is still of the whole stream, as the published one is.
    """
    return np.array([int(np.argmin(early_costs(result, rule))) for result in results])


def fixed(
    results: Sequence[Result], points: Sequence[Mapping[str, Any]], rule: Mapping[str, Any]
) -> np.ndarray:
    """Choose the point that the rule names."""
    wanted = dict(rule["point"])
    hits = [i for i, point in enumerate(points) if all(point.get(k) == wanted[k] for k in wanted)]
    if len(hits) != 1:
        those = "1 point" if len(points) == 1 else f"{len(points)} points"
        raise UserError(
            f"selection.point={wanted} fits {len(hits)} of the grid's {those}; "
            "name one value of each hyper-parameter"
        )
    return np.full(len(results), hits[0])


def _barred(cost: np.ndarray, results: Sequence[Result]) -> np.ndarray:
    """Return what each point costs, infinitely much where it ever diverged or is no number."""
    diverged = sum(result.arrays["diverged"] for result in results)
    return np.where((diverged > 0) | np.isnan(cost), np.inf, cost)


def _fewest(mistakes: np.ndarray, results: Sequence[Result]) -> int:
    """Return the first point with the fewest mistakes among those that never diverged."""
    return int(np.argmin(_barred(mistakes, results)))


RULES = {
    "oracle": oracle,
    "prefix": prefix,
    "fixed": fixed,
    "cross_validation": cross_validation,
}

LOOKS_AT = {
    "oracle": "mistakes",
    "oracle_auc": "auc",
    "oracle_absolute": "absolute",
    "prefix": "checkpoint_mistakes",
    "prefix_absolute": "checkpoint_absolute",
    "cv5": "validation",
}
"""What rules of the group ``selection`` look at first."""

IN_HINDSIGHT = ("oracle",)
"""Rules that look at the very numbers that they choose for."""

HONEST = "prefix"
"""The rule, in the group ``selection``, that tables chosen in hindsight are also made by."""


HONEST_OF = {"cross_validation": "cv5_each"}
"""For a kind of rule, another option than `HONEST`."""


def is_honest(rule: Mapping[str, Any]) -> bool:
    """Whether a rule chooses without the numbers that it chooses for.

    Cross-validation ``for: all`` repeats does not: the examples that one shuffle trains on are test
    examples of others.
    """
    return rule["rule"] not in IN_HINDSIGHT and rule.get("for") != "all"


def by_repeat(rule: Mapping[str, Any]) -> bool:
    """Whether a rule chooses for each repeat by that repeat alone."""
    return rule["rule"] == "prefix" or rule.get("for") == "each"


def select(
    results: Sequence[Result], points: Sequence[Mapping[str, Any]], rule: Mapping[str, Any]
) -> np.ndarray:
    """Return the chosen point's number for each repeat.

    Parameters
    ----------
    results : sequence of Result
        One a repeat, all with the same grid.
    points : sequence of mapping
        The grid's points.
    rule : mapping
        A config of the group ``selection``.

    Raises
    ------
    UserError
        If the rule is unknown, or needs what the results do not have.
    """
    name = choose("selection rule", rule["rule"], list(RULES))
    try:
        return RULES[name](results, points, rule)
    except KeyError as fault:
        measured = [rule for rule, array in LOOKS_AT.items() if array in results[0].arrays]
        raise UserError(
            f"selection rule {name} needs {fault}, which is not measured here; choose from "
            f"{', '.join(measured) or 'fixed'}"
        ) from fault
