"""AKLO's errors on a task beside their bounds (AKLO, theorems 1 and 2, corollary 2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.experiment.descriptions import Panel
from omtl.experiment.playing import setting_of
from omtl.experiment.unit import Unit
from omtl.figures.panels.axes import Axes, PlayedLine, Reference
from omtl.figures.panels.bounds import beside_bounds, largest_norm, lines_of, solved
from omtl.theory import aklo
from omtl.util.errors import UserError

ERRORS = "errors"
PRINTED = "bound as printed"
PROVED = "bound as it can be proved"
EXAMPLES = "examples"


class Faced(NamedTuple):
    """The tasks that have past tasks, as a learner met them: their errors and bounds, by task.

    Parameters
    ----------
    errors, n_examples : ndarray of shape (n_tasks,)
    printed, proved : ndarray of shape (n_tasks, 5)
        The parts of the bounds (`omtl.theory.aklo.Bound`).
    gammas : ndarray of shape (n_tasks, 2)
        Least γ of corollary 1, as printed and as theorem 1 would give it.
    corollary : ndarray of shape (n_tasks,)
        Corollary 1 at the first of them.
    """

    errors: np.ndarray
    n_examples: np.ndarray
    printed: np.ndarray
    proved: np.ndarray
    gammas: np.ndarray
    corollary: np.ndarray


def task_bound(one: PlayedLine, panel: Panel) -> Axes:
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
    arrays = [result.arrays for result in one.results]
    errors = [met["mistakes"][:, met["place"] > 0].mean(axis=1) for met in arrays]
    found = {ERRORS: np.array(errors)}
    found |= {label: np.full_like(found[ERRORS], np.inf) for label in (PRINTED, PROVED, EXAMPLES)}
    notes, faced = [], []
    for p in bounded:
        repeats = [tasks_of(one, repeat, p, panel.delta) for repeat in range(len(one.units))]
        found[PRINTED][:, p] = [tasks.printed.sum(axis=1).mean() for tasks in repeats]
        found[PROVED][:, p] = [tasks.proved.sum(axis=1).mean() for tasks in repeats]
        found[EXAMPLES][:, p] = [tasks.n_examples.mean() for tasks in repeats]
        faced.append(Faced(*map(np.concatenate, zip(*repeats, strict=True))))
        notes.append(summary(lams[p], radii[p], faced[-1]))
    if known and not points[0]["sample"]:
        notes.append(corollary1_note(Faced(*map(np.concatenate, zip(*faced, strict=True)))))
    return beside_bounds(
        one,
        lines_of(lams, found),
        x_label="λ",
        y_label="errors on a task",
        references=(Reference(aklo.horizon_rate(n, known=known), "R = ∞"),),
        notes=tuple(notes),
    )


def summary(lam: float, radius: float, tasks: Faced) -> str:
    """Return what the bounds are at one λ, as text."""
    parts = []
    for name, bounds in (("printed", tasks.printed), ("proved", tasks.proved)):
        totals, means = bounds.sum(axis=1), bounds.mean(axis=0)
        named = zip(aklo.Bound._fields, means, strict=True)
        shares = ", ".join(f"{field} {value:.4g}" for field, value in named)
        parts.append(
            f"{name} {totals.mean():.4g} ({shares}), {np.sum(tasks.errors > totals)} of "
            f"{totals.size} tasks above it, at most {np.max(tasks.errors / totals):.3g} of it, "
            f"below N on {np.sum(totals < tasks.n_examples)}"
        )
    errors = f"errors {tasks.errors.mean():.4g}"
    return f"λ = {lam:g} (R = {radius:.3g}): {errors}; {'; '.join(parts)}"


def corollary1_note(tasks: Faced) -> str:
    """Return on how many tasks corollary 1 says something, as text."""
    says, would = (tasks.gammas < 1.0).T
    return (
        f"corollary 1: with γ < 1 on {says.sum()} of {says.size} tasks and λ as printed "
        f"({np.sum(says & (tasks.errors > tasks.corollary))} above it), on {would.sum()} as "
        "theorem 1 would give it"
    )


def tasks_of(one: PlayedLine, repeat: int, p: int, delta: float) -> Faced:
    """Return all tasks but the first at point p of the grid, in the order in which they came."""
    unit, arrays = one.units[repeat], one.results[repeat].arrays
    point, X = one.line.experiment.points[p], largest_norm(unit)
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
        gammas = aklo.least_gammas(shares, n_past, least_error=least, radius=radius, largest_norm=X)
        norms = {"norm": float(np.linalg.norm(u)), "longest": float(arrays["longest"][p, k])}
        printed = aklo.Bound(
            base=base,
            own=own,
            base_regret=aklo.base_regret_printed(shares, n_past, known=known),
            own_regret=aklo.own_regret_printed(shares, lam=lam, radius=radius),
            deviation=drawn,
        )
        proved = aklo.Bound(
            base=base,
            own=aklo.MISTAKE * own,
            base_regret=aklo.base_regret(shares, n_past, known=known),
            own_regret=aklo.MISTAKE * aklo.own_regret(shares, lam=lam, largest_norm=X, **norms),
            deviation=drawn,
        )
        corollary = aklo.corollary1(base, shares, n_past, gammas[0])
        rows.append((arrays["mistakes"][p, k], n, printed, proved, gammas, corollary))
    return Faced(*(np.array(values, dtype=float) for values in zip(*rows, strict=True)))


def best_on_task(unit: Unit, k: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return w* of a task, found once a process, and its losses in the order of the examples."""
    setting = setting_of(unit)
    tasks, stream = setting.tasks, setting.stream
    mine = stream.example[tasks.task[stream.example] == k]
    name = (setting.source.sha256, np.sort(mine).tobytes(), radius)
    w = solved(name, lambda: aklo.best_within(tasks.X[mine], tasks.y[mine], radius)[0])
    return w, np.maximum(0.0, 1.0 - tasks.y[mine] * (tasks.X[mine] @ w))
