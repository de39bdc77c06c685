"""Results in git are verified from nothing, to the last digit; a tampered one is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_tables import filled_store, small_table

from omtl.commands import _main
from omtl.experiment.specs import ParallelSpec, SearchSpec
from omtl.reproduction import replay
from omtl.reproduction.replay import (
    CLOSE,
    DIFFERENT,
    NOT_COMPARABLE,
    PLACE,
    RESULTS_OF,
    SAME,
    Replay,
    append_rows,
    check_cell,
    draw_cells,
    signature,
)
from omtl.tables.cells import as_rows, raw_repeats, with_columns
from omtl.tables.published_results import runs_of, with_results, write_rows
from omtl.tables.scoring import scored
from omtl.tables.verdict import QUANTITIES
from omtl.util import host
from omtl.util.errors import UserError

DOM = ["dom-table1"]


def two_rows(selection: str | None = None, one_draw: bool = True) -> pd.DataFrame:
    """Return the cells of two learners that have grids of 8 points, in three repeats."""
    cells = small_table(3, selection, ["NS (Full)", "NS (Grid)"])
    if not one_draw:
        return cells
    return with_columns(cells, [{"experiment": one.of_one_draw()} for one in cells["experiment"]])


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pd.DataFrame]:
    """Return a function that plays cells, which every table then has, and writes their files."""

    def publish(cells: pd.DataFrame, stem: str = "dom-table1") -> pd.DataFrame:
        monkeypatch.setattr(replay, "planned", lambda _name, _request: cells)
        played = scored(cells, filled_store(cells, tmp_path / "store"))
        folder = tmp_path / "results" / "reproduced"
        write_rows(folder / f"{stem}.csv", as_rows(played))
        raw_repeats(played).to_csv(folder / f"{stem}.as_written.repeats.csv", index=False)
        meta = {"seed": 0, "repeats": 3, "cpu": host.cpu_name()}
        (folder / f"{stem}.as_written.meta.json").write_text(json.dumps(meta), encoding="utf-8")
        return played

    return publish


@pytest.fixture
def results(publish: Callable[..., pd.DataFrame], tmp_path: Path) -> Path:
    """Return a folder of results with a table of two rows with grids, all repeats on one draw."""
    publish(two_rows())
    return tmp_path / "results"


def tamper(results: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Change the kept repeats."""
    path = results / "reproduced" / "dom-table1.as_written.repeats.csv"
    rows = pd.read_csv(path)
    numbers = [change(np.array(values.split(), dtype=float)) for values in rows["values"]]
    rows["values"] = [" ".join(map(repr, each.tolist())) for each in numbers]
    rows.to_csv(path, index=False)


def test_cells_are_drawn_by_the_seed(results: Path) -> None:
    """Without return, the same for the same seed."""
    both = draw_cells(results, DOM, 5, 0)
    assert len(both) == 2
    assert draw_cells(results, DOM, 1, 0) == both[:1]
    firsts = {draw_cells(results, DOM, 1, seed)[0][1]["algorithm"] for seed in range(20)}
    assert len(firsts) == 2
    with pytest.raises(UserError, match="omtl table TABLE"):
        draw_cells(results, ["rom-table1"], 1, 0)


def test_the_same_numbers_of_the_same_data(results: Path) -> None:
    """The chosen point in each repeat, without a store; other data differ whatever the number."""
    for run, row in draw_cells(results, DOM, 2, 0):
        done = check_cell(run, row, 0, replace(ParallelSpec.named("threads"), jobs=2))
        assert (done.result, done.detail, done.units, done.points) == (SAME, "", 3, 1)
    done = check_cell(run, {**row, "data_sha256": "0" * 64}, 0)
    assert done.result == DIFFERENT
    assert done.detail.startswith("other data; made on ")


@pytest.mark.parametrize(
    ("large", "selection", "own_draws"),
    [(1, "prefix", False), (1000, "prefix", False), (1000, "oracle", True)],
)
def test_what_is_chosen_for_each_repeat_is_chosen_again(
    large: int,
    selection: str,
    own_draws: bool,
    publish: Callable[..., pd.DataFrame],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the rule, or as each has a draw of its own: all points are played, once if they are many.

    What is published is read as it was scored.
    """
    monkeypatch.setattr(replay, "LARGE", large)
    table = two_rows(selection, one_draw=not own_draws)
    was = publish(table, "dom-table1" if selection == "oracle" else f"dom-table1.{selection}")
    [run] = runs_of(tmp_path / "results", "dom-table1")
    now = with_results(table, run)
    same = [*QUANTITIES, "ours_mean", "ours_std", "verdict", "params"]
    pd.testing.assert_frame_equal(now[same], was[same], check_exact=True)
    rounded = ["shuffle_std", "spread_ratio", "spread_p"]
    np.testing.assert_allclose(now[rounded], was[rounded], rtol=0.0, atol=5.1e-5)
    for run, row in draw_cells(tmp_path / "results", DOM, 2, 0):
        done = check_cell(run, row, 0)
        assert (done.result, done.detail) == (SAME, "")
        assert done.points > 1
        assert done.units == (1 if large == 1 else 3)


def test_points_that_a_search_left_are_read_from_its_record(
    publish: Callable[..., pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a rule that chooses for each repeat; without the record there is nothing to play."""
    table, results = two_rows("prefix"), tmp_path / "results"
    left = [{"experiment": one.only([1, 3])} for one in table["experiment"]]
    publish(with_columns(table, left), "dom-table1.prefix")
    halving = replace(SearchSpec.named("halving"), from_points=2)
    searched = with_columns(table, [{"search": halving}] * len(table))
    monkeypatch.setattr(replay, "planned", lambda _name, _request: searched)
    [(run, row)] = draw_cells(results, DOM, 1, 0)
    assert check_cell(run, row, 0).result == NOT_COMPARABLE
    place = {name: row[name] for name in ("dataset", "algorithm", "reading")}
    record = pd.DataFrame([{**place, "points": points} for points in ("", "1 3")])
    write_rows(results / "search" / "dom-table1.prefix.points.csv", record)
    done = check_cell(run, row, 0)
    assert (done.result, done.points) == (SAME, 2)


@pytest.mark.parametrize(
    ("cpu", "change", "result"),
    [
        ("", lambda values: np.nextafter(values, np.inf), DIFFERENT),
        ("Other CPU", lambda values: np.nextafter(values, np.inf), CLOSE),
        ("Other CPU", lambda values: values + 50.0, DIFFERENT),
    ],
)
def test_a_tampered_number_is_found(
    cpu: str, change: Callable[[np.ndarray], np.ndarray], result: str, results: Path
) -> None:
    """By its last bit; another CPU may have other bits, within the repeats' spread."""
    path = results / "reproduced" / "dom-table1.as_written.meta.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(meta | ({"cpu": cpu} if cpu else {})), encoding="utf-8")
    tamper(results, change)
    done = check_cell(*draw_cells(results, DOM, 1, 0)[0], 0)
    assert done.result == result
    assert done.detail.startswith("repeat 0: ")
    assert f"made on {cpu or host.cpu_name()}" in done.detail


def test_the_command_signs_off(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every run adds its rows; a difference is status 1 with a clear message."""
    monkeypatch.setattr("omtl.util.paths.RESULTS", results)
    made_on = {**host.host(), "commit": "abc"}
    monkeypatch.setattr(replay, "host", lambda: made_on)
    assert _main.main(["audit", "verify", "DOM-Table1", "--cells", "2"]) == 0
    first = (results / "verify.csv").read_text(encoding="utf-8")
    tamper(results, lambda values: np.nextafter(values, np.inf))
    assert _main.main(["audit", "verify", "--cells", "1", "--seed", "3"]) == 1
    assert "1 of 1 cells differ from results/" in capsys.readouterr().err
    assert (results / "verify.csv").read_text(encoding="utf-8").startswith(first)
    rows = pd.read_csv(results / "verify.csv", dtype=str, keep_default_na=False)
    assert rows["result"].tolist() == [SAME, SAME, DIFFERENT]
    assert rows[["units", "points"]].to_numpy().tolist() == [["3", "1"]] * 3
    assert set(rows["commit"]) == {"abc"}
    assert rows["seed"].tolist() == ["0", "0", "3"]
    assert (rows["packages"].str.contains("numpy ")).all()


def test_records_of_several_at_a_time_are_all_kept(tmp_path: Path) -> None:
    """Each writer adds its lines; none writes what another one has added."""
    path = tmp_path / "verify.csv"

    def add_rows(by: int) -> None:
        for row in range(30):
            append_rows(path, pd.DataFrame({"by": [by], "row": [row]}))

    with ThreadPool(4) as writers:
        writers.map(add_rows, range(4))
    rows = pd.read_csv(path)
    assert sorted(zip(rows["by"], rows["row"], strict=True)) == [
        (by, row) for by in range(4) for row in range(30)
    ]


@pytest.mark.parametrize(
    ("kinds", "counts", "result"),
    [
        ([SAME, SAME], "2 0 0 0", "reproduced"),
        ([SAME, CLOSE, NOT_COMPARABLE], "1 1 0 1", "reproduced"),
        ([SAME, DIFFERENT], "1 0 1 0", "differs"),
    ],
)
def test_a_signature_counts_what_became_of_the_cells(
    kinds: list[str], counts: str, result: str
) -> None:
    """And names their tables, each once."""
    replays = [Replay("x", kind, row=dict.fromkeys(PLACE, f"of {kind}")) for kind in kinds]
    [line] = signature(replays, " A. Name ", seed=7).to_dict("records")
    assert (line["name"], line["seed"], line["result"]) == ("A. Name", "7", result)
    assert " ".join(line[kind] for kind in RESULTS_OF) == counts
    assert line["cells"] == " ".join(f"of {kind}" for kind in dict.fromkeys(kinds))
