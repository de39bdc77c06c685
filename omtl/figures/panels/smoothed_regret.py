"""OSMTL's measured regret against the rounds played, beside its bound (OSMTL, theorem 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omtl.experiment.unit import Unit, setting_of
from omtl.figures.panels.axes import Axes, PlannedPanel, Played
from omtl.figures.panels.beside_bounds import (
    REGRET,
    axes_beside,
    largest_norm,
    regrets_of,
    times_above,
)
from omtl.figures.panels.hindsight import comparator_of
from omtl.theory import comparators, osmtl
from omtl.util.errors import UserError

THEOREM = "Theorem 1"
TIGHTEST = "Theorem 1, comparator that suits the bound best"


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the regret, summed over the tasks, against the rounds played, beside its bounds.

    The regret is against the first of the ridges' comparators, the best fixed weights in hindsight
    (`omtl.theory.comparators.best_fixed`). A bound of the regret against any other fixed weights v
    also bounds it: by bound(v) + loss(v) − loss(u). The best of these over the path of the ridges,
    and over no weights at all, is the last line. Corollary 2, which is of the last round alone, is
    a note.
    """
    return [regret_of(one, panel.description.ridges) for one in played]


def regret_of(one: Played, ridges: Sequence[float]) -> Axes:
    """Return the axes of one line's regret (`axes_of`)."""
    points = one.line.experiment.points
    if not {"C", "alpha", "margin"} <= set(points[0]):
        raise UserError(f"smoothed_regret: {one.line.label} has no C, alpha and margin")
    found = regrets_of(one, lambda unit, point: bounds_of(unit, point, ridges))
    unit, point = one.units[0], points[one.chosen[0]]
    rounds = setting_of(unit).stream.checkpoint
    C, alpha = rates_of(unit, point)
    notes = [f"C = {C:.4g}, α = {alpha:.4g}, R = {largest_norm(unit):.4g}"]
    if np.allclose((C, alpha), osmtl.corollary2_rates(setting_of(unit).stream.start.size - 1)):
        after = np.mean([corollary_of(unit, ridges[0]) for unit in one.units])
        notes.append(f"corollary 2 after all rounds: {after:.4g}")
    return axes_beside(
        *(one, rounds, found, REGRET),
        title=one.line.description.title,
        warning="" if is_proved(point) else "nothing is proved",
        notes=(*notes, *times_above("regret is", found)),
    )


def is_proved(point: Mapping[str, Any]) -> bool:
    """Return whether tasks learn whenever their margin is below 1, as theorem 1 supposes."""
    return point["margin"] >= 1.0 or bool(point.get("any_task", False))


def rates_of(unit: Unit, point: Mapping[str, Any]) -> tuple[float, float]:
    """Return C and α that a unit was played with."""
    C, alpha = float(point["C"]), float(point["alpha"])
    if point.get("by_horizon", False):
        theirs = osmtl.corollary2_rates(setting_of(unit).stream.start.size - 1)
        return C * theirs[0], alpha * theirs[1]
    return C, alpha


def bounds_of(
    unit: Unit, point: Mapping[str, Any], ridges: Sequence[float]
) -> dict[str, np.ndarray]:
    """Return the bounds on a unit's regret, summed over the tasks, by label.

    Under the empty label is the loss of the first ridge's comparator, which the regret is against.
    """
    setting = setting_of(unit)
    stream, tasks = setting.stream, setting.tasks
    C, alpha = rates_of(unit, point)
    path = [comparator_of(unit, ridge).weights for ridge in ridges]
    nothing = np.zeros_like(path[0])
    bounds, losses = [], []
    largest = largest_norm(unit)
    for U in (*path, nothing):
        fixed = osmtl.fixed_losses(tasks, stream, U)
        bound = osmtl.theorem1_bound(
            stream.checkpoint,
            square_norm=np.sum(U**2, axis=1),
            fixed=fixed,
            C=C,
            alpha=alpha,
            largest_norm=largest,
        )
        bounds.append(bound.sum(axis=0))
        losses.append(comparators.at_checkpoints(comparators.hinge_losses(tasks, U), stream))
    certified = [bound + lost for bound, lost in zip(bounds, losses, strict=True)]
    return {"": losses[0], THEOREM: bounds[0], TIGHTEST: np.min(certified, axis=0) - losses[0]}


def corollary_of(unit: Unit, ridge: float) -> float:
    """Return corollary 2's bound on a unit's regret after all rounds, summed over the tasks."""
    setting = setting_of(unit)
    stream = setting.stream
    U = comparator_of(unit, ridge).weights
    bound = osmtl.corollary2_bound(
        stream.start.size - 1,
        square_norm=np.sum(U**2, axis=1),
        fixed=osmtl.fixed_losses(setting.tasks, stream, U),
        largest_norm=largest_norm(unit),
    )
    return float(bound.sum())
