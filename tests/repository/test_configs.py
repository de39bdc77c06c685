"""Every config composes and runs in miniature; a wrong name lists the right ones."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from miniature import SERIAL, SMALL_WALK, small

from omtl.compute.engine import run
from omtl.compute.store import Store
from omtl.experiment.composition import composed
from omtl.experiment.config import (
    load_option,
    named_reading,
    options,
    patch_of,
    questions,
    resolve_jobs,
    support_of,
)
from omtl.experiment.descriptions import READ_TOO
from omtl.experiment.experiment import Experiment, Names
from omtl.experiment.naming import READINGS
from omtl.experiment.unit import compute, hyper_parameters, learner_class
from omtl.reproduction.record import line, play
from omtl.tables.plan import descriptions, plan_table
from omtl.util.errors import UserError
from omtl.util.paths import CONF, EXPERIMENTS, ROOT

TABLES = sorted(descriptions("table"))
PAPERS = sorted(path.parent.name for path in EXPERIMENTS.glob("*/readings.yaml"))
ANSWERS = [
    (paper, question, str(option))
    for paper in PAPERS
    for question, asked in questions(paper).items()
    for option in asked["options"]
]


ONLINE = [
    name
    for name in options("algorithm")
    if hasattr(learner_class(load_option("algorithm", name)["learner"]), "update")
]


@pytest.mark.parametrize(("algorithm", "network"), list(product(ONLINE, options("network"))))
def test_every_algorithm_runs_on_every_network(algorithm: str, network: str) -> None:
    """In miniature, with its whole grid."""
    result = compute(small(algorithm, network).unit(0, 0))
    assert result.arrays["examples"].tolist() == [SMALL_WALK["n_examples"]] * 4
    assert (result.arrays["mistakes"] <= SMALL_WALK["n_examples"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("group", ["algorithm", "dataset", "protocol", "network", "selection"])
def test_every_option_composes_with_hydra(group: str) -> None:
    """Each file of a group is found by its own name."""
    with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
        for name in options(group):
            assert compose("config", overrides=[f"{group}={name}"])[group]["name"] == name


@pytest.mark.parametrize("reading", options("reading"))
def test_every_reading_runs_by_hydra(reading: str, store: Store, monkeypatch) -> None:
    """A reading composes, and an experiment under it gives a line of text."""
    monkeypatch.setattr("omtl.reproduction.record.Store.default", lambda: store)
    small_walk = [f"dataset.options.{key}={value}" for key, value in SMALL_WALK.items()]
    config = composed([f"reading={reading}", "repeats=2", *small_walk])
    assert "PM, Synthetic: error" in line(play(config))


@pytest.mark.parametrize(
    ("overrides", "shown"),
    [
        (["protocol=heldout", "protocol.n_train=20", "selection=cv5"], ["error", "auc 0.", "nsv"]),
        (["protocol=batch_20", "algorithm=itl", "selection=cv5"], ["auc 0."]),
    ],
)
def test_what_a_protocol_measures_is_shown(
    overrides: list[str], shown: list[str], store: Store, monkeypatch
) -> None:
    """Each metric that can be had of what was measured, and no other."""
    monkeypatch.setattr("omtl.reproduction.record.Store.default", lambda: store)
    walk = {**SMALL_WALK, "n_examples": 60}
    small_walk = [f"dataset.options.{key}={value}" for key, value in walk.items()]
    told = line(play(composed(["algorithm=pm", *overrides, "repeats=1", *small_walk])))
    assert all(word in told for word in shown)
    assert ("error" in told) == ("error" in shown)


@pytest.mark.parametrize(("paper", "question", "option"), ANSWERS)
def test_every_answer_changes_what_it_names(paper: str, question: str, option: str) -> None:
    """Each patch names config values that exist; the literal answer changes nothing."""
    asked = questions(paper)[question]
    assert str(asked["literal"]) in {str(choice) for choice in asked["options"]}
    patch = patch_of({"paper": paper, "answers": {question: option}})
    assert bool(patch) == (option != str(asked["literal"]))
    for key in patch:
        group, name, *path = key.split(".")
        for chosen in options(group) if name == "*" else [name]:
            target = dict.fromkeys(READ_TOO[group]) | load_option(group, chosen)
            if group == "algorithm":  # a learner's defaults are not repeated in its config
                target["fixed"] = dict.fromkeys(hyper_parameters(target)) | target["fixed"]
            for step in path:
                assert step in target, f"{key}: {chosen} has no {step}"
                target = target[step]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({}, ["question step", "option 'long' has support None", "silent, ambiguous"]),
        ({"support": {"long": "likely"}}, ["option 'long' has support 'likely'"]),
        ({"support": {"long": "silent", "short": "silent"}}, ["support names 'short'"]),
        ({"support": {"long": "silent"}, "found": ["x"]}, ["found must be a text"]),
    ],
)
def test_an_option_without_a_label_is_refused(
    question: dict, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"literal": "short", "options": {"short": {}, "long": {}}, **question}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "readings.yaml").write_text(yaml.safe_dump({"questions": {"step": asked}}))
    monkeypatch.setattr("omtl.experiment.papers.EXPERIMENTS", tmp_path)
    with pytest.raises(UserError) as told:
        questions("mine")
    assert all(word in str(told.value) for word in [str(tmp_path), *words])


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("reading", READINGS)
def test_a_standard_reading_takes_only_answers_of_its_support(paper: str, reading: str) -> None:
    asked = questions(paper)
    answers = named_reading(paper, reading)["answers"]
    taken = {support_of(asked[question], answer) for question, answer in answers.items()}
    assert taken <= set(READINGS[reading])


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_a_cell_for_each_published_number(table: str) -> None:
    """And every cell's experiment composes under each of its readings."""
    paper = table.partition("-")[0]
    for reading in READINGS:
        planned = plan_table(table, named_reading(paper, reading))
        places = {(c.dataset, c.algorithm, c.task, c.metric) for c in planned.cells}
        assert len(planned.cells) == len(places)
        assert all(cell.experiment.points for cell in planned.cells)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: load_option("algorithm", "dom3"), ["no algorithm 'dom3'", "dom1", "coml"]),
        (lambda: plan_table("dom-table9", {}), ["no table 'dom-table9'", "dom-table1"]),
        (lambda: named_reading("dom", "as_publshed"), ["did you mean 'as_published'"]),
        (lambda: patch_of({"paper": "dom", "answers": {"incr": "std"}}), ["no question", "draw"]),
        (lambda: patch_of({"paper": "dom", "answers": {"draw": "x"}}), ["no answer", "once"]),
        (lambda: resolve_jobs({"jobs": 0}), ["parallel.jobs=0", "positive"]),
        (
            lambda: Experiment.compose(
                Names("dom1", "random_walk", "rounds"), named_reading("dom", "as_written")
            ),
            ["dom1", "network"],
        ),
    ],
)
def test_wrong_names_list_the_right_ones(call, words: list[str]) -> None:
    """One sentence that says what is wrong and what there is."""
    with pytest.raises(UserError) as fault:
        call()
    for word in words:
        assert word in str(fault.value)


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (["omtl", "table", "dom-table7"], "dom-table1"),
        (["omtl", "table", ""], "dom-table1"),
        (["omtl", "search", "nothing"], "dom-table1"),
        (["omtl", "readings", "nothing"], "dom-table1"),
        (["omtl", "table", "dom-table1", "--reading", "nobody"], "as_written"),
        (["omtl", "table", "dom-table1", "--repeats", "0"], "positive"),
        (["omtl", "table", "dom-table1", "--parallel", "cluster"], "threads"),
        (["omtl", "run", "algorithm.grid.eta=[x]", "repeats=1"], "does not fit"),
        (["omtl", "run", "algorithm.learner=omtl.nothing.X", "repeats=1"], "cannot be imported"),
        (["omtl", "run", "dataset.options.increment_is=sd", "repeats=1"], "variance, std"),
        (["omtl", "run", "algorithm=dom1", "+network.edges=[[0,1]]", "repeats=1"], "reached"),
    ],
)
def test_commands_end_a_mistake_with_status_2_and_one_sentence(
    command: list[str], word: str
) -> None:
    """No traceback, the right names, status 2."""
    ended = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert word in ended.stderr


def test_a_run_of_wrong_units_says_why(store: Store) -> None:
    """NS needs a node a task."""
    experiment = small("ns")
    assert experiment.network is not None
    experiment.network["n_nodes"] = 3
    outcome = run(experiment.repeats(0, 1), store, SERIAL, quiet=True)
    assert "3 nodes for 4 tasks" in next(iter(outcome.failed.values())).reason
