"""The protocol of labels that are asked for, and the OMTL paper's toy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import data_fetchers
from omtl.data.preparation import prepared_data
from omtl.experiment.config import load_option
from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.omtl import OMTLLogDet
from omtl.protocols import queries
from omtl.protocols.setting import Setting
from omtl.util.errors import UserError
from omtl.util.seeds import generator


def setting(seed: int = 0, **protocol: Any) -> Setting:
    """Return a repeat on a draw of the paper's toy."""
    tasks = data_fetchers.load("opposed_tasks", rng=np.random.default_rng(seed))
    config = {**load_option("protocol", "queries"), **protocol}
    return Setting(
        prepared_data(tasks), config, None, lambda of, **axes: generator(seed, of=of, **axes)
    )


def test_weights_are_read_off_the_scores() -> None:
    """Scores of unit rows are the weights."""
    here = setting()
    part = queries.queried_part(here)
    learner = MultiPerceptron(2.0)
    _, state = queries.play(learner, part.examples, part.stream, part.shape)
    own, shared = state.own, state.shared
    expected = (3.0 * own + 2.0 * shared) / (3.0 * 3.0)
    np.testing.assert_allclose(queries.weights_of(learner, state, part.shape), expected)


def test_logdet_learns_the_negative_correlation_that_a_fixed_relation_hides() -> None:
    """Table 2 of the paper: −0.91 against −0.20; here the mean over 20 draws, each with its σ."""
    pair = {"pair": [1, 2]}
    learners = [MultiPerceptron(3.0), OMTLLogDet(0.01, 0.5)]
    found = np.array(
        [queries.play_grid(learners, setting(s, **pair))["correlation"] for s in range(20)]
    )
    difference = found[:, 1] - found[:, 0]
    error = difference.std(ddof=1) / np.sqrt(20)
    assert difference.mean() + 3.9 * error < 0.0  # Student's t, 99.9 %, 19 degrees of freedom


@pytest.mark.parametrize("share", [0.0, 1.0, 0.001])
def test_a_share_that_leaves_nothing_is_refused(share: float) -> None:
    with pytest.raises(UserError, match=r"protocol\.test_share"):
        queries.queried_part(setting(test_share=share))
