"""DOM's measured regret against the rounds played, beside its bound (DOM, theorem 4)."""

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
from omtl.theory import comparators, dom
from omtl.util.errors import UserError

THEOREM = "Theorem 4, Δ of Lemma 1"
THEOREM_EXACT = "Theorem 4, Δ of the network itself"
SUFFERED = "Δ = 0, which bounds the losses suffered"
TIGHTEST = "Δ = 0, comparator that suits the bound best"


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the regret against the rounds played, beside what bounds it at the η and b played.

    The regret is against the first of the ridges' comparators, the best fixed weights in hindsight
    (`omtl.theory.comparators.best_fixed`). A bound of the regret against any other fixed weights v
    also bounds it: by bound(v) + loss(v) − loss(u). The best of these over the path of the ridges,
    and over no weights at all, is the last line.
    """
    return [regret_of(one, panel.description.ridges) for one in played]


def regret_of(one: Played, ridges: Sequence[float]) -> Axes:
    """Return the axes of one line's regret (`axes_of`)."""
    points = one.line.experiment.points
    if not {"eta", "b"} <= set(points[0]):
        raise UserError(f"regret_bound: {one.line.label} has no eta and b, which the theorem needs")
    found = regrets_of(one, lambda unit, point: bounds_of(unit, point, ridges))
    unit = one.units[0]
    setting = setting_of(unit)
    rounds = setting.stream.checkpoint
    drawn = {label: curves for label, curves in found.items() if np.all(np.isfinite(curves))}
    mixing = setting.mixing
    point = points[one.chosen[0]]
    played = constants_of(unit, point)
    norm = dom.square_norm_B(comparator_of(unit, ridges[0]).weights, float(point["b"]))
    best = dom.best_eta(
        float(rounds[-1]),
        square_norm=norm,
        gradient=played["gradient"],
        ratio=played["ratio"],
        delta=0.0,
    )
    constants = (
        f"‖u‖²_B = {norm:.4g}, L = {played['gradient']:.4g}, C = {played['ratio']:g}, "
        f"η = {played['eta']:g} was played; with Δ = 0 the bound of all rounds is least at "
        f"η = {best:.4g}"
    )
    proved = dom.is_doubly_stochastic(mixing)
    return axes_beside(
        *(one, rounds, drawn, REGRET),
        title=one.line.description.title,
        # Equal weights on a grid are not doubly stochastic: nothing is proved there.
        warning="" if proved else "assumption 2 fails",
        notes=(network_constants(mixing), constants, *times_above("regret is", found)),
    )


def bounds_of(
    unit: Unit, point: Mapping[str, Any], ridges: Sequence[float]
) -> dict[str, np.ndarray]:
    """Return the bounds on a unit's regret at each checkpoint, by label.

    Under the empty label is the loss of the first ridge's comparator, which the regret is against.
    """
    setting = setting_of(unit)
    stream, mixing = setting.stream, setting.mixing
    constants = constants_of(unit, point)

    def bound(square_norm: float, delta: float) -> np.ndarray:
        return dom.theorem4_bound(
            stream.checkpoint, square_norm=square_norm, delta=delta, **constants
        )

    path = [comparator_of(unit, ridge) for ridge in ridges]
    norms = [dom.square_norm_B(comparator.weights, float(point["b"])) for comparator in path]
    losses = [comparators.at_checkpoints(comparator.losses, stream) for comparator in path]
    certified = [bound(n, 0.0) + lost for n, lost in zip(norms, losses, strict=True)]
    idle = bound(0.0, 0.0) + stream.start[stream.checkpoint]  # no weights: a loss of 1 an example
    printed = dom.delta_of(dom.lemma1(mixing), mixing.shape[0])
    return {
        "": losses[0],
        THEOREM: bound(norms[0], printed),
        THEOREM_EXACT: bound(norms[0], dom.exact_delta(mixing)),
        SUFFERED: bound(norms[0], 0.0),
        TIGHTEST: np.min([*certified, idle], axis=0) - losses[0],
    }


def constants_of(unit: Unit, point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the theorem's η, L, C and m for a unit played at a point of its grid.

    Raises
    ------
    UserError
        If the network has not one node a task, which the theorem is of.
    """
    setting = setting_of(unit)
    n_tasks, b = len(setting.tasks.names), float(point["b"])
    if setting.n_nodes != n_tasks:
        raise UserError(
            "regret_bound: theorem 4 assumes one node per task; set network.n_nodes=null"
        )
    return {
        "eta": float(point["eta"]),
        "gradient": dom.gradient_bound(largest_norm(unit), b, n_tasks),
        "ratio": dom.norm_ratio(b),
        "n_tasks": n_tasks,
    }


def network_constants(mixing: np.ndarray) -> str:
    """Return the constants of a network that the theorem reads, as text."""
    m = mixing.shape[0]
    printed = dom.lemma1(mixing)
    return (
        f"lemma 1: ε = {printed.smallest_weight:.4g}, Q = {printed.period}, "
        f"θ = {printed.theta:.6g}, β = {printed.beta:.6g}, Δ = {dom.delta_of(printed, m):.4g}; "
        f"Δ of the network's powers = {dom.exact_delta(mixing):.4g}"
    )
