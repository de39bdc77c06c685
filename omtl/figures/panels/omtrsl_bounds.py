"""Mistakes on a stream of triplets beside their bounds (OMTRSL, theorems 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from omtl.experiment.descriptions import Panel
from omtl.experiment.playing import setting_of
from omtl.experiment.unit import Result, Unit
from omtl.figures.panels.axes import Axes, PlayedLine
from omtl.figures.panels.bounds import (
    Curves,
    bound_axes,
    check_points_have,
    largest_norm,
    times_above,
)
from omtl.protocols.similarity import as_seen, fold_parts, triplet_stream
from omtl.theory import omtrsl
from omtl.util.errors import UserError

PRINTED = "theorem 1 as printed"
PROVED = "theorem 1 as proved"
ACTIVE = "theorem 2, ‖M − I‖"
NO_MATRICES = "theorem 1 as proved, M = I"


def mistake_bound(one: PlayedLine, panel: Panel) -> Axes:
    """Return the mistakes against the triplets seen, beside bounds at the point that was chosen.

    The matrices that the bounds compare with are `omtl.theory.omtrsl.within_classes` for the
    panel's `ridges`, each at the panel's `scales`, and I; of these, those that make a bound least.
    """
    check_points_have(one, "C", "b")
    points = one.experiment.points

    def curves(unit: Unit, result: Result, p: int) -> Curves:
        made = result.arrays["checkpoint_mistakes"][p]
        bounds = mistake_bounds(unit, points[p], result.arrays["seen"], panel)
        return {f"mistakes of {one.label}": made, **bounds}

    return bound_axes(
        one,
        "triplets",
        one.results[0].arrays["seen"],
        curves,
        lambda found: times_above("mistakes are", found),
        params=one.most_chosen,
    )


def mistake_bounds(unit: Unit, point: Mapping[str, Any], seen: np.ndarray, panel: Panel) -> Curves:
    """Return the bounds on a unit's mistakes at each checkpoint, by label."""
    C, b, setting = float(point["C"]), float(point["b"]), setting_of(unit)
    examples, rows = as_seen(setting, pooled=False), fold_parts(setting).train
    if not isinstance(examples.X, np.ndarray):
        raise UserError("mistake_bound: the fixed matrices to compare with need dense rows")
    one, n_tasks = np.eye(examples.X.shape[1]), len(examples.names)
    train = (examples.X[rows], examples.label[rows], examples.task[rows])
    fixed = [
        (omtrsl.within_classes(*train, n_tasks, ridge), panel.scales) for ridge in panel.ridges
    ]
    fixed.append((np.repeat(one[None], n_tasks, axis=0), (1.0,)))
    norms, distances, losses = [], [], []  # ‖M‖²_A, ‖M − I‖²_A, and losses up to each checkpoint
    for M, factors in fixed:
        margin = omtrsl.triplet_margins(M, examples.X, triplet_stream(examples, rows, setting))
        for factor in factors:
            norms.append(omtrsl.square_norm_A(factor * M, b))
            distances.append(omtrsl.square_norm_A(factor * M, b, one))
            losses.append(np.cumsum(np.maximum(0.0, 1.0 - factor * margin))[seen - 1])
    norm, distance = np.array([norms, distances])[:, :, None]
    steep = omtrsl.steepness(largest_norm(unit), b, n_tasks, bool(point["plain_step"]))
    known: dict[str, Any] = {"losses": np.array(losses), "steep": steep, "C": C}
    if "delta" in point:
        active = omtrsl.theorem2(square_norm=distance, delta=float(point["delta"]), **known)
        return {ACTIVE: active.min(axis=0)}
    printed = omtrsl.theorem1(square_norm=norm, times=omtrsl.PRINTED, **known)
    proved = omtrsl.theorem1(square_norm=distance, **known)
    return {PRINTED: printed.min(axis=0), PROVED: proved.min(axis=0), NO_MATRICES: proved[-1]}
