"""Typos in the files of a paper are refused where they are read, with what was meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from omtl.evidence.claims import claims_of
from omtl.experiment.config import paper_file
from omtl.experiment.descriptions import FILES, TableDescription, schema_of_file
from omtl.experiment.readings import check_questions, questions
from omtl.experiment.schema import read_yaml, thawed, typed
from omtl.tables import plan
from omtl.tables.notes import diagnoses
from omtl.tables.plan import columns_of
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
