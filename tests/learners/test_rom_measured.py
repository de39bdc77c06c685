"""ROM's measured objective: what a play, a protocol and a figure's panel keep of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from learner_cases import THOROUGH, Case, cases
from rom_cases import LEARNERS, plain

from omtl.data.examples import examples_of
from omtl.kernel.play import play
from omtl.learners.rom import ROMRDA
from omtl.protocols import objective


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
