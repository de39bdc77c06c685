"""DOM's measured regret against the rounds played, beside its bound (DOM, theorem 4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
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
from omtl.theory import dom
from omtl.util.errors import UserError

THEOREM = "Theorem 4, Δ of Lemma 1"
THEOREM_EXACT = "Theorem 4, Δ of the network itself"
SUFFERED = "Δ = 0, which bounds the losses suffered"
TIGHTEST = "Δ = 0, comparator that suits the bound best"


def regret_bound(one: PlayedLine, panel: Panel) -> Theorem:
    """Return the regret against the rounds played, beside what bounds it at the η and b played.

    The last line is the least bound over comparators (`regret_theorem`).
    """
    check_points_have(one, "eta", "b")
    unit, point = one.units[0], one.line.experiment.points[one.chosen[0]]
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
    return regret_theorem(one, panel.ridges, theorem4_bounds, notes, warning)


def theorem4_bounds(unit: Unit, point: Mapping[str, Any]) -> Bounds:
    """Return the bounds on a unit's regret against weights at each checkpoint, by label."""
    rounds, mixing = setting_of(unit).stream.checkpoint, setting_of(unit).mixing
    eta, b = float(point["eta"]), float(point["b"])
    problem = theorem4_constants(unit, b)

    def bound(U: np.ndarray, delta: float = 0.0) -> np.ndarray:
        norm = dom.square_norm_B(U, b)
        return dom.theorem4_bound(rounds, problem, square_norm=norm, eta=eta, delta=delta)

    return {
        THEOREM: partial(bound, delta=dom.delta_of(dom.lemma1(mixing), len(mixing))),
        THEOREM_EXACT: partial(bound, delta=dom.exact_delta(mixing)),
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
