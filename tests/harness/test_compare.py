"""Comparing learners, foreign ones among them: hyper-parameters, metrics, tests of differences."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from golden_files import assert_as_golden
from miniature import SMALL_RUN
from scipy import sparse

from omtl.compute.store import Store
from omtl.datasets import from_arrays
from omtl.evidence.compared_learners import (
    COLUMNS,
    comparison_notes,
    default_selection,
    judge_learners,
    play_learners,
    tuned,
)
from omtl.experiment.composition import ComposedRun, composed
from omtl.experiment.config import load_option
from omtl.experiment.playing import new_learner, setting_of
from omtl.experiment.specs import AlgorithmSpec, ProtocolSpec
from omtl.experiment.unit import CONDITIONAL, FRESH_DRAWS, ONE_DATA_SET, Experiment, Unit
from omtl.learners.foreign import Foreign
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.measures.metrics import METRICS
from omtl.reference.conformance import CHECKS, PASS, look_at
from omtl.reference.problems import problem, recorded
from omtl.util.errors import UserError
from omtl.util.paths import ROOT
from omtl.util.result_files import as_csv
from omtl.util.user_folder import VARIABLE


def config_of(*words: str) -> ComposedRun:
    """Return what is composed, on a few examples."""
    return composed([*SMALL_RUN, *words])


def test_compared_learners_are_sorted_and_tested(store: Store) -> None:
    """The best first, each beside its paired difference, corrected by Holm's method.

    One that diverges is told, and not ranked.
    """
    words = ("algorithm=pa", "selection=oracle", "dataset.options.n_examples=60", "repeats=5")
    run = composed([*words, "parallel=serial"])
    found = play_learners(run, ["majority", "pm", "pa", "arow"], store)
    assert_as_golden(as_csv(found[[*COLUMNS]], 6), "comparison.csv")
    wild = replace(AlgorithmSpec.named("pm"), grid={"eta": [1e308]}, fixed={"margin": 1.0})
    with pytest.raises(UserError, match="diverged in 5 of 5 repeats"):
        play_learners(replace(run, algorithm=wild), ["pa"], store)


def test_a_metric_has_its_own_selection() -> None:
    assert [default_selection(name) for name in ("error", "auc")] == ["progressive", "cv5"]


def test_learners_of_one_label_are_told_apart(store: Store) -> None:
    """By the names of their configs; of one name there can be only one."""
    theirs = replace(AlgorithmSpec.named("pm"), label="PA")
    config = config_of("algorithm=pa", "selection=prefix")
    found = play_learners(config, [theirs], store)
    assert {*found["label"]} == {"PA (pa)", "PA (pm)"}
    with pytest.raises(UserError, match="two learners are called 'pa'"):
        play_learners(config, [replace(theirs, name="pa")], store)


def test_baselines_are_tuned(store: Store) -> None:
    """By grids of their own where their papers have none; the learner that is asked for is not."""
    known = load_option("comparison", "default")
    assert set(known["tuned"]) <= set(known["algorithms"])
    baselines = [tuned(name, known["tuned"]) for name in known["algorithms"]]
    plays = {(one.learner, str(one.fixed), str(one.grid)) for one in baselines}
    assert len(plays) == len(baselines)
    config = config_of("selection=prefix", "algorithm=pa")
    found = play_learners(config, ["pa_pooled"], store, grids=known["tuned"])
    params = found.set_index("algorithm")["params"]
    assert params["pa"] == [{"C": np.inf}] * 2
    assert {point["C"] for point in params["pa_pooled"]} <= {*known["tuned"]["pa_pooled"]["C"]}


def test_json_of_a_comparison_has_fixed_keys(told) -> None:
    """With all that names the numbers; parameters by repeat, and infinity as such."""
    found = json.loads(
        told("compare", "algorithm=pa", "--against", "coml,majority", *SMALL_RUN, "--json")
    )
    named = ("version", "dataset", "protocol", "seed", "selection", "reading", "repeats", "metric")
    assert set(named) <= set(found)
    assert found["selection"] == "progressive"
    keys = {tuple(row) for row in found["rows"]}
    assert len(keys) == 1
    rows = {row["algorithm"]: row for row in found["rows"]}
    assert rows["pa"]["params"] == [{"C": "inf"}] * 2
    assert len(rows["coml"]["params"]) == 2
    assert rows["pa"]["difference"] is None


def test_a_single_repeat_has_no_interval() -> None:
    """An end that does not exist is no number, rather than an infinite one."""
    rows = [
        {"algorithm": name, "label": name, "values": np.ones(1), "repeats_are_of": ONE_DATA_SET}
        for name in ("pa", "pm")
    ]
    judged = judge_learners(rows, METRICS["error"])
    assert judged.filter(regex="low|high|std").isna().all(axis=None)


def test_a_learner_behind_majority_is_warned_of() -> None:
    """Where the majority beats all, or some, it is said; and what intervals cover."""
    values = np.array([10.0, 11.0])
    numbers = {"mine": values + 1.0, "pa": values - 1.0, "majority": values}

    def notes(*names: str, metric: str = "error", of: str = FRESH_DRAWS) -> list[str]:
        rows = [{"algorithm": name, "label": name.title()} for name in names]
        full = [row | {"values": numbers[row["algorithm"]], "repeats_are_of": of} for row in rows]
        return comparison_notes(judge_learners(full, METRICS[metric]))

    beaten = notes("mine", "majority", of=ONE_DATA_SET)
    assert beaten[1] == CONDITIONAL
    assert "all others make more errors than Majority" in beaten[2]
    assert "among them Mine" in beaten[2]
    one = notes("pa", "majority", "mine")
    assert "1 of the others" in one[1]
    assert "not Pa" in one[1]
    assert len(notes("pa", "majority")) == 1
    assert len(notes("mine", "majority", metric="auc")) == 1


EXAMPLES = ROOT / "examples" / "foreign"
NAMES = sorted(path.stem for path in (EXAMPLES / "algorithm").glob("*.yaml"))


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the example's folder the user's own."""
    monkeypatch.setenv(VARIABLE, str(EXAMPLES))
    monkeypatch.syspath_prepend(str(EXAMPLES))


def algorithm(name: str) -> AlgorithmSpec:
    """Return a config of the example's folder; skip where its package is not there."""
    if name == "two_layers" and find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    return AlgorithmSpec.named(name)


def unit(spec: AlgorithmSpec) -> Unit:
    """Return a small unit of an algorithm."""
    whole = composed(["dataset=random_walk", "dataset.options.n_examples=20"])
    return replace(whole, algorithm=spec).experiment.repeats(0, 1)[0]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("name", NAMES)
def test_examples_pass_all_checks(name: str) -> None:
    learner = new_learner(algorithm(name), algorithm(name).points[-1])
    found = list(look_at(learner))
    assert len(found) == len(CHECKS)
    assert [one for one in found if one.result != PASS] == []


RIVER_PA = {"_target_": "river.linear_model.PAClassifier", "C": 1.0, "learn_intercept": False}


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("pooled", [False, True])
def test_pa_of_river_is_ours(is_sparse: bool, pooled: bool) -> None:
    case = problem((30, 20, 25))
    if is_sparse:
        case = case.sparse
    theirs = Foreign.made_of(RIVER_PA | {"C": 0.3, "pooled": pooled})
    ours = recorded(PassiveAggressive(0.3, pooled), case).scores
    assert np.abs(ours).max() > 0.5
    # p − (1 − p), with p the logistic function of w·x
    np.testing.assert_allclose(recorded(theirs, case).scores, np.tanh(ours / 2.0), atol=1e-13)


def test_features_of_one_example_alone_are_there() -> None:
    """They change the norm that a class may divide by; learners of ours are told the norm."""
    X = sparse.csr_array(np.eye(6, 40) + np.eye(6, 40, 20) + np.outer(np.ones(6), np.eye(40)[39]))
    data = from_arrays(X, [1, -1] * 3, [*"aaabbb"])
    ours = AlgorithmSpec.named("pa")
    theirs = replace(ours, learner="omtl.learners.foreign.Foreign", grid={}, fixed=RIVER_PA)
    features = []
    for each in (ours, theirs):
        experiment = Experiment(each, data.spec, ProtocolSpec.named("rounds"))
        features.append(setting_of(experiment.unit(0, 0)).tasks.X.shape[1])
    assert features == [1, 40]


@pytest.mark.usefixtures("own")
def test_keys_are_of_the_class_and_its_arguments() -> None:
    spec = algorithm("sgd_hinge")
    others = [
        spec.patched({"algorithm.*.fixed._target_": "sklearn.linear_model.Perceptron"}),
        spec.patched({"algorithm.*.fixed.loss": "log_loss"}),
        algorithm("river_pa"),
    ]
    keys = [unit(one).key for one in (spec, *others)]
    assert len(set(keys)) == len(keys)
