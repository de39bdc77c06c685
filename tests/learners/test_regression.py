"""The protocol of real targets: what it refuses, what it holds out, and what it chooses by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omtl.api.comparisons import compare
from omtl.experiment.composition import composed
from omtl.experiment.playing import compute
from omtl.experiment.selection import select
from omtl.measures.metrics import METRICS
from omtl.util.errors import UserError

SMALL = "{n_tasks: 6, n_examples: 10, n_features: 4, component: 4.0}"


def result(*overrides: str) -> tuple[Any, Any]:
    """Return an experiment, and its first repeat."""
    words = ["dataset=biased_tasks", f"dataset.options={SMALL}", "protocol=regression"]
    one = composed([*words, *overrides]).experiment
    return one, compute(one.unit(0, 0))


def test_errors_are_measured() -> None:
    _, found = result("algorithm=parameter_free_refined", "protocol.test_share=0.25")
    arrays = found.arrays
    assert arrays["examples"].tolist() == [7] * 6  # a quarter of 10, rounded up, is held out
    assert arrays["seen"][-1] == 42
    assert sorted(arrays["order"]) == list(range(6))
    assert arrays["checkpoint_absolute"][0, -1] == pytest.approx(arrays["absolute"][0].sum())
    assert METRICS["absolute_error"].of(arrays, 0, None) == pytest.approx(
        arrays["absolute"][0].sum() / 42
    )
    assert METRICS["square_error"].of(arrays, 0, 2) == pytest.approx(arrays["square"][0, 2] / 7)
    assert METRICS["test_absolute_error"].of(arrays, 0, None) == pytest.approx(
        arrays["test_absolute"][0].mean()
    )


@pytest.mark.parametrize("rule", ["oracle_absolute", "prefix_absolute"])
def test_rules_look_at_absolute_errors(rule: str) -> None:
    config = composed(["dataset=biased_tasks", "protocol=regression", f"selection={rule}"])
    one, found = result("algorithm=gd")
    (chosen,) = select([found], one.points, config.selection)
    seen = found.arrays["seen"]
    part = seen.size - 1 if rule == "oracle_absolute" else np.searchsorted(seen, 0.1 * seen[-1])
    assert chosen == np.argmin(found.arrays["checkpoint_absolute"][:, part])


def test_regressors_are_compared() -> None:
    found = compare(
        "parameter_free",
        "biased_tasks",
        f"dataset.options={SMALL}",
        protocol="regression",
        repeats=3,
        metric="absolute_error",
    )
    assert set(found.frame["algorithm"]) == {"parameter_free", "gd", "gd_pooled"}


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (["algorithm=pa"], "algorithm pa has no with_loss, which protocol regression needs"),
        (["algorithm=gd", "protocol=rounds"], "has real targets, and protocol rounds is for lab"),
        (["algorithm=gd", "dataset=random_walk", "~dataset.options"], "has labels, and protocol"),
        (["algorithm=gd", "protocol.loss=hinge"], "protocol.loss='hinge' is not known"),
        (["algorithm=gd", "protocol.test_share=1.0"], "leaves 0 of the 10 examples of task"),
    ],
)
def test_what_does_not_fit_is_refused(overrides: list[str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        if "~dataset.options" in overrides:
            words = [word for word in overrides if not word.startswith("~")]
            compute(composed([*words, "protocol=regression"]).experiment.unit(0, 0))
        else:
            result(*overrides)
