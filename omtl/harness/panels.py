"""The kinds of panels of a figure: each makes its numbers from finished units, and runs no learner.

A kind takes a panel's plan with what the store holds for its lines, and returns `Axes`: lines,
vertical references and published marks, rounded as they are written. How they look is not decided
here (`omtl.harness.figure`).
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from data_fetchers.fetch import DataMissing
from omtl import theory
from omtl.errors import UserError
from omtl.harness.plan import Experiment
from omtl.harness.selection import select
from omtl.harness.unit import (
    Result,
    Unit,
    is_synthetic,
    load_fed,
    mixing_of,
    module_of,
    n_nodes_of,
    stream_of,
)
from omtl.metrics import METRICS
from omtl.seeds import generator

DIGITS = 6
"""Significant digits of all numbers that are drawn and written."""

ROUNDING = 1e-9
"""A deviation below this part of its mean is that of rounded sums, and counts as 0."""


@dataclass(frozen=True)
class PlannedLine:
    """A line of a panel: its description and the experiment behind it."""

    description: dict[str, Any]
    experiment: Experiment = field(repr=False)

    @property
    def label(self) -> str:
        """What the line is called."""
        return self.description.get("label") or self.experiment.algorithm["label"]


@dataclass(frozen=True)
class PlannedPanel:
    """A panel: its description and its lines.

    Parameters
    ----------
    published : dict of str to float
        Published final values by the line's ``published`` name.
    """

    description: dict[str, Any]
    lines: tuple[PlannedLine, ...]
    published: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Played:
    """A planned line with what the store holds for it.

    Parameters
    ----------
    line : PlannedLine
    units : list of Unit
        One a repeat.
    results : list of Result
        One a unit.
    """

    line: PlannedLine
    units: list[Unit]
    results: list[Result]

    def named(self, point: int) -> str:
        """Return the hyper-parameters of a point of the grid that were searched, as JSON."""
        experiment = self.line.experiment
        values = experiment.points[point]
        return json.dumps({name: values[name] for name in experiment.algorithm["grid"]})


@dataclass(frozen=True)
class Line:
    """A line of an axes: the mean over the repeats, with its standard deviation.

    Parameters
    ----------
    x, mean, std : ndarray of shape (n,)
    params : tuple of str
        For all x, or for each, the hyper-parameters behind the number.
    is_theory : bool
        Whether it is computed from formulas instead of being played.
    """

    label: str
    x: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    n_repeats: int
    params: tuple[str, ...] = ("",)
    is_theory: bool = False


class Reference(NamedTuple):
    """A vertical line at x."""

    x: float
    label: str


class Mark(NamedTuple):
    """A published value of the line of that label, at the right edge."""

    label: str
    y: float


@dataclass(frozen=True)
class Axes:
    """One pair of axes: a panel has one, or several that share y.

    Parameters
    ----------
    x_scale : {"linear", "log", "log1p"}
    y_scale : {"linear", "log"}
    ticks : tuple of float
        Ticks of x; none to leave them to the drawing.
    warning : str
        What a reader must know before reading the lines, such as an assumption that does not hold.
    notes : tuple of str
        What else belongs to the numbers; written, not drawn.
    """

    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_scale: str = "linear"
    y_scale: str = "linear"
    ticks: tuple[float, ...] = ()
    references: tuple[Reference, ...] = ()
    marks: tuple[Mark, ...] = ()
    title: str = ""
    warning: str = ""
    notes: tuple[str, ...] = ()


def rounded(values: Any) -> np.ndarray:
    """Return numbers as they are written, to `DIGITS` significant digits."""
    return np.array([float(f"{v:.{DIGITS}g}") for v in np.ravel(values)])


def line_of(label: str, x: Any, values: np.ndarray, **more: Any) -> Line:
    """Return the line of the mean and deviation of values of shape (n_repeats, n)."""
    n_repeats = values.shape[0]
    mean = values.mean(axis=0)
    std = values.std(axis=0, ddof=1) if n_repeats > 1 else np.zeros(values.shape[1])
    std = np.where(std > ROUNDING * np.abs(mean), std, 0.0)
    return Line(label, rounded(x), rounded(mean), rounded(std), n_repeats, **more)


def points_with(played: Played, name: str, value: Any) -> list[int]:
    """Return the numbers of the grid's points that have a value."""
    return [i for i, point in enumerate(played.line.experiment.points) if point[name] == value]


def only(result: Result, points: Sequence[int]) -> Result:
    """Return a result with some points of its grid only."""
    by_point = ("mistakes", "updates", "checkpoint_mistakes", "checkpoint_loss", "diverged")
    part = {name: result.arrays[name][list(points)] for name in by_point}
    return replace(result, arrays={**result.arrays, **part})


def learning_curves(
    panel: PlannedPanel, played: Sequence[Played], rule: Mapping[str, Any]
) -> list[Axes]:
    """Return the cumulative error rate against the number of examples, a line a method.

    In each repeat it is that of the point that the rule chose; a play that diverged counts as wrong
    throughout, as in the tables.
    """
    metric = METRICS["error"]
    lines, marks = [], []
    for one in played:
        chosen = select(one.results, one.line.experiment.points, rule)
        curves = [
            np.full(r.arrays["seen"].shape, metric.worst)
            if r.arrays["diverged"][p] > 0
            else 100.0 * r.arrays["checkpoint_mistakes"][p] / r.arrays["seen"]
            for r, p in zip(one.results, chosen, strict=True)
        ]
        most_chosen = one.named(int(np.bincount(chosen).argmax()))
        seen = one.results[0].arrays["seen"]
        lines.append(line_of(one.line.label, seen, np.array(curves), params=(most_chosen,)))
        final = panel.published.get(one.line.description.get("published", ""))
        if final is not None:
            marks.append(Mark(one.line.label, final))
    return [
        Axes("examples", "cumulative error rate (%)", tuple(lines), marks=tuple(marks)),
    ]


def parameter_effect(
    panel: PlannedPanel,  # noqa: ARG001
    played: Sequence[Played],
    rule: Mapping[str, Any],
) -> list[Axes]:
    """Return the error rate against one hyper-parameter, axes for each method.

    For each value the rule chooses among the points that have it.
    """
    metric = METRICS["error"]
    parts = []
    for one in played:
        asked = one.line.description
        name = asked["parameter"]
        points = one.line.experiment.points
        at = one.line.experiment.algorithm["grid"][name]
        errors, params = [], []
        for value in at:
            mine = points_with(one, name, value)
            results = [only(result, mine) for result in one.results]
            chosen = select(results, [points[i] for i in mine], rule)
            errors.append(
                [
                    metric.worst if r.arrays["diverged"][p] > 0 else metric.of(r.arrays, p, None)
                    for r, p in zip(results, map(int, chosen), strict=True)
                ]
            )
            params.append(one.named(mine[int(np.bincount(chosen).argmax())]))
        references = [Reference(float(x), text) for x, text in asked.get("marks", {}).items()]
        notes: tuple[str, ...] = ()
        if asked.get("theory") == "b_star":
            try:
                found, notes = optimal_b(one.units[0])
                references += found
            except DataMissing as fault:
                notes = (f"no b*: {fault}",)
        parts.append(
            Axes(
                f"{asked.get('symbol', name)} ({one.line.label})",
                "error rate (%)",
                (line_of(one.line.label, at, np.array(errors).T, params=tuple(params)),),
                x_scale=asked.get("scale", "linear"),
                ticks=tuple(float(value) for value in at),
                references=tuple(references),
                notes=notes,
            )
        )
    return parts


def optimal_b(unit: Unit) -> tuple[list[Reference], tuple[str, ...]]:
    """Return remark 2's b* of a unit's data, and what is to be said of it."""
    weights = {"best in hindsight": comparator_of(unit, theory.VANISHING).weights}
    drawn = drawn_weights(unit)
    if drawn is not None:
        weights["true weights"] = drawn
    references = [
        Reference(float(rounded(theory.b_star(U))[0]), f"b* = {theory.b_star(U):.3g}, {name}")
        for name, U in weights.items()
        if math.isfinite(theory.b_star(U))
    ]
    notes = tuple(
        f"{name}: b* = {theory.b_star(U):.4g} as printed in remark 2; L‖u‖_B is least at "
        f"b = {theory.b_minimiser(U):.4g}"
        for name, U in weights.items()
    )
    return references, notes


def drawn_weights(unit: Unit) -> np.ndarray | None:
    """Return the weights that labelled a unit's synthetic data, or None if it has none to tell."""
    module = module_of(unit.dataset)
    if not is_synthetic(unit.dataset) or not hasattr(module, "true_weights"):
        return None
    taken = inspect.signature(module.true_weights).parameters
    options = {name: value for name, value in unit.dataset["options"].items() if name in taken}
    rng = generator(unit.seed, of="draw", dataset=unit.dataset["name"], draw=unit.draw)
    return module.true_weights(rng, **options)


_SOLVED: dict[tuple[str, float], theory.Comparator] = {}


def comparator_of(unit: Unit, ridge: float) -> theory.Comparator:
    """Return the best fixed weights in hindsight on a unit's data, found once a process."""
    source = load_fed(unit.dataset, unit.seed, unit.draw)
    if (source.sha256, ridge) not in _SOLVED:
        _SOLVED[source.sha256, ridge] = theory.best_fixed(source.tasks, ridge)
    return _SOLVED[source.sha256, ridge]


THEOREM = "Theorem 4, Δ of Lemma 1"
THEOREM_EXACT = "Theorem 4, Δ of the network itself"
SUFFERED = "Δ = 0, which bounds the losses suffered"
TIGHTEST = "Δ = 0, comparator that suits the bound best"


def regret_bound(
    panel: PlannedPanel, played: Sequence[Played], rule: Mapping[str, Any]
) -> list[Axes]:
    """Return the regret against the rounds played, beside what bounds it at the η and b played.

    The regret is against the first of the ridges' comparators (`omtl.theory.best_fixed`), the best
    fixed weights in hindsight. A bound of the regret against any other fixed weights v also bounds
    it: by bound(v) + loss(v) − loss(u). The best of these over the path of the ridges, and over no
    weights at all, is the last line.
    """
    return [regret_of(one, panel.description["ridges"], rule) for one in played]


def regret_of(one: Played, ridges: Sequence[float], rule: Mapping[str, Any]) -> Axes:
    """Return the axes of one line's regret (`regret_bound`)."""
    points = one.line.experiment.points
    if not {"eta", "b"} <= set(points[0]):
        raise UserError(f"regret_bound: {one.line.label} has no eta and b, which the theorem is of")
    chosen = select(one.results, points, rule)
    measured = f"regret of {one.line.label}"
    found: dict[str, list[np.ndarray]] = {}
    for unit, result, p in zip(one.units, one.results, map(int, chosen), strict=True):
        curves = bounds_of(unit, points[p], ridges)
        against = curves.pop("")
        for label, curve in {
            measured: result.arrays["checkpoint_loss"][p] - against,
            **curves,
        }.items():
            found.setdefault(label, []).append(curve)
    unit = one.units[0]
    tasks = load_fed(unit.dataset, unit.seed, unit.draw).tasks
    params = (one.named(int(np.bincount(chosen).argmax())),)
    above = [
        f"the regret is above “{label}” in {count} of {len(chosen)} repeats"
        for label, curves in found.items()
        if (count := sum(bool(np.any(r > c)) for r, c in zip(found[measured], curves, strict=True)))
    ]
    rounds = stream_of(unit, tasks).checkpoint
    lines = tuple(
        line_of(label, rounds, np.array(curves), params=params, is_theory=label != measured)
        for label, curves in found.items()
        if np.all(np.isfinite(curves))
    )
    mixing = mixing_of(unit, tasks)
    played = constants_of(unit, points[chosen[0]])
    norm = theory.square_norm_B(
        comparator_of(unit, ridges[0]).weights, float(points[chosen[0]]["b"])
    )
    best = theory.best_eta(
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
    proved = theory.is_doubly_stochastic(mixing)
    return Axes(
        "rounds T",
        "regret (hinge loss)",
        lines,
        title=one.line.description.get("title", ""),
        x_scale="log",
        y_scale="log",
        # Equal weights on a grid are not doubly stochastic: nothing is proved there.
        warning="" if proved else "assumption 2 fails",
        notes=(network_constants(mixing), constants, *above),
    )


def bounds_of(
    unit: Unit, point: Mapping[str, Any], ridges: Sequence[float]
) -> dict[str, np.ndarray]:
    """Return the bounds on a unit's regret at each checkpoint, by label.

    Under the empty label is the loss of the first ridge's comparator, which the regret is against.
    """
    tasks = load_fed(unit.dataset, unit.seed, unit.draw).tasks
    stream = stream_of(unit, tasks)
    mixing = mixing_of(unit, tasks)
    constants = constants_of(unit, point)

    def bound(square_norm: float, delta: float) -> np.ndarray:
        return theory.theorem4_bound(
            stream.checkpoint, square_norm=square_norm, delta=delta, **constants
        )

    path = [comparator_of(unit, ridge) for ridge in ridges]
    norms = [theory.square_norm_B(comparator.weights, float(point["b"])) for comparator in path]
    losses = [theory.at_checkpoints(comparator.losses, stream) for comparator in path]
    certified = [bound(n, 0.0) + lost for n, lost in zip(norms, losses, strict=True)]
    idle = bound(0.0, 0.0) + stream.start[stream.checkpoint]  # no weights: a loss of 1 an example
    printed = theory.delta_of(theory.lemma1(mixing), mixing.shape[0])
    return {
        "": losses[0],
        THEOREM: bound(norms[0], printed),
        THEOREM_EXACT: bound(norms[0], theory.exact_delta(mixing)),
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
    source = load_fed(unit.dataset, unit.seed, unit.draw)
    n_tasks, b = len(source.tasks.names), float(point["b"])
    if n_nodes_of(unit, source.tasks) != n_tasks:
        raise UserError("regret_bound: theorem 4 is of one node a task; set network.n_nodes=null")
    largest = math.sqrt(source.square_norm.max())
    return {
        "eta": float(point["eta"]),
        "gradient": theory.gradient_bound(largest, b, n_tasks),
        "ratio": theory.norm_ratio(b),
        "n_tasks": n_tasks,
    }


def network_constants(mixing: np.ndarray) -> str:
    """Return the constants of a network that the theorem reads, as text."""
    m = mixing.shape[0]
    printed = theory.lemma1(mixing)
    return (
        f"lemma 1: ε = {printed.smallest_weight:.4g}, Q = {printed.period}, "
        f"θ = {printed.theta:.6g}, β = {printed.beta:.6g}, Δ = {theory.delta_of(printed, m):.4g}; "
        f"Δ of the network's powers = {theory.exact_delta(mixing):.4g}"
    )


KINDS: dict[str, Callable[[PlannedPanel, Sequence[Played], Mapping[str, Any]], list[Axes]]] = {
    "learning_curves": learning_curves,
    "parameter_effect": parameter_effect,
    "regret_bound": regret_bound,
}
