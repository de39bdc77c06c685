"""Every config composes, every table and question of a paper is whole, and typos are refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from miniature import SMALL_WALK

from omtl.experiment import descriptions as files
from omtl.experiment import new_files
from omtl.experiment.config import options
from omtl.experiment.descriptions import describe, descriptions
from omtl.experiment.playing import hyper_parameters, learner_class, new_learner
from omtl.experiment.readings import READINGS, Reading, Readings, questions
from omtl.experiment.schema import UNIONS, keys_of, read_yaml
from omtl.experiment.specs import SPECS, AlgorithmSpec, known_settings
from omtl.sklearn.classes import ESTIMATORS
from omtl.tables.cells import places_in, planned
from omtl.tables.request import Request
from omtl.util.paths import EXPERIMENTS, ROOT

TABLES = sorted(descriptions("table"))
PAPERS = sorted(path.parent.name for path in EXPERIMENTS.glob("*/readings.yaml"))


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


def test_new_files_of_the_checkout_are_in_style(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that `omtl new` writes into it; the documentation's commands play those of a folder."""
    monkeypatch.setattr(new_files, "CHECKOUT", tmp_path)
    made = [new_files.make_files(kind, "toy", tmp_path) for kind in ("learner", "dataset")]
    for path in (path for paths in made for path in paths if path.suffix == ".py"):
        place = ["--stdin-filename", str(path.relative_to(tmp_path)), "-"]
        for check in (["check"], ["format", "--check"]):
            ruff = [sys.executable, "-m", "ruff", *check, *place]
            subprocess.run(ruff, input=path.read_bytes(), cwd=ROOT, check=True)


@pytest.mark.parametrize(
    ("words", "measured"),
    [
        ("algorithm=pm protocol=heldout protocol.n_train=20", {"error", "auc", "nsv"}),
        ("algorithm=itl protocol=batch_20", {"auc"}),
    ],
)
def test_what_a_protocol_measures_is_shown(words: str, measured: set[str], told) -> None:
    """Each metric that what was measured gives, and no other."""
    walk = {**SMALL_WALK, "n_examples": 60}
    small_walk = [f"dataset.options.{key}={value}" for key, value in walk.items()]
    said = told("run", *words.split(), "selection=cv5", "repeats=1", *small_walk)
    assert {"error", "auc", "nsv"} & set(re.findall(r"\w+", said)) == measured


def check_answer(paper: str, question: str, option: str) -> None:
    """Assert that an answer's patch names config values that exist."""
    patch = Reading(name="test", paper=paper, answers={question: option}).patch
    assert bool(patch) == (option != questions(paper)[question].literal)
    for key, value in patch.items():
        group, name, *path = key.split(".")
        if group == "table":
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


LABELS = [
    # s in N(0, s I) is a deviation.
    ("contradicts", "dom.increment=std rom.increment=std rom.outlier=std aklo.spread=std"),
    # A perceptron learns from margins, with a tuned step.
    ("contradicts", "dom.perceptron=hinge rom.perceptron=hinge rom.real_perceptron=hinge"),
    ("contradicts", "rom.multi_perceptron=hinge rom.real_multi_perceptron=hinge"),
    # Passive-aggressive is PA-I.
    ("ambiguous", "dom.passive_aggressive=pa1 rom.passive_aggressive=pa1"),
    # Runs shuffle the data, but each has its own draw.
    ("contradicts", "dom.draw=each_run rom.draw=each_run"),
    # Standard errors are printed, and are deviations.
    ("contradicts", "osmtl.plus_minus=std amtl.plus_minus=std"),
    # One setting for all tasks is the one whose worst task is best.
    ("contrived", "rom.tuned_for=worst_task rom.tuned_for=worst_task_but_pgd"),
]
"""The labels of notations that papers share, with all answers that take them so."""


@pytest.mark.parametrize(("label", "answers"), LABELS)
def test_a_notation_has_one_label_in_all_papers(label: str, answers: str) -> None:
    for paper, question, option in re.findall(r"(\w+)\.(\w+)=(\w+)", answers):
        assert questions(paper)[question].support[option] == label, (paper, question)


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_a_cell_for_each_published_number(table: str) -> None:
    """And every cell's experiment composes under each of its readings."""
    for reading in READINGS:
        cells = planned(table, Request(reading))
        assert len(cells) == len(set(places_in(cells)))
        assert all(experiment.points for experiment in cells["experiment"])


def test_a_merge_key_and_a_value_of_its_own_are_no_key_that_stands_twice(tmp_path: Path) -> None:
    merged = tmp_path / "merged.yaml"
    merged.write_text("x: &x {b: 1}\ny:\n  <<: *x\n  b: 2\n", encoding="utf-8")
    assert read_yaml(merged)["y"] == {"b": 2}


FILES = {
    "table": files.TableDescription,
    "figure": files.FigureDescription,
    "claims": tuple[files.Claim, ...],
    "diagnoses": tuple[files.Diagnosis, ...],
    "readings": Readings,
}


PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
"""What the types of single values are called in JSON Schema."""


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type."""
    origin, more = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        keys = keys_of(kind)
        return {
            "type": "object",
            "required": list(keys.needed),
            "properties": {name: json_schema(of) for name, of in keys.kinds.items()},
            "additionalProperties": bool(keys.rest),
        }
    if origin is Annotated:
        return json_schema(more[0])
    if origin in UNIONS:
        return {"anyOf": [json_schema(one) for one in more]}
    if origin is Literal:
        return {"enum": list(more)}
    if origin is tuple:
        return {"type": "array", "items": json_schema(more[0])}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": json_schema(more[1])}
    return {} if kind is Any else {"type": PLAIN[kind]}


@pytest.mark.parametrize("file", FILES)
def test_editors_get_the_schema_that_is_checked(file: str) -> None:
    """The files in the documentation are what the schema gives."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"omtl {file}"}
    path, schema = ROOT / "docs" / "schema" / f"{file}.json", head | json_schema(FILES[file])
    assert path.read_text(encoding="utf-8") == json.dumps(schema, indent=2) + "\n"
