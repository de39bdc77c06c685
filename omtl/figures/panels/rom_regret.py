"""ROM's measured regret against the rounds played, beside its bounds (ROM, theorems 3 and 6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from omtl.data.streams import Tasks
from omtl.experiment.unit import Result, Unit, setting_of
from omtl.figures.panels.axes import Axes, PlannedPanel, Played, line_of
from omtl.figures.panels.beside_bounds import Curves, curves_of
from omtl.theory import rom
from omtl.theory.rom_comparator import Best, Regulariser, best_fixed
from omtl.util.errors import UserError

TUNED = "regret, rate of the theorem for each T"
CHOSEN = "regret, rate of the selection rule"
THEOREM = "theorem 3 or 6 as printed"
LEMMA = "lemma 2 or 5 as printed, at that rate"
PROVED = "lemma as it can be proved, at that rate"


class Moment(NamedTuple):
    """A learner at a horizon T, at one rate of its grid.

    Parameters
    ----------
    n_rounds : int
        T.
    rate : float
        η or κ.
    best : Best
        The best fixed weights for these T rounds.
    arrays : dict of str to float
        What the protocol measured up to then.
    """

    n_rounds: int
    rate: float
    best: Best
    arrays: dict[str, float]

    @property
    def square(self) -> float:
        """‖W_*‖²."""
        return rom.square_norm(self.best.weights)

    @property
    def regret(self) -> float:
        """R_T of eq. 1."""
        found = self.arrays
        return found["checkpoint_loss"] + found["checkpoint_penalty"] - self.best.objective

    @property
    def gradient(self) -> float:
        """G_*², of this play."""
        return self.arrays["largest_gradient"]


def pgd_bounds(at: Moment) -> dict[str, float]:
    """Return the bounds on ROM-PGD's regret, by label."""
    shared, own = at.arrays["checkpoint_shared"], at.arrays["checkpoint_own"]
    return {
        THEOREM: rom.theorem3_printed(at.n_rounds, square=at.square, gradient=at.gradient),
        LEMMA: rom.lemma2_printed(eta=at.rate, square=at.square, gradients=shared + 2.0 * own),
        PROVED: rom.lemma2(
            eta=at.rate,
            square=rom.weighted_square_norm(at.best.weights),
            gradients=shared / len(at.best.weights.P) + 2.0 * own,
        ),
    }


def rda_bounds(at: Moment) -> dict[str, float]:
    """Return the bounds on ROM-RDA's regret, by label."""
    known = {"kappa": at.rate, "square": at.square, "gradient": at.gradient}
    return {
        THEOREM: rom.theorem6(at.n_rounds, **known),
        LEMMA: rom.lemma5_printed(at.n_rounds, **known),
        PROVED: rom.lemma5(at.n_rounds, **known),
    }


def with_r_2(at: Moment) -> str:
    """Return what ROM-RDA's regret would be with r_2, as text."""
    more = at.arrays["checkpoint_proximity"] - rom.proximities(at.n_rounds, at.rate, at.square)
    return f"with r₂ in the place of r₁ the regret would be {at.regret + more:.4g}"


THEORIES: dict[str, tuple[Callable[[Moment], float], Callable[[Moment], dict[str, float]]]] = {
    "eta": (
        lambda at: rom.theorem3_eta(at.n_rounds, square=at.square, gradient=at.gradient),
        pgd_bounds,
    ),
    "kappa": (lambda at: rom.best_kappa(square=at.square, gradient=at.gradient), rda_bounds),
}
"""The rate that a learner's theory asks for and its bounds, by the name of the rate: the η from
which theorem 3 follows, or the κ at which theorem 6's bound is least."""

MEASURED = (
    "checkpoint_loss",
    "checkpoint_penalty",
    "checkpoint_proximity",
    "checkpoint_shared",
    "checkpoint_own",
    "largest_gradient",
)


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the regret against the rounds played, beside its bounds, for each line.

    The regret at T is against the weights that are best for the first T rounds, at the rate of the
    grid that is nearest to the one from which the theorem follows at that T, and at the rate that
    the selection rule chooses.
    """
    return [regret_of(one, panel.description.horizons) for one in played]


def regret_of(one: Played, n_horizons: int) -> Axes:
    """Return the axes of one line's regret (`axes_of`)."""
    rate, regulariser = fixed_by(one)
    wanted, bounds_of = THEORIES[rate]
    checkpoint = setting_of(one.units[0]).stream.checkpoint
    horizons = spread(checkpoint, n_horizons)
    gaps: list[float] = []

    def grid_at(c: int, unit: Unit, result: Result) -> list[Moment]:
        best = best_of(unit, int(checkpoint[c]), regulariser)
        gaps.append(best.gap / (1.0 + best.objective))
        return [
            Moment(
                *(int(checkpoint[c]), float(point[rate]), best),
                {name: float(result.arrays[name][p, c]) for name in MEASURED},
            )
            for p, point in enumerate(one.line.experiment.points)
        ]

    def nearest(grid: list[Moment]) -> Moment:
        return min(grid, key=lambda at: abs(math.log(at.rate / wanted(at))))

    def curves(unit: Unit, result: Result, own: int) -> Curves:
        values = []
        for grid in (grid_at(c, unit, result) for c in horizons):
            here = nearest(grid)
            values.append({TUNED: here.regret, CHOSEN: grid[own].regret, **bounds_of(here)})
        return {label: np.array([at[label] for at in values]) for label in values[0]}

    found = curves_of(one, curves)
    last = nearest(grid_at(horizons[-1], one.units[0], one.results[0]))
    return Axes(
        "rounds T",
        "regret (loss and regulariser)",
        tuple(
            line_of(label, checkpoint[horizons], values, is_theory=label not in (TUNED, CHOSEN))
            for label, values in found.items()
        ),
        title=one.line.description.title,
        x_scale="log",
        y_scale="log",
        warning=one.line.description.warning,
        notes=(
            described(last, f"{rate} = {wanted(last):.4g}", one.named(one.chosen[0])),
            *([with_r_2(last)] if rate == "kappa" else []),
            f"largest duality gap of a comparator, relative: {max(gaps):.1g}",
            *above(found),
        ),
    )


def fixed_by(one: Played) -> tuple[str, Regulariser]:
    """Return the name of a line's rate, and the one regulariser of its grid.

    Raises
    ------
    UserError
        If it is not of ROM under the protocol objective, or has several regularisers.
    """
    points = one.line.experiment.points
    rates = [name for name in THEORIES if {name, *Regulariser._fields} <= set(points[0])]
    if not rates or not set(MEASURED) <= set(one.results[0].arrays):
        raise UserError(
            f"rom_regret: {one.line.label} must be ROM-PGD or ROM-RDA, played by the protocol "
            "objective"
        )
    regularisers = {
        Regulariser(*(float(point[name]) for name in Regulariser._fields)) for point in points
    }
    if len(regularisers) > 1:
        raise UserError(
            f"rom_regret: the grid of {one.line.label} has {len(regularisers)} regularisers; fix "
            "alpha, beta and gamma, because the best weights in hindsight hold for one only"
        )
    return rates[0], regularisers.pop()


def spread(checkpoints: np.ndarray, n: int) -> list[int]:
    """Return the numbers of about n checkpoints, evenly spread on a logarithmic axis."""
    wanted = np.geomspace(checkpoints[0], checkpoints[-1], n)
    return sorted({int(np.abs(checkpoints - x).argmin()) for x in wanted})


def described(at: Moment, asked: str, own: str) -> str:
    """Return the numbers of the last horizon of a repeat, as text."""
    u, p, q = at.best.weights.squares
    outliers = int(np.count_nonzero(at.best.weights.Q.any(axis=1)))
    return (
        f"T = {at.n_rounds}: ‖u_*‖² = {u:.4g}, ‖P_*‖² = {p:.4g}, ‖Q_*‖² = {q:.4g} of {outliers} "
        f"outliers, G_*² = {at.gradient:.4g}; the theorem asks for "
        f"{asked}, {at.rate:g} was played; the selection rule chose {own}"
    )


def above(found: Curves) -> list[str]:
    """Return which regrets are above which bounds, as text."""
    regret = found[TUNED]
    return [
        f"“{TUNED}” is above “{label}” at {np.count_nonzero(regret > found[label])} of "
        f"{regret.size} horizons; at most {np.max(regret / found[label]):.3g} of it"
        for label in (THEOREM, LEMMA, PROVED)
    ]


_SOLVED: dict[tuple[Any, ...], Best] = {}


def best_of(unit: Unit, n_rounds: int, r: Regulariser) -> Best:
    """Return the best fixed weights for the first rounds of a unit's stream, once a process."""
    setting = setting_of(unit)
    stream = setting.stream
    seen = stream.example[: stream.start[n_rounds]]
    name = (setting.source.sha256, seen.tobytes(), n_rounds, r)
    if name not in _SOLVED:
        whole = setting.tasks
        part = Tasks(whole.X[seen], whole.y[seen], whole.task[seen], whole.names)
        _SOLVED[name] = best_fixed(part, n_rounds, r)
    return _SOLVED[name]
