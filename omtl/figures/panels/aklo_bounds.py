"""AKLO's errors on a task beside their bounds (AKLO, theorems 1 and 2, corollary 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from omtl.experiment.descriptions import Panel
from omtl.experiment.unit import Unit, setting_of
from omtl.figures.panels.axes import Axes, Played, Reference
from omtl.figures.panels.bounds import beside_bounds, largest_norm, solved
from omtl.theory import aklo
from omtl.util.errors import UserError

ERRORS = "errors"
PRINTED = "bound as printed"
PROVED = "bound as it can be proved"
ALL = "examples"


class Faced(NamedTuple):
    """A task that has past tasks, as a learner met it: its errors and their bounds."""

    errors: float
    printed: aklo.Bound
    proved: aklo.Bound
    gammas: tuple[float, float]
    """Least γ of corollary 1, as printed and as theorem 1 would give it."""
    corollary: float
    """Corollary 1 at the first of them."""
    n_examples: int


SHOWN: dict[str, Callable[[Faced], float]] = {
    PRINTED: lambda task: task.printed.total,
    PROVED: lambda task: task.proved.total,
    ALL: lambda task: float(task.n_examples),
}
"""What lines of theory show of a task."""


def task_bound(one: Played, panel: Panel) -> Axes:
    """Return the mean errors on a task that has past tasks, against λ, beside bounds.

    A λ of the grid is the one that the theorem sets for some R, or for none: then it has no bound.
    Corollary 2 has the panel's `delta`.
    """
    points = one.line.experiment.points
    if not {"lam", "doubling", "sample", "clip"} <= set(points[0]) or any(
        point["margin"] != 1.0 or point["shift"] != 0 or point["uniform"] for point in points
    ):
        raise UserError(
            "task_bound: the theorems hold for AKLO with margin 1 and shift 0, not for "
            f"{one.line.label}"
        )
    lams = [float(point["lam"]) for point in points]
    known = not points[0]["doubling"]
    n = int(np.bincount(setting_of(one.units[0]).tasks.task).min())  # for which R is largest
    X = largest_norm(one.units[0])
    radii = [aklo.radius_of(lam, n, largest_norm=X, known=known) for lam in lams]
    bounded = [p for p, radius in enumerate(radii) if math.isfinite(radius)]
    if not bounded:
        raise UserError(f"task_bound: no λ of {one.line.label} is one that the theorem sets")
    repeats = range(len(one.units))
    faced = {p: [tasks_of(one, repeat, p, panel.delta) for repeat in repeats] for p in bounded}
    arrays = [result.arrays for result in one.results]
    errors = [found["mistakes"][:, found["place"] > 0].mean(axis=1) for found in arrays]
    found = {ERRORS: np.array(errors)}
    for label, value in SHOWN.items():
        found[label] = np.full_like(found[ERRORS], np.inf)
        for p, by_repeat in faced.items():
            found[label][:, p] = [np.mean([value(task) for task in tasks]) for tasks in by_repeat]
    notes = [summary(lams[p], radii[p], faced[p]) for p in bounded]
    if known and not points[0]["sample"]:
        notes.append(corollary_of([t for p in bounded for tasks in faced[p] for t in tasks]))
    return beside_bounds(
        one,
        lams,
        found,
        ("λ", "errors on a task"),
        references=(Reference(aklo.rate(n, known=known), "R = ∞"),),
        notes=tuple(notes),
    )


def summary(lam: float, radius: float, repeats: Sequence[Sequence[Faced]]) -> str:
    """Return what the bounds are at one λ, as text."""
    tasks = [task for each in repeats for task in each]
    errors = np.array([task.errors for task in tasks])
    n = np.array([task.n_examples for task in tasks])
    parts = []
    for name in ("printed", "proved"):
        bounds = [getattr(task, name) for task in tasks]
        totals = np.array([bound.total for bound in bounds])
        means = zip(aklo.Bound._fields, np.mean(bounds, axis=0), strict=True)
        shares = ", ".join(f"{field} {value:.4g}" for field, value in means)
        parts.append(
            f"{name} {totals.mean():.4g} ({shares}), {np.sum(errors > totals)} of {n.size} tasks "
            f"above it, at most {np.max(errors / totals):.3g} of it, "
            f"below N on {np.sum(totals < n)}"
        )
    return f"λ = {lam:g} (R = {radius:.3g}): errors {errors.mean():.4g}; {'; '.join(parts)}"


def corollary_of(tasks: Sequence[Faced]) -> str:
    """Return on how many tasks corollary 1 says something, as text."""
    printed, given = np.array([task.gammas for task in tasks]).T
    broken = sum(t.errors > t.corollary for t in tasks if t.gammas[0] < 1.0)
    return (
        f"corollary 1: with γ < 1 on {np.sum(printed < 1.0)} of {len(tasks)} tasks and λ as "
        f"printed ({broken} above it), on {np.sum(given < 1.0)} as theorem 1 would give it"
    )


def tasks_of(one: Played, repeat: int, p: int, delta: float) -> list[Faced]:
    """Return all tasks but the first at point p of the grid, in the order in which they came."""
    order = np.argsort(one.results[repeat].arrays["place"])
    return [faced(one, repeat, p, int(k), delta) for k in order[1:]]


def faced(one: Played, repeat: int, p: int, k: int, delta: float) -> Faced:
    """Return what task k was in one repeat, at point p of the grid."""
    unit, arrays = one.units[repeat], one.results[repeat].arrays
    point = one.line.experiment.points[p]
    n, n_past = int(arrays["examples"][k]), int(arrays["n_past"][p, k])
    shares = arrays["shares"][p, k, :n]
    lam, known = float(point["lam"]), not point["doubling"]
    X = largest_norm(unit)
    radius = aklo.radius_of(lam, n, largest_norm=X, known=known)
    u, losses = best_of(unit, k, radius)
    best = int(np.argmin(arrays["errors"][p, k, :n_past]))
    base = float(arrays["weighed_errors"][p, k, best])
    own = float((1.0 - shares) @ losses)
    drawn = aklo.deviation(shares, delta) if point["sample"] else 0.0
    least = float(arrays["errors"][p, k, best])
    gammas = aklo.least_gammas(shares, n_past, least_error=least, radius=radius, largest_norm=X)
    longest = float(arrays["longest"][p, k])
    own_regret = aklo.own_regret(
        shares, lam=lam, norm=float(np.linalg.norm(u)), longest=longest, largest_norm=X
    )
    return Faced(
        errors=float(arrays["mistakes"][p, k]),
        printed=aklo.Bound(
            base=base,
            own=own,
            base_regret=aklo.base_regret_printed(shares, n_past, known=known),
            own_regret=aklo.own_regret_printed(shares, lam=lam, radius=radius),
            deviation=drawn,
        ),
        proved=aklo.Bound(
            base=base,
            own=aklo.MISTAKE * own,
            base_regret=aklo.base_regret(shares, n_past, known=known),
            own_regret=aklo.MISTAKE * own_regret,
            deviation=drawn,
        ),
        gammas=gammas,
        corollary=aklo.corollary1(base, shares, n_past, gammas[0]),
        n_examples=n,
    )


def best_of(unit: Unit, k: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return w* of a task, found once a process, and its losses in the order of the examples."""
    setting = setting_of(unit)
    tasks, stream = setting.tasks, setting.stream
    mine = stream.example[tasks.task[stream.example] == k]
    name = (setting.source.sha256, np.sort(mine).tobytes(), radius)
    w = solved(name, lambda: aklo.best_within(tasks.X[mine], tasks.y[mine], radius)[0])
    return w, np.maximum(0.0, 1.0 - tasks.y[mine] * (tasks.X[mine] @ w))
