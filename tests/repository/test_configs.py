"""Every config composes and runs in miniature; every question and table of a paper is whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from miniature import SMALL_WALK, small

from omtl.experiment.composition import composed
from omtl.experiment.config import options
from omtl.experiment.descriptions import READINGS
from omtl.experiment.playing import compute, hyper_parameters, learner_class, new_learner
from omtl.experiment.readings import TABLE, Reading, questions
from omtl.experiment.specs import SPECS, AlgorithmSpec, known_settings
from omtl.reproduction.record import line, play_run
from omtl.sklearn.classes import ESTIMATORS
from omtl.tables.cells import places_in, planned
from omtl.tables.plan import describe, descriptions
from omtl.tables.request import Request
from omtl.util.paths import EXPERIMENTS

TABLES = sorted(descriptions("table"))
PAPERS = sorted(path.parent.name for path in EXPERIMENTS.glob("*/readings.yaml"))
ONLINE = [
    name
    for name in options("algorithm")
    if hasattr(learner_class(AlgorithmSpec.named(name).learner), "update")
]


def test_every_algorithm_has_a_learner_at_each_point() -> None:
    """How each learner plays is held by the tests of learners."""
    for spec in map(AlgorithmSpec.named, options("algorithm")):
        assert spec.points, spec.name
        for point in spec.points:
            learner = new_learner(spec, point)
            assert {name: getattr(learner, name) for name in point} == point, spec.name


def test_the_papers_that_a_config_cites_are_references_of_its_estimator() -> None:
    for spec in map(AlgorithmSpec.named, options("algorithm")):
        made = ESTIMATORS.get(spec.learner.rpartition(".")[2])
        if made is not None and made.rules is learner_class(spec.learner):
            assert set(spec.cites) <= set(made.entry.cites), spec.name


@pytest.mark.deep
@pytest.mark.parametrize("algorithm", ONLINE)
def test_every_algorithm_runs(algorithm: str) -> None:
    """In miniature, with its whole grid; on a ring if it uses a network."""
    result = compute(small(algorithm).unit(0, 0))
    assert result.arrays["examples"].tolist() == [SMALL_WALK["n_examples"]] * 4
    assert (result.arrays["mistakes"] <= SMALL_WALK["n_examples"]).all()


@pytest.mark.parametrize(
    ("overrides", "shown"),
    [
        (["protocol=heldout", "protocol.n_train=20", "selection=cv5"], ["error", "auc 0.", "nsv"]),
        (["protocol=batch_20", "algorithm=itl", "selection=cv5"], ["auc 0."]),
    ],
)
def test_what_a_protocol_measures_is_shown(
    overrides: list[str], shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each metric that can be had of what was measured, and no other."""
    monkeypatch.setenv("OMTL_HOME", str(tmp_path))
    walk = {**SMALL_WALK, "n_examples": 60}
    small_walk = [f"dataset.options.{key}={value}" for key, value in walk.items()]
    told = line(play_run(composed(["algorithm=pm", *overrides, "repeats=1", *small_walk])))
    assert all(word in told for word in shown)
    assert ("error" in told) == ("error" in shown)


def check_answer(paper: str, question: str, option: str) -> None:
    """Assert that an answer's patch names config values that exist."""
    patch = Reading(name="test", paper=paper, answers={question: option}).patch
    assert bool(patch) == (option != questions(paper)[question].literal)
    for key, value in patch.items():
        group, name, *path = key.split(".")
        if group == TABLE:
            assert path == ["spread"]
            assert describe("table", name).spread != value
            continue
        for chosen in options(group) if name == "*" else [name]:
            spec = SPECS[group].named(chosen)
            target = spec.as_mapping()
            if isinstance(spec, AlgorithmSpec):  # a learner's defaults are not in its config
                target["fixed"] = dict.fromkeys(hyper_parameters(spec)) | target["fixed"]
            for step in path:
                assert step in {*target, *known_settings()}, f"{key}: {chosen} has no {step}"
                target = target.get(step)
            assert spec.patched({key: value}).name == chosen


@pytest.mark.parametrize("paper", PAPERS)
def test_answers_change_what_they_name(paper: str) -> None:
    """The literal answer changes nothing; standard readings take answers of their support."""
    asked = questions(paper)
    for question, each in asked.items():
        assert each.literal in each.options
        for option in each.options:
            check_answer(paper, question, str(option))
    for reading, supports in READINGS.items():
        answers = Reading.of(paper, reading).answers
        assert {asked[one].support.get(answer) for one, answer in answers.items()} <= set(supports)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_a_cell_for_each_published_number(table: str) -> None:
    """And every cell's experiment composes under each of its readings."""
    for reading in READINGS:
        cells = planned(table, Request(reading))
        assert len(cells) == len(set(places_in(cells)))
        assert all(experiment.points for experiment in cells["experiment"])
