"""The search of readings, what it finds by luck, and what is wrong in print."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from miniature import AS_WRITTEN, SERIAL
from small_tables import on_small_walk

from omtl.commands._main import main
from omtl.compute.store import Store
from omtl.experiment.descriptions import describe
from omtl.experiment.readings import Question, Reading
from omtl.measures.metrics import METRICS
from omtl.reproduction import search_readings
from omtl.reproduction.search_readings import Trial
from omtl.tables import placebo_test, published_results
from omtl.tables.cells import each_cell, planned
from omtl.tables.proofread import count_is_possible, share_is_possible
from omtl.tables.request import Request
from omtl.tables.scoring import scored
from omtl.tables.verdict import JUDGED
from omtl.util.errors import UserError
from omtl.util.result_files import read_csv

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
    for module in (search_readings, placebo_test, published_results):
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
    found = ASKED | {"first": replace(ASKED["first"], post_hoc="printed numbers were looked at")}
    monkeypatch.setattr(search_readings, "questions", lambda _paper: found)
    alone = searched(wanted=["blind"])
    assert alone.answers == {"blind": {"second": "better"}}
    paths = search_readings.write_search_record(TABLE, alone, full=False)
    assert [path.name for path in paths] == [f"{TABLE}.blind.csv", f"{TABLE}.blind.cells.csv"]


@pytest.mark.usefixtures("tried")
def test_a_search_may_begin_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """It drops the answers that it may not take, and a worse beginning ends at the same answers."""
    begun = Reading(name="elsewhere", paper="dom", answers={"first": "worse", "second": "better"})
    monkeypatch.setattr(
        Reading, "of", lambda _paper, name: begun if name == "elsewhere" else AS_WRITTEN
    )
    assert searched(begin="elsewhere").answers == searched().answers


def test_a_trial_is_as_far_from_print_as_its_cells_on_average(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell at most a quarter of its scale; our baselines are not compared."""

    def few(*given: Any, **named: Any) -> pd.DataFrame:
        cells = on_small_walk(planned(*given, **named))
        cells = cells[cells["algorithm"].isin(["PM", "PA", "Majority"])]
        return cells.assign(published_mean=["28.00", "90.00", ""])

    described = describe("table", TABLE)
    columns = [column for column in described.columns if column.published == "Synthetic"]
    alone = replace(described, columns=columns)
    monkeypatch.setattr(search_readings, "describe", lambda *_: alone)
    monkeypatch.setattr(search_readings, "planned", few)
    asked = Request("as_written", 5, parallel=SERIAL, store=store)
    found = search_readings.search(TABLE, asked, lambda _line: None, wanted=())
    cells = scored(few(TABLE, asked, AS_WRITTEN, 1)[:2], store)
    assert found.cells["algorithm"].tolist() == ["PM", "PA"]
    assert found.cells["ours"].tolist() == [f"{mean:.6g}" for mean in cells["ours_mean"]]
    near, far = (np.abs(c.values / float(c.published_mean) - 1.0) for c in each_cell(cells))
    distance = np.mean([np.minimum(near, placebo_test.FARTHEST).mean(), placebo_test.FARTHEST])
    assert far.min() > placebo_test.FARTHEST
    (trial,) = found.record.to_dict("records")
    assert float(trial["distance"]) == pytest.approx(distance, abs=1e-5)
    assert sum(trial[verdict] for verdict in JUDGED) == 2


@pytest.mark.usefixtures("tried")
def test_only_a_full_search_writes_the_readings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    conf, command = tmp_path / "conf" / "reading" / "dom", ["audit", "readings", TABLE.upper()]
    monkeypatch.setattr(Reading, "of", lambda _paper, _name: AS_WRITTEN)
    for words in (["--repeats", "2"], ["--seed", "1"]):
        assert main([*command, *words]) == 0
        assert "the paper's readings stay unchanged" in capsys.readouterr().out
        assert not conf.exists()
        assert not (tmp_path / "results" / "readings").exists()
        assert (tmp_path / "results" / "partial" / "readings" / f"{TABLE}.cells.csv").exists()
    assert main([*command, "--repeats", "2", "--keep"]) == 0
    kept = {path.stem: yaml.safe_load(path.read_text()) for path in conf.iterdir()}
    expected = {
        name: {"name": name, "paper": "dom", "answers": answers}
        for name, answers in searched().answers.items()
    }
    assert kept == expected
    found = read_csv(tmp_path / "results" / "readings" / f"{TABLE}.placebo.csv")
    pd.testing.assert_frame_equal(read_csv(placebo_test.write_placebo_test(TABLE, seed=0)), found)


def test_readings_are_written_beside_their_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one's own folder for a paper of one's own; an installed package's are not changed."""
    monkeypatch.setattr(search_readings, "own_folder", lambda: tmp_path)
    assert search_readings.readings_folder(TABLE) == search_readings.CONF / "reading" / "dom"
    monkeypatch.setattr(search_readings, "CHECKOUT", None)
    with pytest.raises(UserError, match="readings of dom are part of an installed package"):
        search_readings.readings_folder(TABLE)
    monkeypatch.setattr(search_readings, "paper_file", lambda *_: tmp_path / "experiments" / "dom")
    assert search_readings.readings_folder(TABLE) == tmp_path / "reading" / "dom"


def test_a_lacking_number_is_far_and_a_lacking_print_is_none() -> None:
    found = placebo_test.gaps(
        np.array([[[np.nan], [11.0], [1.0]]]),
        np.array([[10.0], [10.0], [np.nan]]),
        [METRICS["error"].scale],
    )
    np.testing.assert_allclose(found.ravel(), [placebo_test.FARTHEST, 0.1, np.nan])


def test_no_count_is_wrongly_called_impossible() -> None:
    """All means and spreads that three counts of at most four can have, by trying them all."""
    printed = set()
    for counts in product(range(5), repeat=3):
        mean, std = np.mean(counts), np.std(counts, ddof=1)
        printed.add((f"{mean:.2f}", f"{std:.2f}", f"{std / np.sqrt(3):.2f}"))
    for mean, std, error in printed:
        assert count_is_possible(mean, std, 3, 4)
        assert count_is_possible(mean, error, 3, 4, errors=True)
        assert count_is_possible(mean, "", 3, 4)
    called = {
        (mean, std)
        for mean, std in product((f"{x / 100:.2f}" for x in range(401)), ("0.58", "0.80"))
        if count_is_possible(mean, std, 3, 4)
    }
    assert called == {(mean, std) for mean, std, _ in printed if std in ("0.58", "0.80")}


def test_no_share_is_wrongly_called_impossible() -> None:
    """All means and spreads of three numbers in steps of 0.05, however they are rounded."""
    for numbers in product(np.arange(21) / 20, repeat=3):
        mean, std = np.mean(numbers), np.std(numbers, ddof=1)
        for digits in (1, 2):
            assert share_is_possible(f"{mean:.{digits}f}", f"{std:.{digits}f}", 3)
