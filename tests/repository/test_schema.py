"""Typos in the files of a paper are refused where they are read, with what was meant."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from omtl.evidence.claims import check_claim, claims_of
from omtl.experiment.descriptions import (
    FILES,
    Claim,
    Diagnosis,
    FigureDescription,
    Readings,
    TableDescription,
    schema_of_file,
)
from omtl.experiment.papers import paper_file
from omtl.experiment.readings import check_questions, questions
from omtl.experiment.schema import read_yaml, thawed, typed
from omtl.tables import cells, diagnosis, plan
from omtl.tables.diagnosis import diagnoses
from omtl.tables.plan import columns_of
from omtl.tables.request import Request
from omtl.util.errors import UserError
from omtl.util.paths import EXPERIMENTS, ROOT

PAPERS = sorted(path.parent.name for path in EXPERIMENTS.glob("*/readings.yaml"))


@pytest.mark.parametrize("paper", PAPERS)
def test_the_papers_files_are_right(paper: str) -> None:
    """Every key is read, and every place of an answer is one of a config."""
    claims_of(paper)
    diagnoses(paper)
    check_questions(questions(paper), columns_of(paper), paper)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda d: d.update(spread="sdt"), "no spread 'sdt' (did you mean 'std'?)"),
        (lambda d: d.update(colums=[]), "nothing reads 'colums' (did you mean 'columns'?)"),
        (lambda d: d.pop("protocol"), "it lacks protocol"),
        (lambda d: d["rows"][1].update(algoritm="pa"), "row 2: nothing reads 'algoritm'"),
        (lambda d: d["columns"][0].pop("dataset"), "column 1: it lacks dataset"),
        (lambda d: d.update(rows="pa"), "rows='pa' must be a list"),
        (lambda d: d.update(repeats="50"), "repeats='50' must be a whole number"),
        (lambda d: d.update(plays=True), "plays=True must be a whole number"),
        (lambda d: d.update(digits="2"), "digits='2' must be a whole number or a mapping"),
        (lambda d: d["print"]["examples"].update(B="x"), "examples.B='x' must be a whole number"),
        (lambda d: d["rows"].append({"published": "PA"}), "row 21: a row has a group, or an"),
        (lambda d: d["rows"].append("pa"), "row 21: 'pa' must be a mapping of names to values"),
    ],
)
def test_a_wrong_table(change: Any, what: str) -> None:
    """By a value, a key that nothing reads, a key that is lacking."""
    description = thawed(read_yaml(paper_file("dom", "table1.yaml")))
    change(description)
    with pytest.raises(UserError) as fault:
        typed(TableDescription, description, "here.yaml")
    assert what in str(fault.value)
    assert str(fault.value).startswith("here.yaml")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"metric": "eror"}, "no metric 'eror' (did you mean 'error'?)"),
        ({"proposed": ["DOM-III (Full)"]}, "no row 'DOM-III (Full)' (did you mean"),
        ({"same_row": {"COML": ["COML-1"]}}, "no row 'COML-1' (did you mean 'COML'?)"),
        ({"searched_without": ["COMLL"]}, "no row 'COMLL' (did you mean 'COML'?)"),
        ({"print": {"bold": {"Synthetic": ["COMLL"]}}}, "no row 'COMLL'"),
        ({"print": {"examples": {"Sythetic": 9}}}, "no column 'Sythetic' (did you mean"),
        ({"too_slow": [{"readings": ["as_writen"], "why": ""}]}, "no reading 'as_writen'"),
        ({"too_slow": [{"readings": [], "why": "", "rows": ["OGDD"]}]}, "no row 'OGDD'"),
    ],
)
def test_a_table_that_names_what_there_is_not(
    change: dict[str, Any], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be ignored without a word."""
    path = tmp_path / "table1.yaml"
    path.write_text(yaml.safe_dump({**read_yaml(paper_file("dom", "table1.yaml")), **change}))
    monkeypatch.setattr(plan, "descriptions", lambda _kind: {"dom-table1": path})
    with pytest.raises(UserError) as fault:
        plan.describe("table", "dom-table1")
    assert f"{path}: {what}" in str(fault.value)


def test_published_numbers_of_no_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    """A typo in the column is told instead of failing with a KeyError."""
    numbers = [number | {"metric": "eror"} for number in plan.published("dom-table1")]
    monkeypatch.setattr(cells, "published", lambda _name: numbers)
    with pytest.raises(UserError, match="dom-table1: the published numbers: no metric 'eror'"):
        cells.planned("dom-table1", Request("as_written"))


def test_a_diagnosis_of_what_there_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told with its place, instead of never being shown."""
    path = tmp_path / "diagnoses.yaml"
    entry = {"table": "dom-table1", "readings": ["as_read"], "text": "so"}
    entry |= {"dataset": "Synthetic", "algorithms": ["COML"]}
    monkeypatch.setattr(diagnosis, "paper_file", lambda *_: path)
    for change, what in (
        ({"table": "dom-table9"}, "no table 'dom-table9'"),
        ({"readings": ["as_red"]}, "no reading 'as_red' .did you mean 'as_read'"),
        ({"dataset": "Sythetic"}, "no data set 'Sythetic'"),
        ({"algorithms": ["COMLL"]}, "no algorithm 'COMLL'"),
        ({"metrics": ["eror"]}, "no metric 'eror'"),
    ):
        path.write_text(yaml.safe_dump([entry | change]))
        with pytest.raises(UserError, match=what):
            diagnoses("dom")


def test_a_wrong_figure_claim_or_diagnosis() -> None:
    """Each is told with its place."""
    figure = thawed(read_yaml(paper_file("dom", "fig2.yaml")))
    figure["panels"][0]["lines"][0]["algoritm"] = "pa"
    with pytest.raises(UserError, match="panel a, line 1: nothing reads 'algoritm'"):
        typed(FigureDescription, figure, "here.yaml")
    claims = yaml.safe_load(paper_file("dom", "claims.yaml").read_text(encoding="utf-8"))
    part = claims[0]["all"][0]
    for change, what in (
        ({"lowr": ["PA"]}, "nothing reads 'lowr' (did you mean 'lower'?)"),
        ({"lower": ["PA"]}, "a part has either lower, higher or ratio"),
    ):
        with pytest.raises(UserError) as fault:
            typed(tuple[Claim, ...], [{**claims[0], "all": [part | change]}], "here.yaml")
        assert f"{claims[0]['id']}, part 1: {what}" in str(fault.value)
    claim = claims_of("osmtl")[0]
    for change, what in (
        ({"than": ["PA-ON"]}, "no algorithm 'PA-ON' (did you mean 'PA-ONE'?)"),
        ({"than": ["PA-ONE / OSGLL"]}, "no algorithm 'OSGLL' (did you mean 'OSGL'?)"),
        ({"than": ["OSGL on Spam Detect"]}, "no data set 'Spam Detect' (did you mean"),
        ({"dataset": "Spam Detect"}, "no data set 'Spam Detect' (did you mean"),
        ({"tasks": ("task1",)}, "no task 'task1'; choose from all"),
        ({"metric": "error"}, "no metric of the table 'error'"),
    ):
        wrong = replace(claim, all=(replace(claim.all[0], **change),))
        with pytest.raises(UserError) as fault:
            check_claim(wrong, "here")
        assert what in str(fault.value)
    with pytest.raises(UserError, match="no algorithm 'OSMTL-x'"):
        check_claim(replace(claim, either={"OSMTL*": ("OSMTL-x",)}), "here")
    for change, what in (
        ({"table": ""}, "no table ''"),
        ({"table": "", "figure": "osmtl-fig9"}, "no figure 'osmtl-fig9'"),
        ({"table": "", "figure": "osmtl-fig1"}, "no panel ''"),
    ):
        with pytest.raises(UserError, match=what):
            check_claim(replace(claim, **change), "here")
    short = asdict(diagnoses("dom")[0])
    del short["text"]
    with pytest.raises(UserError, match="diagnosis 1: it lacks text"):
        typed(tuple[Diagnosis, ...], [short], "x")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda q: q["columns"].append("Synthetc"), "no column 'Synthetc' (did you mean"),
        (
            lambda q: (
                q["options"].update(x={"algorithm.pa.gird": {}}),
                q["support"].update(x="silent"),
            ),
            "(did you mean 'grid'?)",
        ),
        (
            lambda q: (
                q["options"].update(x={"algorithm.paa.grid": {}}),
                q["support"].update(x="silent"),
            ),
            "no algorithm 'paa'",
        ),
        (lambda q: q.update(litral="x"), "(did you mean 'literal'?)"),
    ],
)
def test_a_wrong_question(change: Any, what: str) -> None:
    """A column, a path or a key that is none would change nothing, without a word."""
    asked = thawed(read_yaml(paper_file("dom", "readings.yaml")))
    change(asked["questions"]["passive_aggressive"])
    with pytest.raises(UserError) as fault:
        check_questions(typed(Readings, asked, "dom").questions, columns_of("dom"), "dom")
    assert what in str(fault.value)
    assert "question passive_aggressive" in str(fault.value)


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """YAML would silently take the last; a merge key and its own values are no such pair."""
    twice = tmp_path / "twice.yaml"
    twice.write_text("a:\n  b: 1\n  c: 2\n  b: 3\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"b twice.* line 4"):
        read_yaml(twice)
    merged = tmp_path / "merged.yaml"
    merged.write_text("x: &x {b: 1}\ny:\n  <<: *x\n  b: 2\n", encoding="utf-8")
    assert read_yaml(merged)["y"] == {"b": 2}


@pytest.mark.parametrize("file", FILES)
def test_editors_get_the_schema_that_is_checked(file: str) -> None:
    """The files in the documentation are what the schema gives, and allow what papers have."""
    path = ROOT / "docs" / "schema" / f"{file}.json"
    told = schema_of_file(file)
    assert path.read_text(encoding="utf-8") == json.dumps(told, indent=2) + "\n"
    if file == "table":
        assert told["properties"]["spread"] == {"enum": ["std", "standard_error", "unstated"]}
        assert told["properties"]["columns"]["items"]["required"] == ["dataset", "published"]
        assert told["properties"]["digits"]["anyOf"][0] == {"type": "integer"}


def test_a_claim_has_either_the_papers_words_or_ours() -> None:
    """What stands in quotation marks on the site is the paper's."""
    claim = {"id": "c", "place": "here", "all": []}
    typed(Claim, claim | {"quote": "A beats B."}, "claims.yaml")
    for words in ({}, {"quote": "A beats B.", "says": "A is below B."}):
        with pytest.raises(UserError, match="the paper's words \\(quote\\) or ours"):
            typed(Claim, claim | words, "claims.yaml")
