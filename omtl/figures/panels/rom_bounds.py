"""ROM's measured regret against the rounds played, beside its bounds (ROM, theorems 3 and 6)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.data.streams import Tasks
from omtl.experiment.playing import setting_of
from omtl.experiment.unit import Result, Unit
from omtl.figures.panels.axes import Axes, PlayedLine
from omtl.figures.panels.bounds import Curves, bound_axes, solved
from omtl.theory import rom
from omtl.theory.comparators import Best, Regulariser, best_fixed
from omtl.util.errors import UserError

TUNED = "regret, rate of the theorem for each T"
CHOSEN = "regret, rate of the selection rule"
THEOREM = "theorem 3 or 6 as printed"
LEMMA = "lemma 2 or 5 as printed, at that rate"
PROVED = "lemma as it can be proved, at that rate"

MEASURED = (
    *("checkpoint_loss", "checkpoint_penalty", "checkpoint_proximity"),
    *("checkpoint_shared", "checkpoint_own", "largest_gradient"),
)


class Horizon(NamedTuple):
    """All points of a learner's grid after T rounds.

    Parameters
    ----------
    n_rounds : int
        T.
    rates : ndarray of shape (n_points,)
        η or κ.
    best : Best
        The best fixed weights for these T rounds.
    measured : dict of str to ndarray of shape (n_points,)
        What the protocol measured up to then.
    """

    n_rounds: int
    rates: np.ndarray
    best: Best
    measured: dict[str, np.ndarray]

    @property
    def square(self) -> float:
        """‖W_*‖²."""
        return rom.square_norm(self.best.weights)

    @property
    def regrets(self) -> np.ndarray:
        """R_T of eq. 1."""
        found = self.measured
        return found["checkpoint_loss"] + found["checkpoint_penalty"] - self.best.objective

    def nearest(self, wanted: np.ndarray) -> int:
        """Return the number of the point whose rate is nearest to the one that it should have."""
        return int(np.argmin(np.abs(np.log(self.rates / wanted))))


def pgd(at: Horizon) -> tuple[np.ndarray, Curves]:
    """Return, by point, the η from which theorem 3 follows, and the bounds on ROM-PGD's regret."""
    shared, own = at.measured["checkpoint_shared"], at.measured["checkpoint_own"]
    known: dict[str, Any] = {"square": at.square, "gradient": at.measured["largest_gradient"]}
    return rom.theorem3_eta(at.n_rounds, **known), {
        THEOREM: rom.theorem3_printed(at.n_rounds, **known),
        LEMMA: rom.lemma2_printed(eta=at.rates, square=at.square, gradients=shared + 2.0 * own),
        PROVED: rom.lemma2(
            eta=at.rates,
            square=rom.weighted_square_norm(at.best.weights),
            gradients=shared / len(at.best.weights.P) + 2.0 * own,
        ),
    }


def rda(at: Horizon) -> tuple[np.ndarray, Curves]:
    """Return, by point, the κ at which theorem 6's bound is least, and the bounds on ROM-RDA's."""
    known: dict[str, Any] = {"square": at.square, "gradient": at.measured["largest_gradient"]}
    return rom.best_kappa(**known), {
        THEOREM: rom.theorem6(at.n_rounds, kappa=at.rates, **known),
        LEMMA: rom.lemma5_printed(at.n_rounds, kappa=at.rates, **known),
        PROVED: rom.lemma5(at.n_rounds, kappa=at.rates, **known),
    }


THEORIES = {"eta": pgd, "kappa": rda}
"""What theory says of a learner, by the name of its rate."""


def rom_regret(one: PlayedLine) -> Axes:
    """Return the regret against the rounds played, beside its bounds.

    The regret at T is against the weights that are best for the first T rounds, at the rate of the
    grid that is nearest to the one from which the theorem follows at that T, and at the rate that
    the selection rule chooses.
    """
    rate, regulariser = rate_and_regulariser(one)
    theory, rates = THEORIES[rate], np.array([float(p[rate]) for p in one.experiment.points])
    checkpoint = setting_of(one.units[0]).stream.checkpoint
    horizons = spread_checkpoints(checkpoint, one.panel.horizons)
    gaps: list[float] = []

    def horizon(c: int, unit: Unit, result: Result) -> Horizon:
        best = best_so_far(unit, int(checkpoint[c]), regulariser)
        gaps.append(best.gap / (1.0 + best.objective))
        measured = {name: result.arrays[name][:, c] for name in MEASURED}
        return Horizon(int(checkpoint[c]), rates, best, measured)

    def curves(unit: Unit, result: Result, own: int) -> Curves:
        values = []
        for at in (horizon(c, unit, result) for c in horizons):
            wanted, bounds = theory(at)
            here = at.nearest(wanted)
            bounded = {label: bound[here] for label, bound in bounds.items()}
            values.append({TUNED: at.regrets[here], CHOSEN: at.regrets[own], **bounded})
        return {label: np.array([at[label] for at in values]) for label in values[0]}

    def notes(found: Curves) -> list[str]:
        last = horizon(horizons[-1], one.units[0], one.results[0])
        return [
            *horizon_notes(last, rate, theory(last)[0], one.named(one.chosen[0])),
            f"largest duality gap of a comparator, relative: {max(gaps):.1g}",
            *above(found),
        ]

    return bound_axes(one, "rounds T", checkpoint[horizons], curves, notes, n_measured=2)


def rate_and_regulariser(one: PlayedLine) -> tuple[str, Regulariser]:
    """Return the name of a line's rate, and the one regulariser of its grid.

    Raises
    ------
    UserError
        If it is not of ROM under the protocol objective, or has several regularisers.
    """
    points = one.experiment.points
    rates = [name for name in THEORIES if {name, *Regulariser._fields} <= set(points[0])]
    if not rates or not set(MEASURED) <= set(one.results[0].arrays):
        raise UserError(
            f"rom_regret: {one.label} must be ROM-PGD or ROM-RDA, played by the protocol objective"
        )
    regularisers = {
        Regulariser(*(float(point[name]) for name in Regulariser._fields)) for point in points
    }
    if len(regularisers) > 1:
        raise UserError(
            f"rom_regret: the grid of {one.label} has {len(regularisers)} regularisers; fix "
            "alpha, beta and gamma, because the best weights in hindsight hold for one only"
        )
    return rates[0], regularisers.pop()


def spread_checkpoints(checkpoints: np.ndarray, n: int) -> list[int]:
    """Return the numbers of about n checkpoints, evenly spread on a logarithmic axis."""
    wanted = np.geomspace(checkpoints[0], checkpoints[-1], n)
    return sorted({int(np.abs(checkpoints - x).argmin()) for x in wanted})


def horizon_notes(at: Horizon, rate: str, wanted: np.ndarray, own: str) -> list[str]:
    """Return the numbers of a horizon of a repeat, and what ROM-RDA's regret would be with r_2."""
    here, (u, p, q) = at.nearest(wanted), at.best.weights.squares
    outliers = int(np.count_nonzero(at.best.weights.Q.any(axis=1)))
    notes = [
        f"T = {at.n_rounds}: ‖u_*‖² = {u:.4g}, ‖P_*‖² = {p:.4g}, ‖Q_*‖² = {q:.4g} of {outliers} "
        f"outliers, G_*² = {at.measured['largest_gradient'][here]:.4g}; the theorem asks for "
        f"{rate} = {wanted[here]:.4g}, {at.rates[here]:g} was played; "
        f"the selection rule chose {own}"
    ]
    if rate == "kappa":
        paid = at.measured["checkpoint_proximity"][here]
        more = paid - rom.proximities(at.n_rounds, at.rates[here], at.square)
        regret = at.regrets[here] + more
        notes.append(f"with r₂ in the place of r₁ the regret would be {regret:.4g}")
    return notes


def above(found: Curves) -> list[str]:
    """Return which regrets are above which bounds, as text."""
    regret = found[TUNED]
    return [
        f"“{TUNED}” is above “{label}” at {np.count_nonzero(regret > found[label])} of "
        f"{regret.size} horizons; at most {np.max(regret / found[label]):.3g} of it"
        for label in (THEOREM, LEMMA, PROVED)
    ]


def best_so_far(unit: Unit, n_rounds: int, r: Regulariser) -> Best:
    """Return the best fixed weights for the first rounds of a unit's stream, once a process."""
    setting = setting_of(unit)
    stream, whole = setting.stream, setting.tasks
    seen = stream.example[: stream.start[n_rounds]]

    def solve() -> Best:
        part = Tasks(whole.X[seen], whole.y[seen], whole.task[seen], whole.names)
        return best_fixed(part, n_rounds, r)

    return solved((setting.source.sha256, seen.tobytes(), n_rounds, r), solve)
