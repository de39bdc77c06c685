"""Mistakes on a stream of triplets beside their bounds (OMTRSL, theorems 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from omtl.experiment.descriptions import Panel
from omtl.experiment.unit import Result, Unit, setting_of
from omtl.figures.panels.axes import Axes, PlannedPanel, Played
from omtl.figures.panels.beside_bounds import (
    Curves,
    axes_beside,
    curves_of,
    largest_norm,
    times_above,
)
from omtl.protocols.similarity import as_seen, parts_of
from omtl.protocols.similarity_training import stream_of
from omtl.theory import omtrsl
from omtl.util.errors import UserError

PRINTED = "theorem 1 as printed"
PROVED = "theorem 1 as proved"
ACTIVE = "theorem 2, ‖M − I‖"
NO_MATRICES = "theorem 1 as proved, M = I"


class Comparator(NamedTuple):
    """Fixed matrices: ‖M‖²_A, ‖M − I‖²_A, and their losses up to each checkpoint."""

    square_norm: float
    square_distance: float
    losses: np.ndarray


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the mistakes against the triplets seen, beside bounds at the point that was chosen.

    The matrices that the bounds compare with are `omtl.theory.omtrsl.within_classes` for the
    panel's `ridges`, each at the panel's `scales`, and I; of these, those that make a bound least.
    """
    return [_axes(one, panel.description) for one in played]


def _axes(one: Played, panel: Panel) -> Axes:
    points = one.line.experiment.points
    if not {"C", "b"} <= set(points[0]):
        raise UserError(f"mistake_bound: {one.line.label} has no C and b, which the theorems need")

    def curves(unit: Unit, result: Result, p: int) -> Curves:
        made = result.arrays["checkpoint_mistakes"][p]
        bounds = bounds_of(unit, points[p], result.arrays["seen"], panel)
        return {f"mistakes of {one.line.label}": made, **bounds}

    found, seen = curves_of(one, curves), one.results[0].arrays["seen"]
    notes = times_above("mistakes are", found)
    labels = ("triplets", "mistakes")
    return axes_beside(one, seen, found, labels, title=one.line.label, notes=notes)


def bounds_of(unit: Unit, point: Mapping[str, Any], seen: np.ndarray, panel: Panel) -> Curves:
    """Return the bounds on a unit's mistakes at each checkpoint, by label."""
    C, b = float(point["C"]), float(point["b"])
    n_tasks = len(setting_of(unit).tasks.names)
    steep = omtrsl.steepness(largest_norm(unit), b, n_tasks, bool(point["plain_step"]))
    path = comparators(unit, b, seen, panel)

    def bounds(theorem: Callable, norm: str, **more: float) -> list[np.ndarray]:
        known = {"steep": steep, "C": C} | more
        return [theorem(c.losses, square_norm=getattr(c, norm), **known) for c in path]

    if "delta" in point:
        active = bounds(omtrsl.theorem2, "square_distance", delta=float(point["delta"]))
        return {ACTIVE: np.min(active, axis=0)}
    printed = bounds(omtrsl.theorem1, "square_norm", times=omtrsl.PRINTED)
    proved = bounds(omtrsl.theorem1, "square_distance")
    return {
        PRINTED: np.min(printed, axis=0),
        PROVED: np.min(proved, axis=0),
        NO_MATRICES: proved[-1],
    }


def comparators(unit: Unit, b: float, seen: np.ndarray, panel: Panel) -> list[Comparator]:
    """Return the fixed matrices that a unit is compared with; the last are I."""
    setting = setting_of(unit)
    examples, rows = as_seen(setting, pooled=False), parts_of(setting).train
    if not isinstance(examples.X, np.ndarray):
        raise UserError("mistake_bound: the fixed matrices to compare with need dense rows")
    one, n_tasks = np.eye(examples.X.shape[1]), len(examples.names)
    train = (examples.X[rows], examples.label[rows], examples.task[rows])
    candidates = [
        (omtrsl.within_classes(*train, n_tasks, ridge), panel.scales) for ridge in panel.ridges
    ]
    candidates.append((np.repeat(one[None], n_tasks, axis=0), (1.0,)))
    found = []
    for M, factors in candidates:
        margin = omtrsl.margins(M, examples.X, stream_of(examples, rows, setting))
        for factor in factors:
            losses = np.cumsum(np.maximum(0.0, 1.0 - factor * margin))[seen - 1]
            norm, away = (omtrsl.square_norm_A(factor * M, b, start) for start in (None, one))
            found.append(Comparator(norm, away, losses))
    return found
