"""AKLO's errors on a task beside their bounds (AKLO, theorems 1 and 2, corollary 2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from omtl.experiment.playing import setting_of
from omtl.experiment.unit import Result, Unit
from omtl.figures.panels.axes import Axes, PlayedLine, Reference
from omtl.figures.panels.bounds import Curves, bound_axes, largest_norm, solved
from omtl.theory import aklo
from omtl.theory.comparators import best_within, hinge_losses
from omtl.util.errors import UserError

ERRORS = "errors"
PRINTED = "bound as printed"
PROVED = "bound as it can be proved"
EXAMPLES = "examples"


def task_bound(one: PlayedLine) -> Axes:
    """Return the mean errors on a task that has past tasks, against λ, beside bounds.

    A λ of the grid is the one that the theorem sets for some R, or for none: then it has no bound.
    Corollary 2 has the panel's `delta`.
    """
    points = one.experiment.points
    if not {"lam", "doubling", "sample", "clip"} <= set(points[0]) or any(
        point["margin"] != 1.0 or point["shift"] != 0 or point["uniform"] for point in points
    ):
        raise UserError(
            f"task_bound: the theorems hold for AKLO with margin 1 and shift 0, not for {one.label}"
        )
    lams = [float(point["lam"]) for point in points]
    known = not points[0]["doubling"]
    n = int(np.bincount(setting_of(one.units[0]).tasks.task).min())  # for which R is largest
    X = largest_norm(one.units[0])
    radii = [aklo.radius_of(lam, n, largest_norm=X, known=known) for lam in lams]
    bounded = [p for p, radius in enumerate(radii) if math.isfinite(radius)]
    if not bounded:
        raise UserError(f"task_bound: no λ of {one.label} is one that the theorem sets")
    faced = []

    def curves(unit: Unit, result: Result, _: int) -> Curves:
        arrays = result.arrays
        found = {ERRORS: arrays["mistakes"][:, arrays["place"] > 0].mean(axis=1)}
        found |= {label: np.full(len(lams), np.inf) for label in (PRINTED, PROVED, EXAMPLES)}
        for p in bounded:
            tasks = tasks_of(unit, result, points[p], p, one.panel.delta)
            faced.append(tasks.assign(p=p))
            found[PRINTED][p] = bound_totals(tasks, "printed").mean()
            found[PROVED][p] = bound_totals(tasks, "proved").mean()
            found[EXAMPLES][p] = tasks["n_examples"].mean()
        return found

    def notes(_: Curves) -> list[str]:
        tasks = pd.concat(faced)
        told = [summary(lams[p], radii[p], tasks[tasks["p"] == p]) for p in bounded]
        of_corollary = known and not points[0]["sample"]
        return [*told, corollary1_note(tasks)] if of_corollary else told

    infinite = Reference(aklo.horizon_rate(n, known=known), "R = ∞")
    return bound_axes(one, "λ", lams, curves, notes, references=(infinite,))


def bound_totals(tasks: pd.DataFrame, bound: str) -> np.ndarray:
    """Return a bound of each task, the sum of its parts."""
    return np.array([*tasks[bound]]).sum(axis=1)


def summary(lam: float, radius: float, tasks: pd.DataFrame) -> str:
    """Return what the bounds are at one λ, as text."""
    parts = []
    for name in ("printed", "proved"):
        total, means = bound_totals(tasks, name), np.array([*tasks[name]]).mean(axis=0)
        named = zip(aklo.Bound._fields, means, strict=True)
        shares = ", ".join(f"{field} {value:.4g}" for field, value in named)
        parts.append(
            f"{name} {total.mean():.4g} ({shares}), {np.sum(tasks['errors'] > total)} of "
            f"{total.size} tasks above it, at most {np.max(tasks['errors'] / total):.3g} of it, "
            f"below N on {np.sum(total < tasks['n_examples'])}"
        )
    errors = f"errors {tasks['errors'].mean():.4g}"
    return f"λ = {lam:g} (R = {radius:.3g}): {errors}; {'; '.join(parts)}"


def corollary1_note(tasks: pd.DataFrame) -> str:
    """Return on how many tasks corollary 1 says something, as text."""
    says, would = (np.array([*tasks["gammas"]]) < 1.0).T
    return (
        f"corollary 1: with γ < 1 on {says.sum()} of {says.size} tasks and λ as printed "
        f"({np.sum(says & (tasks['errors'] > tasks['corollary']))} above it), on {would.sum()} as "
        "theorem 1 would give it"
    )


def tasks_of(
    unit: Unit, result: Result, point: Mapping[str, Any], p: int, delta: float
) -> pd.DataFrame:
    """Return the tasks that have past tasks, as a learner met them, in their order.

    Parameters
    ----------
    unit : Unit
    result : Result
    point, p : mapping, int
        The point of the grid, and its number.
    delta : float

    Returns
    -------
    DataFrame
        The ``errors`` of each task of ``n_examples``; the bounds on them, ``printed`` and
        ``proved`` (`omtl.theory.aklo.Bound`); the least ``gammas`` of corollary 1, as printed and
        as theorem 1 would give it, and the ``corollary`` at the first of them.
    """
    arrays, X = result.arrays, largest_norm(unit)
    lam, known = float(point["lam"]), not point["doubling"]
    rows = []
    for k in np.argsort(arrays["place"])[1:]:
        n, n_past = int(arrays["examples"][k]), int(arrays["n_past"][p, k])
        shares = arrays["shares"][p, k, :n]
        radius = aklo.radius_of(lam, n, largest_norm=X, known=known)
        u, losses = best_on_task(unit, int(k), radius)
        best = int(np.argmin(arrays["errors"][p, k, :n_past]))
        base, least = (float(arrays[name][p, k, best]) for name in ("weighed_errors", "errors"))
        own = float((1.0 - shares) @ losses)
        drawn = aklo.sampling_deviation(shares, delta) if point["sample"] else 0.0
        shared = {"base": base, "deviation": drawn}
        gammas = aklo.least_gammas(shares, n_past, least_error=least, radius=radius, largest_norm=X)
        norms = {"norm": float(np.linalg.norm(u)), "longest": float(arrays["longest"][p, k])}
        printed = aklo.Bound(
            **shared,
            own=own,
            base_regret=aklo.base_regret_printed(shares, n_past, known=known),
            own_regret=aklo.own_regret_printed(shares, lam=lam, radius=radius),
        )
        proved = aklo.Bound(
            **shared,
            own=aklo.MISTAKE * own,
            base_regret=aklo.base_regret(shares, n_past, known=known),
            own_regret=aklo.MISTAKE * aklo.own_regret(shares, lam=lam, largest_norm=X, **norms),
        )
        row: dict[str, Any] = {"errors": float(arrays["mistakes"][p, k]), "n_examples": float(n)}
        row |= {"printed": printed, "proved": proved, "gammas": gammas}
        rows.append({**row, "corollary": aklo.corollary1(base, shares, n_past, gammas[0])})
    return pd.DataFrame(rows)


def best_on_task(unit: Unit, k: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return w* of a task, found once a process, and its losses in the order of the examples."""
    setting = setting_of(unit)
    tasks, stream = setting.tasks, setting.stream
    mine = stream.example[tasks.task[stream.example] == k]
    name = (setting.source.sha256, np.sort(mine).tobytes(), radius)
    w = solved(name, lambda: best_within(tasks.X[mine], tasks.y[mine], radius)[0])
    return w, hinge_losses(tasks.X[mine], tasks.y[mine], w)
