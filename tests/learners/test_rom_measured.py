"""ROM's measured objective: what a play, a protocol and a figure's panel keep of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from described import a_line, a_panel
from hypothesis import given
from learner_cases import THOROUGH, Case, cases, problem
from miniature import a_rule, with_grid, with_options
from rom_cases import LEARNERS, READING, at_first, plain, setting
from scipy import sparse

from omtl.data.examples import examples_of
from omtl.data.preparation import prepared_data
from omtl.data.streams import Tasks
from omtl.experiment.experiment import Experiment, Names
from omtl.experiment.playing import compute, setting_of
from omtl.figures import panels
from omtl.figures.panels import rom_bounds
from omtl.figures.panels.axes import Axes, PlannedLine, PlannedPanel, PlayedLine
from omtl.kernel.play import play
from omtl.learners.perceptron import Perceptron
from omtl.learners.rom import ROMPGD, ROMRDA
from omtl.protocols import objective
from omtl.theory import rom
from omtl.theory.rom_comparator import Regulariser, best_fixed
from omtl.util.errors import UserError


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
        for this in (case, case.sparse):
            for compiled in (True, False):
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
                trace, _ = play(learner, examples, this.stream, this.shape)
                np.testing.assert_array_equal(got["mistakes"], trace.mistakes)
                np.testing.assert_array_equal(got["checkpoint_mistakes"], trace.checkpoint_mistakes)

    agree()


def test_protocol_keeps_what_was_measured() -> None:
    """A learner without a regulariser has none; features that were dropped are said to be so."""
    case = problem((20, 15), n_features=3)
    arrays = objective.play_grid(
        [Perceptron(0.1), Perceptron(1.0)], setting(prepared_data(case.tasks))
    )
    assert arrays["seen"].tolist() == [8, 16, 24, 31, 35]
    assert arrays["mistakes"].shape == (2, 2)
    assert np.all(arrays["checkpoint_penalty"] == 0.0)
    assert np.all(np.diff(arrays["largest_gradient"], axis=1) >= 0.0)
    rare = Tasks(sparse.csr_array(np.eye(35)), case.tasks.y, case.tasks.task, case.tasks.names)
    with pytest.raises(UserError, match="one example alone"):
        objective.play_grid([Perceptron(0.1)], setting(prepared_data(rare)))


RULE = a_rule()


def tiny_panel(algorithms: dict[str, dict[str, list[float]]], protocol: str) -> PlannedPanel:
    """Return a panel of algorithms with their rates on a small outlier walk."""
    lines = []
    for name, grid in algorithms.items():
        experiment = Experiment.compose(Names(name, "outlier_walk_large", protocol), READING)
        experiment = with_grid(with_options(experiment, n_examples=40, n_features=8), **grid)
        lines.append(PlannedLine(a_line(algorithm=name, title=name), experiment))
    return PlannedPanel(a_panel(kind="rom_regret", horizons=4), tuple(lines))


def axes_of(panel: PlannedPanel, n_repeats: int = 1) -> list[Axes]:
    """Compute a panel's units and return its axes."""
    played = []
    for line in panel.lines:
        units = line.experiment.repeats(0, n_repeats)
        played.append(PlayedLine(line, units, [compute(unit) for unit in units], RULE))
    return panels.axes_of(panel, played)


def test_panel_shows_the_measured_regret() -> None:
    """Of a plain transcription, at the rate nearest to the one that the theorem asks for."""
    rates = [1e-3, 1e-2, 0.1]
    panel = tiny_panel({"rom_pgd_every_round": {"eta": rates}}, "objective")
    [part] = axes_of(panel)
    shown = {line.label: line for line in part.lines}
    setting = setting_of(panel.lines[0].experiment.unit(0, 0))
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


def test_panel_of_both_algorithms() -> None:
    """Each is below what is proved of it, in each repeat."""
    panel = tiny_panel(
        {
            "rom_pgd_every_round": {"eta": [1e-3, 1e-2, 0.1]},
            "rom_rda_rates": {"kappa": [1.0, 10.0, 100.0]},
        },
        "objective",
    )
    parts = axes_of(panel, 2)
    for part in parts:
        assert all(line.n_repeats == 2 for line in part.lines)
        assert any("0 of 8 horizons" in n and rom_bounds.PROVED in n for n in part.notes)
    assert [any("r₂" in note for note in part.notes) for part in parts] == [False, True]


def test_weights_in_hindsight_are_of_the_stream_that_was_played() -> None:
    """Of the same data and rounds, another protocol may play other examples."""
    experiment = Experiment.compose(Names("rom_pgd", "joining_tasks", "objective"), READING)
    experiment = with_options(experiment, n_tasks=3, n_examples=12, n_features=4, fewest=0.25)
    found = []
    for run_out in ("sit_out", "again"):
        unit = experiment.patched({"protocol.*.run_out": run_out}).unit(0, 0)
        found.append(rom_bounds.best_so_far(unit, 12, Regulariser(1.0, 1.0, 1.0)).objective)
    assert found[1] > 1.01 * found[0]


def test_panel_is_of_rom_alone() -> None:
    """Other learners, another protocol, or several regularisers are said to be wrong."""
    several = tiny_panel({"rom_rda_rates": {"kappa": [1.0], "alpha": [0.1, 1.0]}}, "objective")
    with pytest.raises(UserError, match="has 2 regularisers"):
        axes_of(several)
    for panel in (
        tiny_panel({"pm": {"eta": [1.0]}}, "objective"),
        tiny_panel({"rom_rda_rates": {"kappa": [1.0]}}, "rounds"),
    ):
        with pytest.raises(UserError, match="must be ROM-PGD or ROM-RDA"):
            axes_of(panel)
