"""Classes of scikit-learn, river and PyTorch as learners (`omtl.learners.foreign`)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from environments import environment
from scipy import sparse

from omtl.data.streams import Tasks
from omtl.experiment.composition import composed
from omtl.experiment.playing import compute, new_learner, setting_of
from omtl.experiment.specs import FOREIGN, AlgorithmSpec
from omtl.experiment.unit import Unit
from omtl.learners.foreign import Foreign
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.learners.perceptron import Perceptron
from omtl.reference.conformance import CHECKS, PASS, look_at
from omtl.reference.problems import problem, recorded
from omtl.util import code
from omtl.util.errors import UserError
from omtl.util.paths import ROOT
from omtl.util.user_folder import VARIABLE

EXAMPLES = ROOT / "examples" / "foreign"
NAMES = sorted(path.stem for path in (EXAMPLES / "algorithm").glob("*.yaml"))

SGD = "sklearn.linear_model.SGDClassifier"


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


def foreign(target: str, **values: Any) -> Foreign:
    """Return a learner of a class."""
    return Foreign.made_of({"_target_": target, **values})


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


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("name", NAMES)
def test_a_unit_gives_the_same_bits_again(name: str) -> None:
    first, second = (compute(unit(algorithm(name))).arrays for _ in range(2))
    assert first["mistakes"].shape == (len(algorithm(name).points), 9)
    for array in first:
        np.testing.assert_array_equal(first[array], second[array])


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("pooled", [False, True])
def test_pa_of_river_is_ours(is_sparse: bool, pooled: bool) -> None:
    case = problem((30, 20, 25))
    if is_sparse:
        case = case.with_rows(sparse.csr_array(case.tasks.X))
    theirs = foreign("river.linear_model.PAClassifier", C=0.3, learn_intercept=False, pooled=pooled)
    ours = recorded(PassiveAggressive(0.3, pooled), case).scores
    assert np.abs(ours).max() > 0.5
    # p − (1 − p), with p the logistic function of w·x
    np.testing.assert_allclose(recorded(theirs, case).scores, np.tanh(ours / 2.0), atol=1e-13)


def test_perceptron_of_scikit_learn_is_ours() -> None:
    case = problem((30, 20, 25))
    options = {"loss": "perceptron", "learning_rate": "constant", "eta0": 1.0, "alpha": 0.0}
    theirs = foreign(SGD, fit_intercept=False, **options)
    ours = recorded(Perceptron(eta=1.0), case).scores
    np.testing.assert_allclose(recorded(theirs, case).scores, ours, rtol=1e-13, atol=1e-13)


def test_features_of_one_example_alone_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """They change the norm that a class may divide by; learners of ours are told the norm."""
    X = sparse.csr_array(np.eye(6, 40) + np.eye(6, 40, 20) + np.outer(np.ones(6), np.eye(40)[39]))
    tasks = Tasks(X, np.array([1.0, -1.0] * 3), np.repeat([0, 1], 3), ("a", "b"))
    module = SimpleNamespace(__name__="alone", FILES=(), load=lambda: tasks)
    for place in ("specs", "unit"):
        monkeypatch.setattr(f"omtl.experiment.{place}.data_set", lambda _: module)
    whole = composed(["dataset=spam"])
    dataset = replace(whole.dataset, name="alone", options={})
    arguments = {"_target_": "river.linear_model.PAClassifier", "C": 1.0, "learn_intercept": False}
    theirs = {"name": "pa", "label": "PA", "networked": False, "grid": {}, "fixed": arguments}
    theirs["learner"] = "omtl.learners.foreign.Foreign"
    ours = replace(AlgorithmSpec.named("pa"), fixed={"C": 1.0})
    features = []
    for each in (ours, AlgorithmSpec.read(theirs)):
        experiment = replace(whole, algorithm=each, dataset=dataset).experiment
        features.append(setting_of(experiment.repeats(0, 1)[0]).tasks.X.shape[1])
    assert features == [1, 40]


def test_classes_without_scores_answer_by_labels() -> None:
    case = problem((12, 12, 12))
    scores = recorded(foreign("river.dummy.NoChangeClassifier"), case).scores
    assert set(scores) <= {-1.0, 0.0, 1.0}
    bayes = recorded(foreign("sklearn.naive_bayes.BernoulliNB"), case).scores
    assert 0.0 < np.abs(bayes).max() <= 1.0


@pytest.mark.usefixtures("own")
def test_keys_are_of_the_class_its_arguments_and_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = algorithm("sgd_hinge")
    others = [
        spec.patched({"algorithm.*.fixed._target_": "sklearn.linear_model.Perceptron"}),
        spec.patched({"algorithm.*.fixed.loss": "log_loss"}),
        algorithm("river_pa"),
    ]
    keys = [unit(one).key for one in (spec, *others)]
    assert len(set(keys)) == len(keys)
    code._versions.cache_clear()
    monkeypatch.setattr(code, "version", lambda name: f"another {name}")
    assert unit(spec).key != keys[0]
    code._versions.cache_clear()


def test_code_of_ones_own_class_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    config = {"name": "mine", "label": "Mine", "networked": False, "fixed": {}, "grid": {}}
    spec = AlgorithmSpec.read(config | {"_target_": "my_class_of_sgd.Mine"})
    keys = []
    for doubled in ("", "2 * "):
        text = f"from sklearn.linear_model import SGDClassifier as Mine\nx = {doubled}1\n"
        (tmp_path / "my_class_of_sgd.py").write_text(text, encoding="utf-8")
        code._code_of.cache_clear()
        assert unit(spec).is_own
        keys.append(unit(spec).key)
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"_target_": SGD, "eta": 1.0}, "eta is no argument of sklearn"),
        ({"_target_": "sklearn.linear_model.SGDClassifiers"}, "cannot be imported"),
        ({"_target_": "sklearn.linear_model.LinearRegression"}, "no partial_fit, no learn_one"),
    ],
)
def test_mistakes_are_one_sentence(values: dict[str, Any], words: str) -> None:
    spec = replace(AlgorithmSpec.named("pa"), name="mine", learner=FOREIGN)
    with pytest.raises(UserError, match=f"algorithm mine: .*{words}"):
        new_learner(spec, values)


def test_values_that_do_not_fit_are_one_sentence() -> None:
    with pytest.raises(UserError, match="The 'loss' parameter of SGDClassifier must be"):
        recorded(foreign(SGD, loss="hinges"), problem((3, 3)))
    with pytest.raises(UserError, match="both learner and _target_"):
        AlgorithmSpec.read({"name": "mine", "_target_": SGD, "learner": "omtl.learners.dom.DOM1"})


@pytest.mark.slow
def test_foreign_learners_are_rows_of_tables(tmp_path: Path) -> None:
    """A table of one's own with a class of scikit-learn in place of its first algorithm."""

    def omtl(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "omtl", *words],
            cwd=tmp_path,
            env=environment(tmp_path / "home"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    shutil.copytree(EXAMPLES / "algorithm", tmp_path / "algorithm")
    omtl("new", "paper", "toy")
    table = tmp_path / "experiments" / "toy" / "table1.yaml"
    text = table.read_text(encoding="utf-8")
    assert "{algorithm: pa," in text
    table.write_text(text.replace("algorithm: pa,", "algorithm: sgd_hinge,"), encoding="utf-8")
    omtl("table", "toy-table1", "--repeats", "2")
    told = omtl("explain", "toy-table1", "PA on Synthetic", "--repeats", "2")
    assert SGD in told
    assert "0 of 2 repeats" not in told
