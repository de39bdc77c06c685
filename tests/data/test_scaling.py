"""Features are scaled by the examples seen so far, in experiments and in pipelines alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from omtl.data.preparation import scaled_in_order
from omtl.data.scaling import SCALES, new_scale
from omtl.datasets import from_arrays
from omtl.experiment.playing import compute, setting_of
from omtl.experiment.specs import AlgorithmSpec, ProtocolSpec
from omtl.experiment.unit import Experiment
from omtl.protocols.heldout import split_parts
from omtl.sklearn import OnlineScaler, PassiveAggressive

SIZES = np.array([1.0, 50.0, 1e-3])
AT = np.array([0.0, 1e9, -5.0])
"""Features of different sizes, one of them far from 0."""


def rows(n: int = 60, seed: int = 0) -> np.ndarray:
    """Return examples of features of different sizes, some of one value at first."""
    X = np.random.default_rng(seed).normal(size=(n, 3)) * SIZES + AT
    X[:5, 0] = 2.0
    return X


def expected(kind: str, seen: np.ndarray) -> np.ndarray:
    """Return the last of these rows, scaled by all of them."""
    low, size = seen.mean(axis=0), seen.std(axis=0)
    if kind == "minmax":
        low, size = seen.min(axis=0), seen.max(axis=0) - seen.min(axis=0)
    return np.where(size > 0.0, (seen[-1] - low) / np.where(size > 0.0, size, 1.0), 0.0)


@pytest.mark.parametrize("kind", SCALES)
def test_each_row_is_scaled_by_the_rows_up_to_it(kind: str) -> None:
    X = rows()
    scaled = new_scale(kind).follow(X)
    for i in range(len(X)):
        np.testing.assert_allclose(scaled[i], expected(kind, X[: i + 1]), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", SCALES)
def test_parts_of_any_size_give_the_same_bits(kind: str) -> None:
    """One by one, in parts, or all at once; and scoring the next one is as meeting it."""
    X, parts = rows(), new_scale(kind)
    foreseen, followed = [], []
    for part in np.split(X, [0, 1, 2, 20, 21]):
        foreseen.append(parts.next_one(part[:1]))
        followed.append(parts.follow(part))
    whole = new_scale(kind).follow(X)
    assert np.concatenate(followed).tobytes() == whole.tobytes()
    firsts = [one[:1] for one in followed]
    np.testing.assert_array_equal(np.concatenate(foreseen), np.concatenate(firsts))


def data(**given: Any) -> Any:
    """Return a data set of two tasks whose features have different sizes."""
    rng = np.random.default_rng(1)
    X = rows(200, seed=1)
    y = np.where((X - AT) / SIZES @ np.array([1.0, -1.0, 0.5]) > 0.0, 1, -1)
    return from_arrays(X, y, rng.integers(0, 2, 200), name="uneven", **given)


@pytest.mark.parametrize("kind", SCALES)
def test_a_pipeline_plays_what_an_experiment_plays(kind: str) -> None:
    """The same mistakes, in the order of the experiment's repeat."""
    spec = data(normalise=kind, bias=True).spec
    experiment = Experiment(AlgorithmSpec.named("pa"), spec, ProtocolSpec.named("rounds"))
    unit = experiment.unit(0, 0)
    setting = setting_of(unit)
    at, last = setting.stream.example, setting.tasks.X.shape[1] - 1
    X = OnlineScaler(kind).fit_transform(setting.tasks.X[at, :last])
    played = scaled_in_order(setting.source, at, at.size)
    np.testing.assert_array_equal(played, np.column_stack([X, np.ones(at.size)]))
    C = experiment.points[0]["C"]
    model = PassiveAggressive(C=C).begin(last + 1, [-1.0, 1.0], range(2))
    wrong = np.zeros(2, dtype=int)
    for x, y, k in zip(played, setting.tasks.y[at], setting.tasks.task[at], strict=True):
        wrong[k] += not y * model.learn_one(x, y, int(k)) > 0.0
    np.testing.assert_array_equal(compute(unit).arrays["mistakes"][0], wrong)


def test_held_out_examples_are_scaled_by_the_training_examples() -> None:
    """Each as if it came next."""
    changed = {"protocol.*.n_train": 30, "protocol.*.folds": 0}
    pa, protocol = AlgorithmSpec.named("pa"), ProtocolSpec.named("heldout").patched(changed)
    sets = [data(normalise=one).spec for one in ("none", "standard")]
    units = [Experiment(pa, one, protocol).unit(0, 0) for one in sets]
    (plain,), (scaled,) = (split_parts(setting_of(unit)) for unit in units)
    scale, order = new_scale("standard"), plain.stream.example
    learnt = scale.follow(plain.examples.rows.X[order])
    np.testing.assert_array_equal(scaled.examples.rows.X[scaled.stream.example], learnt)
    held_out = scale.next_one(plain.examples.rows.X[plain.held_out])
    np.testing.assert_array_equal(scaled.examples.rows.X[scaled.held_out], held_out)


@pytest.mark.parametrize("kind", SCALES)
def test_scikit_learn_accepts_the_scaler(kind: str) -> None:
    """But for the checks that ``fit(X).transform(X)``, which looks ahead, is ``fit_transform``."""
    looks_ahead = "rows are scaled as they come"
    names = ("check_transformer_general", "check_transformer_data_not_an_array")
    check_estimator(OnlineScaler(kind), expected_failed_checks=dict.fromkeys(names, looks_ahead))
    X = rows()
    y = X[:, 1] > AT[1]
    piped = make_pipeline(OnlineScaler(kind), PassiveAggressive(C=1.0)).fit(X, y)
    assert piped.score(X, y) > 0.7
    named = OnlineScaler(kind).set_output(transform="pandas").fit_transform(pd.DataFrame({"a": y}))
    assert [*named] == ["a"]
    with pytest.raises(ValueError, match="kind='best' is not known; choose from standard, minmax"):
        OnlineScaler("best").fit(X)
