"""The data sets in Python: the harness's arrays, in the harness's order, and river's pairs."""

from __future__ import annotations

import numpy as np
import pytest
from miniature import SMALL_WALK, small

from data_fetchers import options_of
from omtl.datasets import load, names
from omtl.experiment.config import options
from omtl.experiment.loading import check_options, load_prepared
from omtl.experiment.playing import compute
from omtl.experiment.specs import DataSetSpec
from omtl.sklearn import Perceptron
from omtl.util.errors import UserError


def test_the_arrays_are_those_that_the_harness_plays() -> None:
    """Before the features are left out that a single example has."""
    experiment = small("pm")
    source = load_prepared(experiment.dataset, 0, 0)
    data = load("random_walk", **experiment.dataset.options)
    np.testing.assert_array_equal(data.y, source.tasks.y)
    assert data.X.shape == (len(data), source.tasks.X.shape[1])
    assert data.task_names == source.tasks.names
    assert data.n_tasks == len(set(data.task.tolist()))


@pytest.mark.parametrize("repeat", [0, 1])
def test_the_order_is_that_of_the_harness(repeat: int) -> None:
    """An estimator that follows it makes the mistakes that a unit of that repeat has."""
    experiment = small("pm")
    [point] = experiment.points
    expected = compute(experiment.unit(0, repeat)).arrays["mistakes"].ravel()
    data = load("random_walk", **experiment.dataset.options)
    at = data.order(repeat=repeat)
    model = Perceptron(**point).begin(data.X.shape[1], [-1.0, 1.0], data.task_names)
    mistakes = dict.fromkeys(data.task_names, 0)
    for x, y, task in zip(data.X[at], data.y[at], data.task[at], strict=True):
        mistakes[task] += int(y * model.learn_one(x, y, task) <= 0.0)
    assert list(mistakes.values()) == expected.tolist()


def test_a_stream_of_pairs_has_what_the_arrays_have() -> None:
    """Features by their number, the task beside them, labels as river has them."""
    data = load("random_walk", **SMALL_WALK)
    pairs = list(data)
    assert len(pairs) == len(data)
    for i, (x, y) in zip(data.order(), pairs, strict=True):
        assert x.pop("task") == data.task[i]
        assert y is bool(data.y[i] > 0)
        np.testing.assert_array_equal(list(x.values()), data.X[i])
    assert [y for _, y in data.stream(seed=1)] != [y for _, y in pairs]


def test_names_and_mistakes() -> None:
    assert names() == options("dataset")
    with pytest.raises(UserError, match="did you mean 'landmine'"):
        load("landmin")
    with pytest.raises(UserError, match="did you mean 'n_examples'"):
        load("random_walk", n_example=3)


@pytest.mark.parametrize("name", names())
def test_configs_have_options_that_their_data_sets_take(name: str) -> None:
    spec = DataSetSpec.named(name)
    check_options(options_of(spec.fetcher), spec.options, name)
