"""Regret against the rounds played, beside its bounds (DOM, theorem 4; OSMTL, theorem 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from omtl.experiment.descriptions import Panel
from omtl.experiment.playing import setting_of
from omtl.experiment.unit import Result, Unit
from omtl.figures.panels.axes import Axes, PlayedLine
from omtl.figures.panels.bounds import (
    Curves,
    best_weights_of,
    bound_axes,
    check_points_have,
    largest_norm,
    times_above,
)
from omtl.theory import comparators, dom, osmtl
from omtl.util.errors import UserError

THEOREM4 = "Theorem 4, Δ of Lemma 1"
THEOREM4_EXACT = "Theorem 4, Δ of the network itself"
SUFFERED = "Δ = 0, which bounds the losses suffered"
TIGHTEST = "Δ = 0, comparator that suits the bound best"

THEOREM1 = "Theorem 1"
THEOREM1_TIGHTEST = "Theorem 1, comparator that suits the bound best"

Bounds = dict[str, Callable[[np.ndarray], np.ndarray]]
"""Functions by label, from weights to the bound on the regret against them at each checkpoint."""


def regret_axes(
    one: PlayedLine,
    ridges: Sequence[float],
    bounds: Callable[[Unit, Mapping[str, Any]], Bounds],
    notes: Sequence[str],
    warning: str,
) -> Axes:
    """Return a line's regret beside its bounds.

    The regret is against the first of the ridges' comparators u, the best fixed weights in
    hindsight (`omtl.theory.comparators.best_weights`). A bound of the regret against any other
    fixed weights v also bounds it: by bound(v) + loss(v) − loss(u). The least of these is over the
    path of the ridges, and over no weights at all.

    Parameters
    ----------
    one : PlayedLine
    ridges : sequence of float
    bounds : callable
        ``bounds(unit, point)`` gives the bounds: the last for the least, the others for that of u.
    notes, warning
        Of the theorem; how often the regret is above a bound is noted too.
    """

    def curves(unit: Unit, result: Result, p: int) -> Curves:
        setting = setting_of(unit)
        *others, (tightest, last) = bounds(unit, one.experiment.points[p]).items()
        path = [best_weights_of(unit, ridge) for ridge in ridges]
        path.append(np.zeros_like(path[0]))
        losses = [
            comparators.at_checkpoints(comparators.losses_under(setting.tasks, U), setting.stream)
            for U in path
        ]
        certified = [last(U) + lost for U, lost in zip(path, losses, strict=True)]
        return {
            f"regret of {one.label}": result.arrays["checkpoint_loss"][p] - losses[0],
            **{label: bound(path[0]) for label, bound in others},
            tightest: np.min(certified, axis=0) - losses[0],
        }

    return bound_axes(
        one,
        "rounds T",
        setting_of(one.units[0]).stream.checkpoint,
        curves,
        lambda found: (*notes, *times_above("regret is", found)),
        params=one.most_chosen,
        warning=warning,
    )


# DOM, theorem 4


def regret_bound(one: PlayedLine, panel: Panel) -> Axes:
    """Return the regret against the rounds played, beside what bounds it at the η and b played.

    The last line is the least bound over comparators (`regret_axes`).
    """
    check_points_have(one, "eta", "b")
    unit, point = one.units[0], one.experiment.points[one.chosen[0]]
    eta, b = float(point["eta"]), float(point["b"])
    mixing, rounds = setting_of(unit).mixing, setting_of(unit).stream.checkpoint
    problem, printed = theorem4_constants(unit, b), dom.lemma1(mixing)
    norm = dom.square_norm_B(best_weights_of(unit, panel.ridges[0]), b)
    best = dom.best_eta(float(rounds[-1]), problem, square_norm=norm, delta=0.0)
    notes = (
        f"lemma 1: ε = {printed.smallest_weight:.4g}, Q = {printed.period}, "
        f"θ = {printed.theta:.6g}, β = {printed.beta:.6g}, "
        f"Δ = {dom.delta_of(printed, len(mixing)):.4g}; "
        f"Δ of the network's powers = {dom.exact_delta(mixing):.4g}",
        f"‖u‖²_B = {norm:.4g}, L = {problem.gradient:.4g}, C = {problem.ratio:g}, "
        f"η = {eta:g} was played; with Δ = 0 the bound of all rounds is least at η = {best:.4g}",
    )
    # Equal weights on a grid are not doubly stochastic: nothing is proved there.
    warning = "" if dom.is_doubly_stochastic(mixing) else "assumption 2 fails"
    return regret_axes(one, panel.ridges, theorem4_bounds, notes, warning)


def theorem4_bounds(unit: Unit, point: Mapping[str, Any]) -> Bounds:
    """Return the bounds on a unit's regret against weights at each checkpoint, by label."""
    rounds, mixing = setting_of(unit).stream.checkpoint, setting_of(unit).mixing
    eta, b = float(point["eta"]), float(point["b"])
    problem = theorem4_constants(unit, b)

    def bound(U: np.ndarray, delta: float = 0.0) -> np.ndarray:
        norm = dom.square_norm_B(U, b)
        return dom.theorem4_bound(rounds, problem, square_norm=norm, eta=eta, delta=delta)

    return {
        THEOREM4: partial(bound, delta=dom.delta_of(dom.lemma1(mixing), len(mixing))),
        THEOREM4_EXACT: partial(bound, delta=dom.exact_delta(mixing)),
        SUFFERED: bound,
        TIGHTEST: bound,
    }


def theorem4_constants(unit: Unit, b: float) -> dom.Problem:
    """Return the theorem's m, L and C for a unit played with tasks related by b.

    Raises
    ------
    UserError
        If the network has not one node a task, which the theorem is of.
    """
    n_tasks = len(setting_of(unit).tasks.names)
    if setting_of(unit).n_nodes != n_tasks:
        raise UserError(
            "regret_bound: theorem 4 assumes one node per task; set network.n_nodes=null"
        )
    gradient = dom.gradient_bound(largest_norm(unit), b, n_tasks)
    return dom.Problem(n_tasks, gradient, dom.norm_ratio(b))


# OSMTL, theorem 1


def smoothed_regret(one: PlayedLine, panel: Panel) -> Axes:
    """Return the regret, summed over the tasks, against the rounds played, beside its bounds.

    The last line is the least bound over comparators (`regret_axes`). Corollary 2, which is
    of the last round alone, is a note.
    """
    check_points_have(one, "C", "alpha", "margin")
    unit, point = one.units[0], one.experiment.points[one.chosen[0]]
    C, alpha = rates_of(unit, point)
    notes = [f"C = {C:.4g}, α = {alpha:.4g}, R = {largest_norm(unit):.4g}"]
    if np.allclose((C, alpha), osmtl.corollary2_rates(setting_of(unit).stream.start.size - 1)):
        after = np.mean([corollary2_of(unit, panel.ridges[0]) for unit in one.units])
        notes.append(f"corollary 2 after all rounds: {after:.4g}")
    # Theorem 1 supposes that tasks learn whenever their margin is below 1.
    is_proved = point["margin"] >= 1.0 or point.get("any_task", False)
    warning = "" if is_proved else "nothing is proved"
    return regret_axes(one, panel.ridges, theorem1_bounds, notes, warning)


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

    return {THEOREM1: bound, THEOREM1_TIGHTEST: bound}


def corollary2_of(unit: Unit, ridge: float) -> float:
    """Return corollary 2's bound on a unit's regret after all rounds, summed over the tasks."""
    setting = setting_of(unit)
    stream = setting.stream
    fixed = osmtl.fixed_weights(setting.tasks, stream, best_weights_of(unit, ridge))
    return float(osmtl.corollary2_bound(stream.start.size - 1, fixed, largest_norm(unit)).sum())
