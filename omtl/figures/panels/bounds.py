"""What a theorem bounds beside its bounds: the panel of all figures of theorems.

A theorem's own module says in a `Theorem` what is measured in each repeat, what bounds it, and what
else a reader should know; `bound_axes` makes the axes of it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from omtl.experiment.playing import load_prepared, setting_of
from omtl.experiment.unit import Result, Unit
from omtl.figures.panels.axes import Axes, PlayedLine, Reference, line_of
from omtl.theory import comparators
from omtl.util.errors import UserError
from omtl.util.seeds import generator

Curves = dict[str, np.ndarray]
"""Curves by label, what was measured first; over the repeats, shape (n_repeats, n)."""

Bounds = dict[str, Callable[[np.ndarray], np.ndarray]]
"""Functions by label, from weights to the bound on the regret against them at each checkpoint."""

Solved = TypeVar("Solved")


@dataclass(frozen=True)
class Theorem:
    """What was measured of a line of a panel, and the bounds that a theorem gives.

    Parameters
    ----------
    x_label, y_label : str
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

    x_label: str
    y_label: str
    x: Any
    curves: Callable[[Unit, Result, int], Curves]
    notes: Callable[[Curves], Iterable[str]]
    n_measured: int = 1
    params: str = ""
    references: tuple[Reference, ...] = ()
    warning: str = ""


def bound_axes(one: PlayedLine, theorem: Theorem) -> Axes:
    """Return the axes of what was measured, beside its bounds."""
    repeats = [
        theorem.curves(unit, result, point)
        for unit, (result, point) in zip(one.units, one.at_chosen, strict=True)
    ]
    found = {label: np.array([repeat[label] for repeat in repeats]) for label in repeats[0]}
    lines = []
    for i, (label, curves) in enumerate(found.items()):
        bounded = np.isfinite(curves).all(axis=0)
        if bounded.any():
            is_theory = i >= theorem.n_measured
            x, values = np.asarray(theorem.x)[bounded], curves[:, bounded]
            more: dict[str, Any] = {"params": (theorem.params,), "is_theory": is_theory}
            lines.append(line_of(label, x, values, **more))
    return Axes(
        theorem.x_label,
        theorem.y_label,
        tuple(lines),
        x_scale="log",
        y_scale="log",
        references=theorem.references,
        title=one.line.description.title or one.line.label,
        warning=theorem.warning or one.line.description.warning,
        notes=tuple(theorem.notes(found)),
    )


def check_points_have(one: PlayedLine, *names: str) -> None:
    """Refuse a learner without the hyper-parameters that a theorem reads.

    Raises
    ------
    UserError
        With their names.
    """
    if not set(names) <= set(one.line.experiment.points[0]):
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        raise UserError(f"{one.line.label} has no {listed}, which the theorem needs")


def regret_theorem(
    one: PlayedLine,
    ridges: Sequence[float],
    bounds: Callable[[Unit, Mapping[str, Any]], Bounds],
    notes: Sequence[str],
    warning: str,
) -> Theorem:
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
        *others, (tightest, last) = bounds(unit, one.line.experiment.points[p]).items()
        path = [best_weights_of(unit, ridge) for ridge in ridges]
        path.append(np.zeros_like(path[0]))
        losses = [
            comparators.at_checkpoints(comparators.losses_under(setting.tasks, U), setting.stream)
            for U in path
        ]
        certified = [last(U) + lost for U, lost in zip(path, losses, strict=True)]
        return {
            f"regret of {one.line.label}": result.arrays["checkpoint_loss"][p] - losses[0],
            **{label: bound(path[0]) for label, bound in others},
            tightest: np.min(certified, axis=0) - losses[0],
        }

    return Theorem(
        "rounds T",
        "regret (hinge loss)",
        setting_of(one.units[0]).stream.checkpoint,
        curves,
        lambda found: (*notes, *times_above("regret is", found)),
        params=one.most_chosen,
        warning=warning,
    )


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
