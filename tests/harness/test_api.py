"""What people import: the public names, what they take, and what they return."""

from __future__ import annotations

import doctest
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from environments import python
from miniature import clinics
from sklearn.linear_model import SGDClassifier

import omtl
from omtl import datasets, results
from omtl.api.source import written_class
from omtl.experiment.playing import learner_class
from omtl.ops import axpy, dot
from omtl.sklearn.parameters import declared_entries
from omtl.util.errors import UserError
from omtl.util.paths import ROOT

MARGIN = 1.0

SMALL = {"repeats": 2, "parallel": "serial"}


class Descent(NamedTuple):
    """Gradient descent, each task alone, made up here; its margin is the module's."""

    eta: float = 0.1

    def new_state(self, shape):
        """Return zero weights."""
        return np.zeros((shape.n_tasks, shape.n_features))

    def score(self, state, x):
        """Return w·x."""
        return dot(state[x.task], x)

    def update(self, state, x, y, score):
        """Step where the margin is small."""
        if y * score >= MARGIN:
            return False
        axpy(self.eta * y, x, state[x.task])
        return True


@pytest.fixture(autouse=True, scope="module")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is written in a home of these tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMTL_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def frame() -> pd.DataFrame:
    """Two clinics, with a feature that is the same everywhere."""
    return clinics().assign(one=1.0)


def test_the_package_shows_its_public_names_and_imports_nothing() -> None:
    """All can be had, and none is had before it is used."""
    code = "import sys, omtl; print(sum(n in sys.modules for n in ('numpy', 'pandas', 'hydra')))"
    assert python("-c", code).stdout == "0\n"
    assert {*omtl.__all__, "ROMPGD", "datasets", "__version__"} <= set(dir(omtl))
    assert all(getattr(omtl, name) is not None for name in dir(omtl))
    assert not [name for name in dir(omtl) if name.startswith("_") and name != "__version__"]
    for module in (datasets, results, omtl.sklearn):
        assert sorted(module.__all__) == dir(module)
    assert (Path(omtl.__file__).parent / "py.typed").exists()
    with pytest.raises(AttributeError, match="no attribute 'tabel'"):
        omtl.tabel  # noqa: B018


def test_a_class_of_this_file_is_compared_on_a_frame(frame: pd.DataFrame) -> None:
    """With a grid of its own, beside a name, an estimator and a classifier of scikit-learn."""
    data = datasets.from_frame(frame, label="ill", task="clinic", name="clinics")
    others = ["MAJORITY", omtl.PassiveAggressive(C=0.2), SGDClassifier(alpha=0.01)]
    found = omtl.compare(Descent, data, against=others, grid={"eta": [0.1, 1.0]}, **SMALL)
    assert set(found.frame["algorithm"]) == {
        *("Descent", "majority", "PassiveAggressive(C=0.2)", "SGDClassifier(alpha=0.01)")
    }
    best = found.frame.set_index("algorithm")["mean"]
    assert best["Descent"] < 20.0 < best["majority"]
    assert len(found.repeats) == 8
    assert {"Descent", "Majority"} <= set(found.curves["label"])
    assert "Descent" in found.to_latex()
    assert "Descent" in found._repr_html_()
    assert "Descent" in repr(found)
    ax = found.plot()
    assert found.plot(ax) is ax


@pytest.mark.usefixtures("slowly")
def test_targets_of_ones_own_are_learnt(
    frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a frame, by absolute errors, the rule without hindsight being that of such errors."""
    targets = frame.assign(bill=0.5 * frame["age"] - 1.0).drop(columns="ill")
    data = datasets.from_frame(targets, label="bill", task="clinic", name="bills", real=True)
    assert data.y.tolist() == targets["bill"].tolist()
    done = omtl.run("parameter_free", data, protocol="regression", **SMALL)
    assert done.record["config"]["selection"]["name"] == "progressive_absolute"
    assert done.repeats["absolute_error"].notna().all()
    longest = np.linalg.norm(data.X, axis=1).max()
    told = [line for line in capsys.readouterr().err.splitlines() if "bets may grow" in line]
    assert len(told) == 1
    assert f"rows of bills are up to {longest:.4g} long" in told[0]
    bounded = omtl.ParameterFree(lipschitz=float(np.ceil(longest)))
    omtl.run(bounded, data, protocol="regression", **SMALL)
    assert "bets may grow" not in capsys.readouterr().err


def test_runs_of_objects_are_those_of_names(frame: pd.DataFrame) -> None:
    """A fixed instance runs with its own values; strings of Hydra work beside keywords."""
    few = "dataset.options.n_examples=20"
    one = omtl.run("PM", "opposed_tasks", few, **SMALL)
    two = omtl.run(few, "algorithm=pm", dataset="opposed_tasks", **SMALL)
    assert one.frame["error"].tolist() == two.frame["error"].tolist()
    read = {"reading": "dom/as_published", "seed": np.int64(0), **SMALL}
    loaded = datasets.load("random_walk", n_examples=20)
    by_name = omtl.compare("pm", few, dataset="random_walk", against=["pa"], **read)
    by_object = omtl.compare("pm", loaded, against=[omtl.PassiveAggressive], **read)
    assert by_object.frame.equals(by_name.frame)
    assert by_object.config == by_name.config
    assert loaded not in (datasets.load("Random_Walk", n_examples=20), None)
    data = datasets.from_frame(frame, label="ill", task="clinic")
    fixed = omtl.run(algorithm=omtl.PassiveAggressive(C=0.01), dataset=data, **SMALL)
    assert fixed.record["params"][0]["C"] == 0.01
    assert len(fixed.repeats) == 2
    assert fixed.curves["examples"].iloc[-1] == 120
    assert "PassiveAggressive(C=0.01)" in repr(fixed)


def test_a_sweep_marks_the_best_and_keeps_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    few = "dataset.options.n_examples=20"
    runs = omtl.sweep(few, "seed=0,1", algorithm=["pm", "stl"], **SMALL)
    assert runs.frame["algorithm"].tolist() == ["pm", "pm", "stl", "stl"]
    assert runs.frame["failed"].notna().tolist() == [False, False, True, True]
    labels = [line.get_label() for line in runs.plot().lines]
    assert labels == ["PM, Synthetic (0)", "PM, Synthetic (1)"]
    assert runs.best in ("0", "1")
    assert repr(runs).count("best") == 1
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal's colours belong to no text
    assert "\x1b" not in repr(runs)
    runs = omtl.sweep("pm", few, "algorithm.eta=0.1,[0.1,1]", **SMALL)
    assert [record["params"][0]["eta"] for record in runs.records.values()] == [0.1, 0.1]
    assert [*runs.frame["algorithm.eta"]] == ["0.1", "[0.1, 1]"]


def test_a_network_that_changes_nothing_is_not_ignored_in_silence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    small = "dataset.options.n_examples=20"
    omtl.sweep(small, algorithm=["pm", "dom1"], network=["full", "ring"], **SMALL)
    omtl.run("pm", small, network="grid", **SMALL)
    omtl.run("pm", small, "network.weights=equal", **SMALL)
    omtl.compare("pm", small, against=["pa"], network="ring", **SMALL)
    omtl.compare("pm", small, against=["dom1"], network="ring", **SMALL)
    said = [line for line in capsys.readouterr().err.splitlines() if "no learner" in line]
    named = ("network=full,ring", "network=grid", "network.weights=equal", "network=ring")
    assert [line.partition(", so ")[2] for line in said] == [f"{n} changes nothing" for n in named]
    runs = omtl.sweep(small, algorithm=["pm", "dom1"], **SMALL)
    assert runs.frame["network"].isna().tolist() == [True, False]
    assert "no learner" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("says", "call"),
    [
        ("one_draw is for tables", lambda: omtl.figure("dom-fig2", one_draw=True)),
        ("repeats='auto' is for tables", lambda: omtl.figure("dom-fig2", repeats="auto")),
        ("leave repeats out", lambda: omtl.board(["pa", "pm"], repeats=3, published=True)),
        ("grid=", lambda: omtl.run("pa", "random_walk", grid=["C"])),
        ("dataset must be one data set", lambda: omtl.run("pa", ["random_walk"])),
    ],
)
def test_what_would_be_ignored_or_fail_is_refused(says: str, call: Callable[[], object]) -> None:
    with pytest.raises(UserError, match=says):
        call()


def test_what_a_class_names_in_its_module_is_written_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numbers are written beside it, to the last bit; of other objects the name is told."""
    for margin in (math.inf, 0.1):
        monkeypatch.setattr(sys.modules[__name__], "MARGIN", margin)
        assert learner_class(written_class(Descent)).update.__globals__["MARGIN"] == margin
    monkeypatch.setattr(sys.modules[__name__], "MARGIN", HTTPStatus.OK)
    with pytest.raises(UserError, match="'MARGIN', of type"):
        omtl.check(Descent)


def test_a_claim_is_explained_with_the_reason_why_it_fails() -> None:
    """By its id, beside the names of cells; under another reading with that reading's outcome."""
    facts = omtl.explain("rom-table2", "rom-ahead-of-all").facts
    assert (facts["in print"], facts["ours"]) == ("true", "fails")
    assert "Each Movie" in facts["why it fails as published"]
    written = omtl.explain("rom-table2", "ROM-ahead-of-all", reading="as_written").facts
    assert (
        written["ours"]
        == results.claims("rom").set_index("claim").loc["rom-ahead-of-all", "as_written"]
    )


def test_the_learner_is_named_whose_number_is_the_best_of_a_row() -> None:
    """Of a row that prints the best of several."""
    cell = "OMTL-B on Synthetic (delta2=0.09), task5"
    facts = omtl.explain("rom-table1", cell, reading="as_written").facts
    assert facts["best of"] == "OMTL-Cov, OMTL-LogDet, OMTL-VonNeumann: ours is of OMTL-LogDet"


def test_a_table_shows_plots_and_explains_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = omtl.table("DOM-Table1", cell="pa on synthetic", repeats=2)
    with monkeypatch.context() as forced:
        forced.setenv("FORCE_COLOR", "1")
        assert "\x1b" not in repr(table)
    (row,) = table.frame.to_dict("records")
    assert row["algorithm"] == "PA"
    assert row["verdict"] in ("match", "near", "off")
    assert len(table.repeats) == 2
    assert r"\begin{table}" in table.to_latex()
    assert "PA" in table._repr_html_()
    assert table.plot().get_xlabel() == "published"
    table.show()
    assert "our mean differs by" in capsys.readouterr().out
    found = table.explain("PA on Synthetic")
    assert found.facts["ours"].startswith("12.")
    said = "selection: oracle: in hindsight, the point with the fewest mistakes over all tasks"
    assert said in found.lines


def doctests() -> dict[str, doctest.DocTest]:
    """Return the examples of the page and of all public functions."""
    found = {}
    for page in ("python.md", "library.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        blocks = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
        found[page] = doctest.DocTestParser().get_doctest(blocks, {}, page, None, 0)
    modules = [getattr(omtl, name) for name in ("datasets", "results", "sklearn", "river", "ops")]
    public = {name: getattr(omtl, name) for name in {*omtl.__all__, *omtl.MODULES}}
    for module in modules[:-1]:  # the learners' examples are tested with their help
        names = set(module.__all__) - set(declared_entries())
        public |= {f"{module.__name__}.{name}": getattr(module, name) for name in names}
    for name, each in public.items():
        scope = vars(each if inspect.ismodule(each) else sys.modules[each.__module__])
        (found[name],) = doctest.DocTestFinder(recurse=False).find(each, name, globs=dict(scope))
    return dict(sorted(found.items()))


@pytest.mark.parametrize("name", doctests())
def test_examples_run_and_print_what_they_show(name: str) -> None:
    test = doctests()[name]
    assert test.examples
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed, _ = runner.run(test, out=told.append)
    assert not failed, "".join(told)
