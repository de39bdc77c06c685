"""OSMTL's measured regret against the rounds played, beside its bound (OSMTL, theorem 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from omtl.experiment.descriptions import Panel
from omtl.experiment.playing import setting_of
from omtl.experiment.unit import Unit
from omtl.figures.panels.axes import PlayedLine
from omtl.figures.panels.bounds import (
    Bounds,
    Theorem,
    best_weights_of,
    check_points_have,
    largest_norm,
    regret_theorem,
)
from omtl.theory import osmtl

THEOREM = "Theorem 1"
TIGHTEST = "Theorem 1, comparator that suits the bound best"


def smoothed_regret(one: PlayedLine, panel: Panel) -> Theorem:
    """Return the regret, summed over the tasks, against the rounds played, beside its bounds.

    The last line is the least bound over comparators (`regret_theorem`). Corollary 2, which is
    of the last round alone, is a note.
    """
    check_points_have(one, "C", "alpha", "margin")
    unit, point = one.units[0], one.line.experiment.points[one.chosen[0]]
    C, alpha = rates_of(unit, point)
    notes = [f"C = {C:.4g}, α = {alpha:.4g}, R = {largest_norm(unit):.4g}"]
    if np.allclose((C, alpha), osmtl.corollary2_rates(setting_of(unit).stream.start.size - 1)):
        after = np.mean([corollary2_of(unit, panel.ridges[0]) for unit in one.units])
        notes.append(f"corollary 2 after all rounds: {after:.4g}")
    # Theorem 1 supposes that tasks learn whenever their margin is below 1.
    is_proved = point["margin"] >= 1.0 or point.get("any_task", False)
    warning = "" if is_proved else "nothing is proved"
    return regret_theorem(one, panel.ridges, theorem1_bounds, notes, warning)


def rates_of(unit: Unit, point: Mapping[str, Any]) -> tuple[float, float]:
    """Return C and α that a unit was played with."""
    C, alpha = float(point["C"]), float(point["alpha"])
    if point.get("by_horizon", False):
        theirs = osmtl.corollary2_rates(setting_of(unit).stream.start.size - 1)
        return C * theirs[0], alpha * theirs[1]
    return C, alpha


def theorem1_bounds(unit: Unit, point: Mapping[str, Any]) -> Bounds:
    """Return the bounds on a unit's regret against weights, summed over the tasks, by label."""
    setting = setting_of(unit)
    C, alpha = rates_of(unit, point)
    known = {"C": C, "alpha": alpha, "largest_norm": largest_norm(unit)}

    def bound(U: np.ndarray) -> np.ndarray:
        fixed = osmtl.fixed_weights(setting.tasks, setting.stream, U)
        return osmtl.theorem1_bound(setting.stream.checkpoint, fixed, **known).sum(axis=0)

    return {THEOREM: bound, TIGHTEST: bound}


def corollary2_of(unit: Unit, ridge: float) -> float:
    """Return corollary 2's bound on a unit's regret after all rounds, summed over the tasks."""
    setting = setting_of(unit)
    stream = setting.stream
    fixed = osmtl.fixed_weights(setting.tasks, stream, best_weights_of(unit, ridge))
    return float(osmtl.corollary2_bound(stream.start.size - 1, fixed, largest_norm(unit)).sum())
