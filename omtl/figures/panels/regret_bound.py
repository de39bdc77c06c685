"""DOM's measured regret against the rounds played, beside its bound (DOM, theorem 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from omtl.experiment.unit import Unit, setting_of
from omtl.figures.panels.axes import Axes, PlannedPanel, Played
from omtl.figures.panels.beside_bounds import Bounds, largest_norm, regret_beside
from omtl.figures.panels.hindsight import comparator_of
from omtl.theory import dom
from omtl.util.errors import UserError

THEOREM = "Theorem 4, Δ of Lemma 1"
THEOREM_EXACT = "Theorem 4, Δ of the network itself"
SUFFERED = "Δ = 0, which bounds the losses suffered"
TIGHTEST = "Δ = 0, comparator that suits the bound best"


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the regret against the rounds played, beside what bounds it at the η and b played.

    The last line is the least bound over comparators (`regret_beside`).
    """
    return [regret_of(one, panel.description.ridges) for one in played]


def regret_of(one: Played, ridges: Sequence[float]) -> Axes:
    """Return the axes of one line's regret (`axes_of`)."""
    points = one.line.experiment.points
    if not {"eta", "b"} <= set(points[0]):
        raise UserError(f"regret_bound: {one.line.label} has no eta and b, which the theorem needs")
    unit, point = one.units[0], points[one.chosen[0]]
    eta, b = float(point["eta"]), float(point["b"])
    stream, mixing = setting_of(unit).stream, setting_of(unit).mixing
    problem = problem_of(unit, b)
    norm = dom.square_norm_B(comparator_of(unit, ridges[0]).weights, b)
    best = dom.best_eta(float(stream.checkpoint[-1]), problem, square_norm=norm, delta=0.0)
    constants = (
        f"‖u‖²_B = {norm:.4g}, L = {problem.gradient:.4g}, C = {problem.ratio:g}, "
        f"η = {eta:g} was played; with Δ = 0 the bound of all rounds is least at η = {best:.4g}"
    )
    # Equal weights on a grid are not doubly stochastic: nothing is proved there.
    warning = "" if dom.is_doubly_stochastic(mixing) else "assumption 2 fails"
    return regret_beside(one, ridges, bounds_of, (network_constants(mixing), constants), warning)


def bounds_of(unit: Unit, point: Mapping[str, Any]) -> Bounds:
    """Return the bounds on a unit's regret against weights at each checkpoint, by label."""
    setting = setting_of(unit)
    rounds, mixing = setting.stream.checkpoint, setting.mixing
    eta, b = float(point["eta"]), float(point["b"])
    problem = problem_of(unit, b)

    def bound(U: np.ndarray, delta: float = 0.0) -> np.ndarray:
        norm = dom.square_norm_B(U, b)
        return dom.theorem4_bound(rounds, problem, square_norm=norm, eta=eta, delta=delta)

    return {
        THEOREM: partial(bound, delta=dom.delta_of(dom.lemma1(mixing), mixing.shape[0])),
        THEOREM_EXACT: partial(bound, delta=dom.exact_delta(mixing)),
        SUFFERED: bound,
        TIGHTEST: bound,
    }


def problem_of(unit: Unit, b: float) -> dom.Problem:
    """Return the theorem's m, L and C for a unit played with tasks related by b.

    Raises
    ------
    UserError
        If the network has not one node a task, which the theorem is of.
    """
    setting = setting_of(unit)
    n_tasks = len(setting.tasks.names)
    if setting.n_nodes != n_tasks:
        raise UserError(
            "regret_bound: theorem 4 assumes one node per task; set network.n_nodes=null"
        )
    gradient = dom.gradient_bound(largest_norm(unit), b, n_tasks)
    return dom.Problem(n_tasks, gradient, dom.norm_ratio(b))


def network_constants(mixing: np.ndarray) -> str:
    """Return the constants of a network that the theorem reads, as text."""
    m = mixing.shape[0]
    printed = dom.lemma1(mixing)
    return (
        f"lemma 1: ε = {printed.smallest_weight:.4g}, Q = {printed.period}, "
        f"θ = {printed.theta:.6g}, β = {printed.beta:.6g}, Δ = {dom.delta_of(printed, m):.4g}; "
        f"Δ of the network's powers = {dom.exact_delta(mixing):.4g}"
    )
