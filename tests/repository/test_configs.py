"""Every config composes and runs in miniature; every question and table of a paper is whole."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from miniature import SMALL_WALK, small

from omtl.experiment.composition import composed
from omtl.experiment.config import options
from omtl.experiment.naming import READINGS
from omtl.experiment.playing import compute, hyper_parameters, learner_class, new_learner
from omtl.experiment.readings import TABLE, Reading, questions
from omtl.experiment.specs import SPECS, AlgorithmSpec, known_settings
from omtl.reproduction.record import line, play_run
from omtl.tables.cells import places_in, planned
from omtl.tables.plan import describe, descriptions
from omtl.tables.request import Request
from omtl.util import user_folder
from omtl.util.errors import UserError
from omtl.util.paths import CONF, EXPERIMENTS

TABLES = sorted(descriptions("table"))
PAPERS = sorted(path.parent.name for path in EXPERIMENTS.glob("*/readings.yaml"))
ANSWERS = [
    (paper, question, str(option))
    for paper in PAPERS
    for question, asked in questions(paper).items()
    for option in asked.options
]


ONLINE = [
    name
    for name in options("algorithm")
    if hasattr(learner_class(AlgorithmSpec.named(name).learner), "update")
]


@pytest.mark.parametrize("algorithm", options("algorithm"))
def test_every_algorithm_has_a_learner_at_each_point(algorithm: str) -> None:
    """How each learner plays is held by the tests of learners."""
    spec = AlgorithmSpec.named(algorithm)
    points = spec.points
    assert points
    for point in points:
        learner = new_learner(spec, point)
        assert {name: getattr(learner, name) for name in point} == point


@pytest.mark.deep
@pytest.mark.parametrize("algorithm", ONLINE)
def test_every_algorithm_runs(algorithm: str) -> None:
    """In miniature, with its whole grid; on a ring if it uses a network."""
    result = compute(small(algorithm).unit(0, 0))
    assert result.arrays["examples"].tolist() == [SMALL_WALK["n_examples"]] * 4
    assert (result.arrays["mistakes"] <= SMALL_WALK["n_examples"]).all()


def test_each_repeat_has_its_own_order() -> None:
    """And always the same one."""
    plays = [compute(small("pm").unit(0, repeat)) for repeat in (0, 1, 0)]
    first, other, again = (play.arrays["mistakes"].tolist() for play in plays)
    assert first != other
    assert first == again


@pytest.mark.parametrize("network", options("network"))
def test_every_network_runs(network: str) -> None:
    result = compute(small("dom1", network).unit(0, 0))
    assert (result.arrays["mistakes"] <= SMALL_WALK["n_examples"]).all()


@pytest.mark.parametrize("group", ["algorithm", "dataset", "protocol", "network", "selection"])
def test_every_option_composes_with_hydra(group: str) -> None:
    """The files of a group are found by their names; three of each, as composing takes long."""
    names = options(group)
    with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
        for name in names[:: max(1, len(names) // 3)]:
            assert compose("config", overrides=[f"{group}={name}"])[group]["name"] == name


@pytest.mark.parametrize("reading", options("reading"))
def test_every_reading_runs_by_hydra(
    reading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reading composes, and an experiment under it gives a line of text."""
    monkeypatch.setenv("OMTL_HOME", str(tmp_path))
    small_walk = [f"dataset.options.{key}={value}" for key, value in SMALL_WALK.items()]
    config = composed([f"reading={reading}", "repeats=2", *small_walk])
    assert "PM, Synthetic: error" in line(play_run(config))


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


def answered(answers: dict[str, str], paper: str = "dom") -> Reading:
    """Return a reading with these answers."""
    return Reading(name="test", paper=paper, answers=answers)


@pytest.mark.parametrize(("paper", "question", "option"), ANSWERS)
def test_every_answer_changes_what_it_names(paper: str, question: str, option: str) -> None:
    """Each patch names config values that exist; the literal answer changes nothing."""
    asked = questions(paper)[question]
    assert asked.literal in asked.options
    patch = answered({question: option}, paper).patch
    assert bool(patch) == (option != asked.literal)
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


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({}, ["question step", "option 'long' has support None", "silent, ambiguous"]),
        ({"support": {"long": "likely"}}, ["option 'long' has support 'likely'"]),
        ({"support": {"long": "silent", "short": "silent"}}, ["support names 'short'"]),
        ({"support": {"long": "silent"}, "found": ["x"]}, ["found=['x'] must be a text"]),
    ],
)
def test_an_option_without_a_label_is_refused(
    question: dict, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"asks": "?", "says": "nothing", "columns": [], "literal": "short", **question}
    asked["options"] = {"short": {}, "long": {}}
    paper = tmp_path / "experiments" / "mine"
    paper.mkdir(parents=True)
    (paper / "readings.yaml").write_text(yaml.safe_dump({"questions": {"step": asked}}))
    monkeypatch.setenv(user_folder.VARIABLE, str(tmp_path))
    with pytest.raises(UserError) as told:
        questions("mine")
    assert all(word in str(told.value) for word in [str(tmp_path), *words])


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("reading", READINGS)
def test_a_standard_reading_takes_only_answers_of_its_support(paper: str, reading: str) -> None:
    asked = questions(paper)
    answers = Reading.of(paper, reading).answers
    taken = {asked[question].support.get(answer) for question, answer in answers.items()}
    assert taken <= set(READINGS[reading])


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_a_cell_for_each_published_number(table: str) -> None:
    """And every cell's experiment composes under each of its readings."""
    for reading in READINGS:
        cells = planned(table, Request(reading))
        assert len(cells) == len(set(places_in(cells)))
        assert all(experiment.points for experiment in cells["experiment"])
