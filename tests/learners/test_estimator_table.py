"""The estimators that there are: one of every learner, which scikit-learn accepts."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from estimator_cases import VARIANTS, blobs, estimator
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import omtl.learners
from omtl.data.networks import mixing_matrix
from omtl.experiment.config import options
from omtl.experiment.readings import questions
from omtl.experiment.specs import AlgorithmSpec
from omtl.sklearn import (
    DOM1,
    PassiveAggressive,
)
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.classes import ESTIMATORS
from omtl.sklearn.parameters import TABLE, Entry, declared_entry


def rules_of_the_package() -> Iterator[type]:
    """Yield the rules of every online learner of two classes."""
    for info in pkgutil.walk_packages(omtl.learners.__path__, "omtl.learners."):
        for _, each in inspect.getmembers(importlib.import_module(info.name), inspect.isclass):
            online = hasattr(each, "score") and hasattr(each, "update")
            if online and hasattr(each, "_fields") and each.__module__ == info.name:
                yield each


def test_every_online_learner_has_an_estimator() -> None:
    """The table, the rules and the names of `omtl.sklearn` are the same."""
    rules = {each.__name__: each for each in rules_of_the_package()}
    assert set(rules) == set(TABLE)
    assert {name: made.rules for name, made in ESTIMATORS.items()} == rules
    assert all(getattr(omtl.sklearn, name) is made for name, made in ESTIMATORS.items())
    assert set(omtl.sklearn.__all__) <= set(dir(omtl.sklearn))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        omtl.sklearn.Nothing  # noqa: B018


def test_a_docstring_declares_the_estimator() -> None:
    """Ranges after the types, the rest in a section of its own; unknown words are refused."""
    entry = declared_entry(
        "mine",
        "Mine.\n\nParameters\n----------\na, b : float in [0, 2)\n    Both.\nc : int in [2, inf)\n"
        "d : float\n\nEstimator\n---------\ndefaults : a = 0.5, b = 1e-3\ntakes : rounds, network\n"
        "linear : no",
    )
    assert entry._replace(values={}) == Entry(
        "mine", {"a": 0.5, "b": 1e-3}, takes=("rounds", "network"), linear=False
    )
    assert set(entry.values) == {"a", "b", "c"}
    words, fits = entry.values["b"]
    assert words == "in [0, 2)"
    assert [fits(value) for value in (-0.1, 0.0, 2.0, math.nan)] == [False, True, False, False]
    assert entry.values["c"][0] == "at least 2 and finite"
    with pytest.raises(ValueError, match="no line 'takse'"):
        declared_entry("mine", "Mine.\n\nEstimator\n---------\ntakse : rounds")
    with pytest.raises(ValueError, match="is not an interval"):
        declared_entry("mine", "Mine.\n\nParameters\n----------\na : float in (0; 1)")


def test_defaults_are_values_of_the_grids() -> None:
    """What the table adds to the rules, a config of the family has, by itself or under an answer.

    OMTL's `epoch` is 0 under an answer: an estimator need not know how long its stream is.
    """
    papers = {name.partition("/")[0] for name in options("reading") if "/" in name}
    answers = [
        sets
        for paper in sorted(papers)
        for question in questions(paper).values()
        for sets in question.options.values()
    ]
    grids: dict[str, dict[str, set[float]]] = {}
    for name in options("algorithm"):
        spec = AlgorithmSpec.named(name)
        for changed in ({}, *answers):
            found = spec.patched(changed)
            values = {k: [v] for k, v in found.fixed.items()} | found.grid
            known = grids.setdefault(found.learner.split(".")[2], {})
            for parameter, numbers in values.items():
                known.setdefault(parameter, set()).update(numbers)
    compared = 0
    for name, entry in TABLE.items():
        for parameter, default in entry.defaults.items():
            if parameter in grids.get(entry.module, {}):
                assert default in grids[entry.module][parameter], (name, parameter)
                compared += 1
    assert compared > 20


def test_the_rules_alone_need_no_scikit_learn() -> None:
    """The modules of `omtl.learners` stay light; the estimators bring scikit-learn."""
    code = (
        "import sys, omtl.learners, omtl.learners.rom; assert 'sklearn' not in sys.modules;"
        "from omtl.sklearn import ROMPGD; assert 'sklearn' in sys.modules;"
        "assert ROMPGD.__module__ == 'omtl.sklearn' and ROMPGD is not omtl.learners.rom.ROMPGD"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


ORDERED = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "it shuffles weighted and repeated examples in different orders",
)
FAILING = {"Majority": {"check_classifiers_train": "it looks at no feature"}}
"""The checks that an estimator at its defaults cannot pass, with the reason; as scikit-learn's own
SGDClassifier, all others are `ORDERED`."""


def assert_checks_pass(model: MultiTaskClassifier, failing: dict[str, str]) -> None:
    """Assert that scikit-learn's checks pass, but those that are expected to fail, which do."""
    results = check_estimator(model, expected_failed_checks=failing, on_skip=None)
    status = {each["check_name"]: each["status"] for each in results}
    assert {name for name, got in status.items() if got == "xfail"} == set(failing)
    # It needs an environment variable before SciPy is imported.
    assert {name for name, got in status.items() if got == "skipped"} <= {"check_array_api_input"}
    assert len(status) > 40


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("name", TABLE)
def test_scikit_learn_checks(name: str) -> None:
    """scikit-learn's own suite, of every estimator at its defaults."""
    assert_checks_pass(ESTIMATORS[name](), FAILING.get(name, ORDERED))


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_of_compiled_code() -> None:
    """The same of a compiled loop."""
    assert_checks_pass(PassiveAggressive(C=0.1), ORDERED)


@pytest.mark.parametrize("variant", VARIANTS)
def test_parameters(variant: str) -> None:
    """get_params, set_params, clone, repr and an explicit signature."""
    model = estimator(variant)
    params = model.get_params()
    assert set(params) == {*model.rules._fields, *model.entry.takes}
    assert clone(model).get_params() == params
    assert list(inspect.signature(type(model)).parameters) == [
        *model.rules._fields,
        *model.entry.takes,
    ]
    for name in params:
        assert (
            f"\n{name}" in model.__doc__ or "As in" in model.__doc__ or f", {name}" in model.__doc__
        )
    with pytest.raises(TypeError, match="nonsense"):
        type(model)(nonsense=1)


def test_search_and_cross_validation_route_the_task() -> None:
    """GridSearchCV, cross_val_score and Pipeline pass the tasks on where they are asked to."""
    X, y, task = blobs()
    with config_context(enable_metadata_routing=True):
        model = PassiveAggressive().set_fit_request(task=True, tasks=True)
        model.set_score_request(task=True)
        told = {"task": task, "tasks": range(4)}
        search = GridSearchCV(model, {"C": [1e-6, 0.1]}, cv=3).fit(X, y, **told)
        assert search.best_params_ == {"C": 0.1}
        assert cross_val_score(search.best_estimator_, X, y, params=told, cv=3).min() > 0.6
        scaled = make_pipeline(StandardScaler(), model)
        assert scaled.fit(X, y, **told).score(X, y, task=task) > 0.8
    bare = make_pipeline(StandardScaler(), PassiveAggressive())
    bare.fit(X, y, passiveaggressive__task=task)
    np.testing.assert_array_equal(
        bare.predict(X, task=task), bare[-1].predict(bare[0].transform(X), task)
    )


@pytest.mark.usefixtures("slowly")
def test_a_network_is_a_parameter() -> None:
    """By name, by the options of `mixing_matrix`, by weights; nodes where they are not tasks."""
    X, y, task = blobs()
    by_name, by_options, by_weights, other = (
        DOM1(network=network).fit(X, y, task).decision_function(X, task)
        for network in ("ring", {"topology": "ring"}, mixing_matrix(4, "ring"), "full")
    )
    np.testing.assert_array_equal(by_name, by_options)
    np.testing.assert_array_equal(by_name, by_weights)
    assert not np.array_equal(by_name, other)
    two = DOM1(network={"n_nodes": 2})
    with pytest.raises(ValueError, match=r"2 nodes for 4 tasks: give the node .* \(node=\)"):
        two.fit(X, y, task)
    assert two.fit(X, y, task, node=task % 2).score(X, y, task, node=task % 2) > 0.6
