"""ROM's measured objective: what a play, a protocol and a figure's panel keep of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from described import a_panel, played_line
from hypothesis import given
from learner_cases import THOROUGH, Case, cases
from miniature import with_grid, with_options
from rom_cases import LEARNERS, READING, at_first, plain

from omtl.data.examples import examples_of
from omtl.experiment.playing import setting_of
from omtl.experiment.unit import Experiment, Names
from omtl.figures import panels
from omtl.figures.panels import rom_bounds
from omtl.figures.panels.axes import Axes, PlannedPanel
from omtl.kernel.play import play
from omtl.learners.rom import ROMPGD, ROMRDA
from omtl.protocols import objective
from omtl.theory import rom
from omtl.theory.rom_comparator import Regulariser, best_fixed


@pytest.mark.parametrize("name", LEARNERS)
def test_measured_objective_is_that_of_a_plain_transcription(name: str) -> None:
    """Losses, penalties of the opening weights and gradients, compiled and not, for all rows."""

    @THOROUGH
    @given(cases(), LEARNERS[name])
    def agree(case: Case, learner: Any) -> None:
        expected = plain(learner, case)
        at = case.stream.checkpoint - 1
        m = case.shape.n_tasks
        own = np.diff(expected.own, prepend=0.0)
        shared = np.diff(expected.shared, prepend=0.0)
        for compiled in (True, False):
            for this in case.compiled_for if compiled else (case, case.sparse):
                examples = examples_of(this.tasks)
                got = objective.measure_objective(
                    learner, examples, this.stream, this.shape, compiled
                )
                for values, sums in (
                    (got["checkpoint_loss"], expected.losses),
                    (got["checkpoint_penalty"], expected.penalties),
                    (got["checkpoint_shared"], expected.shared),
                    (got["checkpoint_own"], expected.own),
                    (got["largest_gradient"], np.maximum.accumulate(shared + 2.0 * own)),
                    (got["largest_weighted"], np.maximum.accumulate(shared / m + 2.0 * own)),
                ):
                    np.testing.assert_allclose(values, sums[at], rtol=1e-7, atol=1e-7)
                if isinstance(learner, ROMRDA):
                    np.testing.assert_allclose(
                        got["checkpoint_proximity"], expected.proximities[at], rtol=1e-7, atol=1e-9
                    )
                trace, _ = play(learner, examples, this.stream, this.shape, compiled)
                np.testing.assert_array_equal(got["mistakes"], trace.mistakes)
                np.testing.assert_array_equal(got["checkpoint_mistakes"], trace.checkpoint_mistakes)

    agree()


def test_panel_shows_the_measured_regret() -> None:
    """Of a plain transcription, at the rate nearest to the one that the theorem asks for."""
    rates = [1e-3, 1e-2, 0.1]
    names = Names("rom_pgd_every_round", "outlier_walk_large", "objective")
    experiment = with_options(Experiment.compose(names, READING), n_examples=40, n_features=8)
    one = played_line(with_grid(experiment, eta=rates))
    [part] = panels.axes_of(PlannedPanel(a_panel(kind="rom_regret", horizons=4), ()), [one])
    assert isinstance(part, Axes)
    shown = {line.label: line for line in part.lines}
    setting = setting_of(one.units[0])
    case = Case(setting.tasks, setting.stream, np.ones((5, 5)))
    r = Regulariser(0.01, 0.1, 0.1)
    assert shown[rom_bounds.TUNED].x.tolist() == [1, 3, 12, 40]
    for at, T in enumerate([1, 3, 12, 40]):
        best = best_fixed(at_first(case, T), T, r)
        found = []
        for eta in rates:
            got = plain(ROMPGD(eta, *r, every_round=True), case)
            gradients = np.diff(got.shared + 2.0 * got.own, prepend=0.0)[:T]
            known = {"square": rom.square_norm(best.weights), "gradient": gradients.max()}
            off = abs(math.log(eta / rom.theorem3_eta(T, **known)))
            regret = (got.losses + got.penalties)[T - 1] - best.objective
            found.append((off, regret, rom.theorem3_printed(T, **known)))
        _, regret, theorem = min(found)
        assert shown[rom_bounds.TUNED].mean[at] == pytest.approx(regret, rel=1e-5)
        assert shown[rom_bounds.THEOREM].mean[at] == pytest.approx(theorem, rel=1e-5)
