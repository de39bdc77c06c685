"""Comparing learners: hyper-parameters on the command line, metrics, tests of differences."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miniature import AS_WRITTEN, SERIAL, small

from omtl.commands import _main
from omtl.compute.store import Store
from omtl.evidence.compared_learners import (
    comparison_notes,
    default_selection,
    judge_learners,
    play_learners,
)
from omtl.evidence.comparisons import UNDECIDED, WORSE
from omtl.experiment.composition import ComposedRun, composed
from omtl.experiment.config import load_option, options
from omtl.experiment.experiment import CONDITIONAL, FRESH_DRAWS, ONE_DATA_SET
from omtl.experiment.playing import new_learner
from omtl.experiment.readings import questions
from omtl.experiment.specs import AlgorithmSpec, NetworkSpec, SelectionSpec
from omtl.measures.metrics import METRICS
from omtl.util.errors import UserError
from omtl.util.paths import EXPERIMENTS


def test_compared_learners_are_sorted_and_tested(store: Store) -> None:
    """The best first, each beside its paired difference; one that diverges is told, not ranked."""
    run = ComposedRun(
        algorithm=AlgorithmSpec.named("pa"),
        dataset=small("pa").dataset,
        protocol=small("pa").protocol,
        network=NetworkSpec.named("full"),
        reading=AS_WRITTEN,
        selection=SelectionSpec.named("oracle"),
        parallel=SERIAL,
        seed=0,
        repeats=3,
        metric=None,
    )
    found = play_learners(run, ["majority", "pm", "pa"], store)
    assert found["mean"].is_monotonic_increasing
    assert sorted(found["algorithm"]) == ["majority", "pa", "pm"]
    assert found["difference"].isna().tolist() == found["is_mine"].tolist()
    wild = replace(AlgorithmSpec.named("pm"), grid={"eta": [1e308]}, fixed={"margin": 1.0})
    with pytest.raises(UserError, match="diverged in 3 of 3 repeats"):
        play_learners(replace(run, algorithm=wild), ["pa"], store)


def test_differences_are_corrected_for_being_many() -> None:
    """By Holm's method; a difference of nothing is undecided."""
    rng = np.random.default_rng(0)
    base = rng.normal(10.0, 1.0, 8)
    numbers = {"mine": base + 1.0 + 0.01 * rng.normal(size=8), "a": base}
    numbers["b"] = base + 1.0 + 0.5 * rng.normal(size=8)
    rows: list[dict[str, Any]] = [
        {"algorithm": name, "label": name, "values": values} for name, values in numbers.items()
    ]
    rows.append({"algorithm": "c", "label": "c", "why": "diverged"})
    found = judge_learners(rows, METRICS["error"]).set_index("algorithm")
    outcomes = {"mine": "", "a": WORSE, "b": UNDECIDED, "c": ""}
    assert found["significance"].to_dict() == outcomes
    assert found["p_holm"]["a"] <= found["p_holm"]["b"] <= 1.0


def test_one_repeat_has_no_interval(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is said so, and the repeat is one."""
    monkeypatch.setenv("OMTL_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["omtl"])
    experiment = ["dataset.options.n_examples=20", "repeats=1", "parallel=serial"]
    assert _main.main(["compare", "algorithm=pa", "--only", "pm", *experiment]) == 0
    out = capsys.readouterr().out
    assert "1 repeat, seed 0" in out
    assert out.count("none") == 3  # of each algorithm, and of their difference
    assert "inf" not in out
    assert _main.main(["run", "algorithm=pa", *experiment]) == 0
    assert "(1 repeat, reading as_written" in capsys.readouterr().out


SMALL = ("dataset.options.n_examples=20", "repeats=2", "parallel=serial")


@pytest.mark.parametrize(
    ("words", "point"),
    [
        (("algorithm=dom1", "algorithm.eta=0.1", "algorithm.b=2"), {"eta": [0.1], "b": [2]}),
        (("algorithm=pa", "algorithm.C=[0.1,1]"), {"C": [0.1, 1]}),
        (("algorithm=pm", "algorithm.margin=0.5"), {"margin": [0.5]}),
        (("algorithm.eta=3",), {"eta": [3]}),
    ],
)
def test_a_hyper_parameter_is_set_in_one_way(
    words: tuple[str, ...], point: dict[str, list[float]]
) -> None:
    """Whether the config fixes it, searches it or leaves it at its default."""
    points = composed(words).experiment.points
    for name, values in point.items():
        assert {each[name] for each in points} == set(values)


def test_a_hyper_parameter_is_swept(told) -> None:
    """As Hydra's users type it; each value is played, and the line says which."""
    words = ("algorithm=dom1", "algorithm.eta=0.1,1", "selection=oracle", *SMALL)
    lines = [line for line in told("run", "-m", *words).splitlines() if "reading" in line]
    assert [("'eta': 0.1," in line, "'eta': 1," in line) for line in lines] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize(
    ("word", "what"),
    [
        ("+algorithm.fixed.eta=0.1", "eta is both in fixed and in grid; set it by algorithm.eta="),
        ("algorithm.fixed.eta=0.1", "eta is both in fixed and in grid; set it by algorithm.eta="),
        ("algorithm.etta=0.1", "no hyper-parameter of algorithm dom1 'etta' (did you mean 'eta'?)"),
        ("algorithm.b=-5", "b=-5 must be at least 0"),
        ("algorithm.grid.eta=[-1]", "eta=-1 must be positive"),
        ("selection.fraction=0", "fraction=0 must be above 0 and at most 1"),
        ("selection.fraction=2", "fraction=2 must be above 0 and at most 1"),
        ("protocol.checkpoints=0", "checkpoints=0 must be a positive whole number"),
    ],
)
def test_values_that_are_not_played(word: str, what: str) -> None:
    """A key in both places, a name that is none, a value out of the declared range."""
    with pytest.raises(UserError, match=re.escape(what)):
        experiment = composed(["algorithm=dom1", "selection=prefix", *SMALL, word]).experiment
        for point in experiment.points:
            new_learner(experiment.algorithm, point)


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*/readings.yaml")))
def test_no_answer_is_out_of_range_or_set_twice(path: Path) -> None:
    """Alone, in any algorithm's config; a config that an answer leaves as it is counts once."""
    algorithms = [AlgorithmSpec.named(name) for name in options("algorithm")]
    asked = questions(path.parent.name).values()
    patches = [patch for question in asked for patch in question.options.values()]
    for algorithm in algorithms:
        configs = [algorithm.patched(patch) for patch in patches]
        for config in [algorithm, *(config for config in configs if config != algorithm)]:
            for point in config.points:
                new_learner(config, point)


def config_of(*words: str) -> ComposedRun:
    """Return what is composed, on a few examples."""
    return composed([*SMALL, *words])


def test_a_metric_has_its_own_selection(store: Store) -> None:
    """AUC is not told at the point of the fewest mistakes, nor errors at that of the best AUC."""
    for word, metric in (("oracle", "auc"), ("prefix", "auc"), ("oracle_auc", "error")):
        with pytest.raises(UserError, match=f"not for {metric}; use selection="):
            play_learners(config_of(f"selection={word}"), ["pa"], store, metric)
    assert [default_selection(name) for name in ("error", "auc")] == ["progressive", "cv5"]
    with pytest.raises(UserError, match="choose from oracle, prefix"):
        play_learners(config_of("selection=cv5"), ["pa"], store, "error")


def test_baselines_are_tuned(store: Store) -> None:
    """By grids of their own where their papers have none; the learner that is asked for is not."""
    known = load_option("comparison", "default")
    assert set(known["tuned"]) <= set(known["algorithms"])
    config = config_of("selection=prefix", "algorithm=pa")
    found = play_learners(config, list(known["tuned"]), store, grids=known["tuned"])
    params = found.set_index("algorithm")["params"]
    assert params["pa"] == [{"C": np.inf}] * 2
    assert {point["C"] for point in params["pa_pooled"]} <= {*known["tuned"]["pa_pooled"]["C"]}


def test_json_of_a_comparison_has_fixed_keys(told) -> None:
    """With all that names the numbers; parameters by repeat, and infinity as such."""
    found = json.loads(told("compare", "algorithm=pa", "--only", "coml,majority", *SMALL, "--json"))
    named = ("version", "dataset", "protocol", "seed", "selection", "reading", "repeats", "metric")
    assert set(named) <= set(found)
    assert found["selection"] == "progressive"
    keys = {tuple(row) for row in found["rows"]}
    assert len(keys) == 1
    rows = {row["algorithm"]: row for row in found["rows"]}
    assert rows["pa"]["params"] == [{"C": "inf"}] * 2
    assert len(rows["coml"]["params"]) == 2
    assert rows["pa"]["difference"] is None


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
