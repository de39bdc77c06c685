"""What a theorem bounds beside its bounds: what these panels share, regret (DOM and OSMTL), and
mistakes on a stream of triplets (OMTRSL).

A theorem says what is measured in each repeat, what bounds it, and what else a reader should know;
`bound_axes` makes the axes of it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from omtl.experiment.descriptions import Panel
from omtl.experiment.loading import load_prepared
from omtl.experiment.playing import setting_of
from omtl.experiment.unit import Result, Unit
from omtl.figures.panels.axes import Axes, PlayedLine, Reference, line_of, rounded
from omtl.protocols.similarity import as_seen, fold_parts, triplet_stream
from omtl.theory import comparators, dom, omtrsl, osmtl
from omtl.util.errors import UserError
from omtl.util.seeds import generator

Curves = dict[str, np.ndarray]
"""Curves by label, what was measured first; over the repeats, shape (n_repeats, n)."""

Solved = TypeVar("Solved")


def bound_axes(
    one: PlayedLine,
    x_label: str,
    x: Any,
    curves: Callable[[Unit, Result, int], Curves],
    notes: Callable[[Curves], Iterable[str]],
    *,
    n_measured: int = 1,
    params: str = "",
    references: tuple[Reference, ...] = (),
    warning: str = "",
) -> Axes:
    """Return the axes of what was measured of a line, beside what a theorem bounds it by.

    Parameters
    ----------
    one : PlayedLine
    x_label : str
    x : array_like
        Where the curves are.
    curves : callable
        ``curves(unit, result, point)`` gives a repeat's `Curves` at the point chosen for it.
    notes : callable
        Gives remarks on the curves of all repeats.
    n_measured : int
        How many of the curves are measured; the others are bounds, shown where they are finite.
    params : str
        The hyper-parameters behind the curves.
    references : tuple of Reference
    warning : str
        Why nothing is proved of the line; empty if the theorem is about it.
    """
    repeats = list(map(curves, one.units, one.results, one.chosen))
    found = {label: np.array([repeat[label] for repeat in repeats]) for label in repeats[0]}
    lines = []
    for i, (label, values) in enumerate(found.items()):
        bounded = np.isfinite(values).all(axis=0)
        if bounded.any():
            shown = np.asarray(x)[bounded], values[:, bounded]
            lines.append(line_of(label, *shown, params=(params,), is_theory=i >= n_measured))
    return Axes(
        x_label,
        tuple(lines),
        x_scale="log",
        y_scale="log",
        references=references,
        title=one.description.title or one.label,
        warning=warning or one.description.warning,
        notes=tuple(notes(found)),
    )


def check_points_have(one: PlayedLine, *names: str) -> None:
    """Refuse a learner without the hyper-parameters that a theorem reads.

    Raises
    ------
    UserError
        With their names.
    """
    if not set(names) <= set(one.experiment.points[0]):
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        raise UserError(f"{one.label} has no {listed}, which the theorem needs")


def times_above(what: str, found: Curves) -> tuple[str, ...]:
    """Return in how many repeats the first curve is anywhere above which bound, as text."""
    measured = next(iter(found.values()))
    return tuple(
        f"the {what} above “{label}” in {count} of {len(measured)} repeats"
        for label, curves in found.items()
        if (count := np.any(measured > curves, axis=1).sum())
    )


def largest_norm(unit: Unit) -> float:
    """Return the largest norm of an example of a unit's data."""
    return math.sqrt(setting_of(unit).source.square_norm.max())


# Weights that are known in hindsight only


def drawn_weights(unit: Unit) -> np.ndarray | None:
    """Return the weights that labelled a unit's synthetic data, or None if it has none to tell."""
    module: Any = unit.dataset.fetcher
    if not unit.dataset.is_synthetic or not hasattr(module, "true_weights"):
        return None
    taken = inspect.signature(module.true_weights).parameters
    options = {name: value for name, value in unit.dataset.options.items() if name in taken}
    rng = generator(unit.seed, of="draw", dataset=unit.dataset.name, draw=unit.draw)
    return module.true_weights(rng, **options)


def best_weights_of(unit: Unit, ridge: float) -> np.ndarray:
    """Return the best fixed weights in hindsight on a unit's data, found once a process."""
    source = load_prepared(unit.dataset, unit.seed, unit.draw)
    return solved((source.sha256, ridge), lambda: comparators.best_weights(source.tasks, ridge))


_SOLVED: dict[Hashable, Any] = {}


def solved(problem: Hashable, solve: Callable[[], Solved]) -> Solved:
    """Return the solution of a problem, found once a process."""
    if problem not in _SOLVED:
        _SOLVED[problem] = solve()
    return _SOLVED[problem]


Bounds = dict[str, Callable[[np.ndarray], np.ndarray]]
"""Functions by label, from weights to the bound on the regret against them at each checkpoint."""


def regret_axes(
    one: PlayedLine,
    bounds: Callable[[Unit, Mapping[str, Any]], Bounds],
    notes: Sequence[str],
    warning: str,
) -> Axes:
    """Return a line's regret beside its bounds.

    The regret is against the first of the ridges' comparators u, the best fixed weights in
    hindsight (`omtl.theory.comparators.best_weights`). A bound of the regret against any other
    fixed weights v also bounds it: by bound(v) + loss(v) − loss(u). The least of these is over the
    path of the panel's ridges, and over no weights at all.

    Parameters
    ----------
    one : PlayedLine
    bounds : callable
        ``bounds(unit, point)`` gives the bounds: the last for the least, the others for that of u.
    notes, warning
        Of the theorem; how often the regret is above a bound is noted too.
    """

    def curves(unit: Unit, result: Result, p: int) -> Curves:
        setting = setting_of(unit)
        *others, (tightest, last) = bounds(unit, one.experiment.points[p]).items()
        path = [best_weights_of(unit, ridge) for ridge in one.panel.ridges]
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


def regret_bound(one: PlayedLine) -> Axes:
    """Return the regret against the rounds played, beside what bounds it at the η and b played.

    The last line is the least bound over comparators (`regret_axes`).
    """
    check_points_have(one, "eta", "b")
    unit, point = one.units[0], one.experiment.points[one.chosen[0]]
    eta, b = float(point["eta"]), float(point["b"])
    mixing, rounds = setting_of(unit).mixing, setting_of(unit).stream.checkpoint
    problem, printed = theorem4_constants(unit, b), dom.lemma1(mixing)
    norm = dom.square_norm_B(best_weights_of(unit, one.panel.ridges[0]), b)
    best = dom.best_eta(float(rounds[-1]), problem, norm)
    notes = (
        f"lemma 1: ε = {printed.smallest_weight:.4g}, Q = 1, "
        f"θ = {printed.theta:.6g}, β = {printed.beta:.6g}, "
        f"Δ = {dom.delta_of(printed, len(mixing)):.4g}; "
        f"Δ of the network's powers = {dom.exact_delta(mixing):.4g}",
        f"‖u‖²_B = {norm:.4g}, L = {problem.gradient:.4g}, C = {dom.NORM_RATIO:g}, "
        f"η = {eta:g} was played; with Δ = 0 the bound of all rounds is least at η = {best:.4g}",
    )
    # Equal weights on a grid are not doubly stochastic: nothing is proved there.
    warning = "" if dom.is_doubly_stochastic(mixing) else "assumption 2 fails"
    return regret_axes(one, theorem4_bounds, notes, warning)


def theorem4_bounds(unit: Unit, point: Mapping[str, Any]) -> Bounds:
    """Return the bounds on a unit's regret against weights at each checkpoint, by label."""
    rounds, mixing = setting_of(unit).stream.checkpoint, setting_of(unit).mixing
    eta, b = float(point["eta"]), float(point["b"])
    problem = theorem4_constants(unit, b)

    def bound(U: np.ndarray, delta: float = 0.0) -> np.ndarray:
        norm = dom.square_norm_B(U, b)
        return dom.theorem4_bound(rounds, problem, square_norm=norm, eta=eta, delta=delta)

    return {
        "Theorem 4, Δ of Lemma 1": partial(
            bound, delta=dom.delta_of(dom.lemma1(mixing), len(mixing))
        ),
        "Theorem 4, Δ of the network itself": partial(bound, delta=dom.exact_delta(mixing)),
        "Δ = 0, which bounds the losses suffered": bound,
        "Δ = 0, comparator that suits the bound best": bound,
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
    return dom.Problem(n_tasks, gradient)


def optimal_b(unit: Unit) -> tuple[list[Reference], tuple[str, ...]]:
    """Return remark 2's b* of a unit's data, and what is to be said of it."""
    weights = {"best in hindsight": best_weights_of(unit, comparators.VANISHING)}
    drawn = drawn_weights(unit)
    if drawn is not None:
        weights["true weights"] = drawn
    references = [
        Reference(float(rounded(dom.b_star(U))[0]), f"b* = {dom.b_star(U):.3g}, {name}")
        for name, U in weights.items()
        if math.isfinite(dom.b_star(U))
    ]
    notes = tuple(
        f"{name}: b* = {dom.b_star(U):.4g} as printed in remark 2; L‖u‖_B is least at "
        f"b = {dom.b_minimiser(U):.4g}"
        for name, U in weights.items()
    )
    return references, notes


# OSMTL, theorem 1


def smoothed_regret(one: PlayedLine) -> Axes:
    """Return the regret, summed over the tasks, against the rounds played, beside its bounds.

    The last line is the least bound over comparators (`regret_axes`). Corollary 2, which is
    of the last round alone, is a note.
    """
    check_points_have(one, "C", "alpha", "margin")
    unit, point = one.units[0], one.experiment.points[one.chosen[0]]
    C, alpha = rates_of(unit, point)
    notes = [f"C = {C:.4g}, α = {alpha:.4g}, R = {largest_norm(unit):.4g}"]
    if np.allclose((C, alpha), osmtl.corollary2_rates(setting_of(unit).stream.start.size - 1)):
        after = np.mean([corollary2_of(unit, one.panel.ridges[0]) for unit in one.units])
        notes.append(f"corollary 2 after all rounds: {after:.4g}")
    # Theorem 1 supposes that tasks learn whenever their margin is below 1.
    is_proved = point["margin"] >= 1.0 or point.get("any_task", False)
    warning = "" if is_proved else "nothing is proved"
    return regret_axes(one, theorem1_bounds, notes, warning)


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

    return {"Theorem 1": bound, "Theorem 1, comparator that suits the bound best": bound}


def corollary2_of(unit: Unit, ridge: float) -> float:
    """Return corollary 2's bound on a unit's regret after all rounds, summed over the tasks."""
    setting = setting_of(unit)
    stream = setting.stream
    fixed = osmtl.fixed_weights(setting.tasks, stream, best_weights_of(unit, ridge))
    return float(osmtl.corollary2_bound(stream.start.size - 1, fixed, largest_norm(unit)).sum())


# OMTRSL, theorems 1 and 2


def mistake_bound(one: PlayedLine) -> Axes:
    """Return the mistakes against the triplets seen, beside bounds at the point that was chosen.

    The matrices that the bounds compare with are `omtl.theory.omtrsl.within_classes` for the
    panel's `ridges`, each at the panel's `scales`, and I; of these, those that make a bound least.
    """
    check_points_have(one, "C", "b")
    points = one.experiment.points

    def curves(unit: Unit, result: Result, p: int) -> Curves:
        made = result.arrays["checkpoint_mistakes"][p]
        bounds = mistake_bounds(unit, points[p], result.arrays["seen"], one.panel)
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
        return {"theorem 2, ‖M − I‖": active.min(axis=0)}
    printed = omtrsl.theorem1(square_norm=norm, times=omtrsl.PRINTED, **known)
    proved = omtrsl.theorem1(square_norm=distance, **known)
    return {
        "theorem 1 as printed": printed.min(axis=0),
        "theorem 1 as proved": proved.min(axis=0),
        "theorem 1 as proved, M = I": proved[-1],
    }
