"""The metrics: the numbers of tasks, together and alone."""

from __future__ import annotations

import numpy as np
import pytest

from omtl.measures.metrics import METRICS


def test_a_task_without_examples_has_no_error_rate() -> None:
    """The average over the tasks leaves it out instead of being NaN."""
    arrays = {"mistakes": np.array([[1, 0, 3]]), "examples": np.array([2, 0, 4])}
    assert METRICS["ace"].of(arrays, 0, None) == pytest.approx((50.0 + 75.0) / 2)
    assert METRICS["ace"].of(arrays, 0, 2) == 75.0
