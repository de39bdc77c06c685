"""What a theorem bounds beside its bounds: the panel of all figures of theorems.

A theorem's own module says what is measured in each repeat, what bounds it, and what else a reader
should know; `bound_axes` makes the axes of it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Iterable
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
    repeats = [
        curves(unit, result, point)
        for unit, (result, point) in zip(one.units, one.at_chosen, strict=True)
    ]
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
