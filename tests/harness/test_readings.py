"""The search of readings, on a table whose numbers are known; and what it finds by luck."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from miniature import AS_WRITTEN

from omtl.commands.audit import readings as command
from omtl.experiment import new_files
from omtl.experiment.descriptions import Question
from omtl.experiment.readings import Reading
from omtl.reproduction import search_readings
from omtl.reproduction.search_readings import Trial
from omtl.tables import placebo_test, writing
from omtl.tables.cells import planned
from omtl.tables.request import Request
from omtl.util import user_folder
from omtl.util.errors import UserError
from omtl.util.paths import CONF

TABLE = "dom-table1"

ASKED = {
    name: Question(
        asks="?",
        says="nothing",
        literal="plain",
        support={"better": better, "worse": "silent"},
        columns=("Synthetic", "MHC-I"),
        options={"plain": {}, "better": {}, "worse": {}},
    )
    for name, better in (("first", "ambiguous"), ("second", "contradicts"))
}
"""Each question has an answer that brings the numbers closer, one of them against the text."""


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, dict[str, str]]]:
    """Return the trials that a search makes; each better answer takes 0.05 off the distance."""
    asked_for: list[tuple[str, dict[str, str]]] = []

    def attempt(_table: str, column: str, answers: dict[str, str], _request: Request) -> Trial:
        asked_for.append((column, answers))
        gain = {"better": -0.05, "worse": 0.05}
        distance = 0.2 + sum(gain.get(answer, 0.0) for answer in answers.values())
        cells = [("PM", "all", "error", 10.0 * (1.0 + distance))]
        return Trial(column, answers, np.full(5, distance), Counter({"off": 1}), cells)

    monkeypatch.setattr(search_readings, "_try", attempt)
    for module in (search_readings, placebo_test):
        monkeypatch.setattr(module, "questions", lambda _paper: ASKED)
    for module in (search_readings, placebo_test, writing):
        monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(search_readings, "CONF", tmp_path / "conf")
    monkeypatch.setattr(search_readings, "options", lambda _group: [])
    return asked_for


def searched(begin: str = "as_written", **more: Any) -> search_readings.SearchResult:
    return search_readings.search(TABLE, Request(begin, 5), lambda _line: None, **more)


def test_each_standard_reading_takes_the_answers_that_it_may(tried: list) -> None:
    found = searched()
    assert found.answers == {
        "as_read": {"first": "better"},
        "as_published": {"first": "better", "second": "better"},
    }
    assert len(tried) == len(found.record) == len({json.dumps(trial) for trial in tried})
    assert found.cells["trial"].tolist() == list(range(len(tried)))


@pytest.mark.usefixtures("tried")
def test_a_blind_search_answers_no_question_that_the_print_has_led_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may take what contradicts the text; its record does not replace that of the others."""
    found = ASKED | {"first": replace(ASKED["first"], found="printed numbers were looked at")}
    monkeypatch.setattr(search_readings, "questions", lambda _paper: found)
    alone = searched(wanted=["blind"])
    assert alone.answers == {"blind": {"second": "better"}}
    paths = search_readings.write_search_record(TABLE, alone, full=False)
    assert [path.name for path in paths] == [f"{TABLE}.blind.csv", f"{TABLE}.blind.cells.csv"]


@pytest.mark.usefixtures("tried")
def test_a_search_may_begin_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """It drops the answers that it may not take, and a worse beginning ends at the same answers."""
    begun = Reading(name="elsewhere", paper=None, answers={"first": "worse", "second": "better"})
    monkeypatch.setattr(
        Reading, "of", lambda _paper, name: begun if name == "elsewhere" else AS_WRITTEN
    )
    assert searched(begin="elsewhere").answers == searched().answers


def test_a_search_looks_at_the_papers_judged_cells_alone() -> None:
    """Without rows that take too long, baselines of ours, and means that are suspect in print."""
    table = planned("rom-table2", Request("as_written"))
    compared = search_readings.compared_cells(table, "TDT2")
    assert set(compared["algorithm"]) == {
        *("PT-individual", "PT-global", "PA-individual", "PA-global", "Multi-P", "OMTL-B", "COML")
    }
    assert all(compared["search"])
    table = planned("rom-table1", Request("as_written"))
    compared = search_readings.compared_cells(table, "Synthetic (delta2=12.25)")
    assert "ROM-RDA" in set(table["algorithm"])
    assert "ROM-RDA" not in set(compared["algorithm"])
    assert "ROM-PGD" in set(compared["algorithm"])


def asked(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_options(parser)
    return parser.parse_args([TABLE, *words])


def test_options_without_an_effect_are_refused() -> None:
    """The search begins from --begin, by the table's own rule; and the help tells its repeats."""
    for words in (["--reading", "as_read"], ["--selection", "prefix"]):
        with pytest.raises(SystemExit):
            asked(*words)
    parser = argparse.ArgumentParser()
    command.add_options(parser)
    assert f"per trial; default: {search_readings.REPEATS}\n" in parser.format_help()


@pytest.mark.usefixtures("tried")
def test_only_a_full_search_writes_the_readings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "conf" / "reading" / "dom"
    monkeypatch.setattr(Reading, "of", lambda _paper, _name: AS_WRITTEN)
    for words in (["--repeats", "2"], ["--seed", "1"]):
        command.run(asked(*words))
        assert "the paper's readings stay unchanged" in capsys.readouterr().out
        assert not conf.exists()
        assert not (tmp_path / "results" / "readings").exists()
        assert (tmp_path / "results" / "partial" / "readings" / f"{TABLE}.cells.csv").exists()
    command.run(asked("--repeats", "2", "--keep"))
    kept = {path.stem: yaml.safe_load(path.read_text())["answers"] for path in conf.iterdir()}
    assert kept == searched().answers
    assert (tmp_path / "results" / "readings" / f"{TABLE}.luck.csv").exists()


def test_readings_are_written_where_their_paper_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in conf/ those of one's own, which would then be there twice; none in a package."""
    monkeypatch.setenv(user_folder.VARIABLE, str(tmp_path))
    new_files.make_files("paper", "toy", tmp_path)
    assert search_readings.readings_folder("toy-table1") == tmp_path / "reading" / "toy"
    assert search_readings.readings_folder(TABLE) == CONF / "reading" / "dom"
    monkeypatch.setattr(search_readings, "CHECKOUT", None)
    assert search_readings.readings_folder("toy-table1") == tmp_path / "reading" / "toy"
    with pytest.raises(UserError, match="readings of dom are part of an installed package"):
        search_readings.readings_folder(TABLE)


ROWS = [f"row {number}" for number in range(8)]

PRINTED = pd.DataFrame(
    {
        "dataset": "Synthetic",
        "algorithm": ROWS,
        "task": "all",
        "metric": "error",
        "mean": [str(10.0 * 2.0**number) for number in range(8)],
    }
)


def placebos_of(
    trials: list[np.ndarray], answers: list[dict[str, str]], asked: dict[str, Question] = ASKED
) -> pd.DataFrame:
    """Return the placebo test of trials with these numbers for the rows."""
    record = pd.DataFrame({"column": "Synthetic", "answers": [json.dumps(a) for a in answers]})
    cells = pd.DataFrame(
        [
            (number, row, "all", "error", value)
            for number, values in enumerate(trials)
            for row, value in zip(ROWS, values, strict=True)
        ],
        columns=["trial", "algorithm", "task", "metric", "ours"],
    )
    return placebo_test.placebo_test(placebo_test.Search(TABLE, record, cells, PRINTED), asked, 0)


def test_a_reading_that_is_right_is_no_luck() -> None:
    """The true numbers beat all placebos, and hold on the rows that they were not chosen by."""
    truth = PRINTED["mean"].astype(float).to_numpy()
    rows = placebos_of(
        [truth * 1.5, truth, truth * 0.5], [{}, {"first": "better"}, {"first": "worse"}]
    )
    row = rows[rows["reading"] == "as_read"].iloc[0]
    assert (row["literal"], row["found"], row["cells"]) == ("0", "8", "8")
    assert float(row["permuted_p"]) < 0.01
    assert float(row["permuted"]) < 2.0
    assert float(row["perturbed"]) < 5.0
    assert (row["searched_half"], row["held_out_half"]) == ("1.000", "1.000")
    assert row["held_out_literal"] == "0.000"


def test_trials_that_fit_a_half_each_do_not_hold_on_the_other() -> None:
    truth = PRINTED["mean"].astype(float).to_numpy()
    trials = [np.where(np.arange(8) == number, truth, 2.0 * truth) for number in range(8)]
    rows = placebos_of(trials, [{}, *[{"first": "better"}] * 7])
    row = rows.iloc[0]
    assert float(row["searched_half"]) == pytest.approx(0.25)
    assert row["held_out_half"] == "0.000"
    pd.testing.assert_frame_equal(rows, placebos_of(trials, [{}, *[{"first": "better"}] * 7]))


def test_blind_search_has_no_answer_found_by_looking() -> None:
    """The closest trial is the literal one, where the closer one answers such a question."""
    truth = PRINTED["mean"].astype(float).to_numpy()
    asked = ASKED | {"first": replace(ASKED["first"], found="a look at the rows")}
    trials = [truth * 2.0, truth]
    rows = placebos_of(trials, [{}, {"first": "better"}], asked).set_index("reading")
    assert rows.loc["blind", ["trials", "found"]].tolist() == ["1", "0"]
    assert rows.loc["as_published", "trials"] == "2"


def test_trials_against_the_text_are_luck_of_as_published_alone() -> None:
    truth = PRINTED["mean"].astype(float).to_numpy()
    rows = placebos_of([truth * 2.0, truth], [{}, {"second": "better"}]).set_index("reading")
    assert rows.loc["as_read", ["trials", "found"]].tolist() == ["1", "0"]
    assert rows.loc["as_published", ["trials", "found"]].tolist() == ["2", "8"]


def test_a_record_without_cells_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placebo_test, "RESULTS", tmp_path)
    with pytest.raises(UserError, match=f"run: omtl audit readings {TABLE}"):
        placebo_test.write_placebo_test(TABLE)
    assert placebo_test.placebo_sentences(TABLE, "as_published", tmp_path) == []
