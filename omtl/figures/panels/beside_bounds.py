"""Parts shared by the panels of theorems: measurements in each repeat, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from omtl.experiment.unit import Result, Unit, setting_of
from omtl.figures.panels.axes import Axes, Played, line_of
from omtl.figures.panels.hindsight import comparator_of
from omtl.theory.comparators import at_checkpoints, hinge_losses

Curves = dict[str, np.ndarray]
"""Curves by label, what was measured first; over the repeats, shape (n_repeats, n)."""


REGRET = ("rounds T", "regret (hinge loss)")
"""The labels of x and y of regrets."""


def curves_of(one: Played, curves: Callable[[Unit, Result, int], Curves]) -> Curves:
    """Return the curves of all repeats, each at the point that was chosen for it.

    Parameters
    ----------
    one : Played
    curves : callable
        ``curves(unit, result, point)`` gives a repeat's curves by label, all of one length.
    """
    repeats = [
        curves(unit, result, p) for unit, (result, p) in zip(one.units, one.at_chosen, strict=True)
    ]
    return {label: np.array([repeat[label] for repeat in repeats]) for label in repeats[0]}


def regrets_of(one: Played, bounds: Callable[[Unit, Mapping[str, Any]], Curves]) -> Curves:
    """Return the regret of a line, and its bounds, in all repeats.

    ``bounds(unit, point)`` gives the bounds at each checkpoint, and under the empty label the loss
    that the regret is against.
    """

    def curves(unit: Unit, result: Result, p: int) -> Curves:
        found = bounds(unit, one.line.experiment.points[p])
        regret = result.arrays["checkpoint_loss"][p] - found.pop("")
        return {f"regret of {one.line.label}": regret, **found}

    return curves_of(one, curves)


def best_in_hindsight(
    unit: Unit, ridges: Sequence[float], bound: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the weights that are best in hindsight, their losses, and the least of the bounds.

    The regret is against the first of the ridges' comparators u, the best fixed weights in
    hindsight (`omtl.theory.comparators.best_fixed`). A bound of the regret against any other fixed
    weights v also bounds it: by bound(v) + loss(v) − loss(u). The least of these is over the path
    of the ridges, and over no weights at all.

    Parameters
    ----------
    unit : Unit
    ridges : sequence of float
    bound : callable
        From weights to the bound on the regret against them at each checkpoint.
    """
    setting = setting_of(unit)
    path = [comparator_of(unit, ridge).weights for ridge in ridges]
    path.append(np.zeros_like(path[0]))
    losses = [at_checkpoints(hinge_losses(setting.tasks, U), setting.stream) for U in path]
    certified = [bound(U) + lost for U, lost in zip(path, losses, strict=True)]
    return path[0], losses[0], np.min(certified, axis=0) - losses[0]


def axes_beside(
    one: Played, x: np.ndarray, found: Curves, labels: tuple[str, str], **more: Any
) -> Axes:
    """Return axes of what was measured, which is the first curve, beside its bounds.

    `labels` are those of x and y; `more` is what else `Axes` takes.
    """
    measured, params = next(iter(found)), (one.most_chosen,)
    lines = tuple(
        line_of(label, x, curves, params=params, is_theory=label != measured)
        for label, curves in found.items()
    )
    return Axes(*labels, lines, x_scale="log", y_scale="log", **more)


def largest_norm(unit: Unit) -> float:
    """Return the largest norm of an example of a unit's data."""
    return math.sqrt(setting_of(unit).source.square_norm.max())


def times_above(what: str, found: Curves) -> tuple[str, ...]:
    """Return in how many repeats the first curve is anywhere above which bound, as text."""
    measured = next(iter(found.values()))
    above = {label: int(np.any(measured > curves, axis=1).sum()) for label, curves in found.items()}
    return tuple(
        f"the {what} above “{label}” in {count} of {len(measured)} repeats"
        for label, count in above.items()
        if count
    )
