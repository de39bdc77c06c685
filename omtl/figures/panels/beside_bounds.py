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

Bounds = dict[str, Callable[[np.ndarray], np.ndarray]]
"""Functions by label, from weights to the bound on the regret against them at each checkpoint."""


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


def regret_beside(
    one: Played,
    ridges: Sequence[float],
    bounds: Callable[[Unit, Mapping[str, Any]], Bounds],
    notes: Sequence[str],
    warning: str,
) -> Axes:
    """Return axes of a line's regret beside its bounds.

    The regret is against the first of the ridges' comparators u, the best fixed weights in
    hindsight (`omtl.theory.comparators.best_fixed`). A bound of the regret against any other fixed
    weights v also bounds it: by bound(v) + loss(v) − loss(u). The least of these is over the path
    of the ridges, and over no weights at all.

    Parameters
    ----------
    one : Played
    ridges : sequence of float
    bounds : callable
        ``bounds(unit, point)`` gives the bounds: the last for the least, the others for that of u.
    notes, warning
        Of the axes.
    """

    def curves(unit: Unit, result: Result, p: int) -> Curves:
        setting = setting_of(unit)
        *others, (tightest, last) = bounds(unit, one.line.experiment.points[p]).items()
        path = [comparator_of(unit, ridge).weights for ridge in ridges]
        path.append(np.zeros_like(path[0]))
        losses = [at_checkpoints(hinge_losses(setting.tasks, U), setting.stream) for U in path]
        certified = [last(U) + lost for U, lost in zip(path, losses, strict=True)]
        return {
            f"regret of {one.line.label}": result.arrays["checkpoint_loss"][p] - losses[0],
            **{label: bound(path[0]) for label, bound in others},
            tightest: np.min(certified, axis=0) - losses[0],
        }

    found, rounds = curves_of(one, curves), setting_of(one.units[0]).stream.checkpoint
    return axes_beside(
        one,
        rounds,
        found,
        ("rounds T", "regret (hinge loss)"),
        title=one.line.description.title,
        warning=warning,
        notes=(*notes, *times_above("regret is", found)),
    )


def axes_beside(
    one: Played, x: np.ndarray, found: Curves, labels: tuple[str, str], **more: Any
) -> Axes:
    """Return axes of what was measured, which is the first curve, beside its finite bounds.

    `labels` are those of x and y; `more` is what else `Axes` takes.
    """
    measured, params = next(iter(found)), (one.most_chosen,)
    lines = tuple(
        line_of(label, x, curves, params=params, is_theory=label != measured)
        for label, curves in found.items()
        if np.all(np.isfinite(curves))
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
