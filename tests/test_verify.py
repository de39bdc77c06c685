"""Stored results are verified bit for bit, and a tampered store is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_harness import small_table

from data_fetchers.fetch import DataMissing
from omtl import cli
from omtl.errors import UserError
from omtl.harness import fanout, host, verify
from omtl.harness.plan import Table
from omtl.harness.report import write_rows
from omtl.harness.store import Store
from omtl.harness.table import frame, score_table
from omtl.harness.unit import Result
from omtl.harness.verify import DIFFERENT, NOT_COMPARABLE, SAME, check, differing, drawn

SERIAL = {"backend": "sequential", "jobs": 1}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    """Let every table be a small one of two rows."""
    whole = small_table()
    few = Table(whole.description, whole.reading, [whole.cells[0], whole.cells[3]])
    monkeypatch.setattr(verify, "plan_table", lambda _name, _reading: few)
    return few


@pytest.fixture
def results(table: Table, store: Store, tmp_path: Path) -> Path:
    """Return a folder of results with the table, whose units are stored."""
    fanout.run(table.units(0, 3), store, SERIAL, quiet=True)
    rows = frame(table, score_table(table, store, 0, 3), "oracle")
    write_rows(tmp_path / "results" / "reproduced" / "dom-table1.csv", rows)
    write_rows(  # not a table
        tmp_path / "results" / "reproduced" / "dom-table1.claims.csv",
        pd.DataFrame({"reading": ["as_written"]}),
    )
    return tmp_path / "results"


def tamper(store: Store, table: Table, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    """Change the stored arrays of all repeats of the table's cells."""
    for cell in table.cells:
        for unit in cell.experiment.repeats(0, 3):
            result = store.load(unit)
            assert result is not None
            change(result.arrays)
            store.path(unit).unlink()
            store.save(unit, result)


def test_cells_are_drawn_by_the_seed(results: Path) -> None:
    """Without return, the same for the same seed."""
    both = drawn(results, 5, 0)
    assert len(both) == 2
    assert drawn(results, 1, 0) == both[:1]
    firsts = {drawn(results, 1, seed)[0]["algorithm"] for seed in range(20)}
    assert len(firsts) == 2
    assert drawn(results, 1, 0, "dom-table1") == both[:1]
    with pytest.raises(UserError, match="no table has a cell that was run"):
        drawn(results / "nothing", 1, 0)
    with pytest.raises(UserError, match="omtl table rom-table1"):
        drawn(results, 1, 0, "rom-table1")


@pytest.mark.parametrize("large", [1, 1000])
def test_the_same_bits(
    large: int, results: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the whole grid of all repeats, or the chosen point of one."""
    monkeypatch.setattr(verify, "LARGE", large)
    for row in drawn(results, 2, 0):
        done = check(row, store, 0)
        assert (done.result, done.detail) == (SAME, "")
        assert (done.units == 1, done.points == 1) == (large == 1, large == 1)


def last_bit(arrays: dict[str, np.ndarray]) -> None:
    """Change the last bit of each number of an array."""
    losses = arrays["checkpoint_loss"]
    arrays["checkpoint_loss"] = np.nextafter(losses, np.inf)


def other_kind(arrays: dict[str, np.ndarray]) -> None:
    """Store the same bytes as another kind of numbers."""
    arrays["mistakes"] = arrays["mistakes"].view(np.uint64)


def one_more(arrays: dict[str, np.ndarray]) -> None:
    """Store one array too many."""
    arrays["more"] = np.zeros(3)


@pytest.mark.parametrize("large", [1, 1000])
@pytest.mark.parametrize(
    ("change", "name"),
    [(last_bit, "checkpoint_loss"), (other_kind, "mistakes"), (one_more, "more")],
)
def test_a_tampered_store_is_found(
    change: Callable[[dict[str, np.ndarray]], None],
    name: str,
    large: int,
    results: Path,
    store: Store,
    table: Table,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a single bit, by the kind of numbers, by an array."""
    monkeypatch.setattr(verify, "LARGE", large)
    tamper(store, table, change)
    done = check(drawn(results, 1, 0)[0], store, 0)
    assert done.result == DIFFERENT
    assert done.detail.endswith(f": {name}") or f": {name};" in done.detail


def test_times_may_differ_and_data_may_not() -> None:
    """No two plays take the same time."""
    one = {"diverged": np.zeros(2), "seconds": np.array([1.0, 2.0])}
    facts = {"data_sha256": "x"}
    other = {**one, "seconds": np.array([3.0, 4.0])}
    assert differing(Result(one, facts), Result(other, facts), None) == []
    assert differing(Result(one, facts), Result(one, {"data_sha256": "y"}), None) == ["the data"]


@pytest.mark.usefixtures("table")
def test_what_is_not_stored_cannot_be_compared(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is played and told; so is data that cannot be had."""
    empty, row = Store(tmp_path / "empty"), drawn(results, 1, 0)[0]
    done = check(row, empty, 0)
    assert (done.result, done.units) == (NOT_COMPARABLE, 3)
    assert "is not in the store" in done.detail
    assert not (tmp_path / "empty").exists()

    def missing(_unit: Any) -> Result:
        raise DataMissing("no file")

    monkeypatch.setattr(verify, "compute", missing)
    done = check(row, empty, 0)
    assert (done.result, done.detail) == (NOT_COMPARABLE, "no file")


@pytest.mark.usefixtures("table")
def test_a_cell_that_is_gone(results: Path, store: Store) -> None:
    """It is the user's to know; a point that is gone cannot be played."""
    row = drawn(results, 1, 0)[0]
    with pytest.raises(UserError, match="has no cell Synthetic, nobody"):
        check({**row, "algorithm": "nobody"}, store, 0)
    assert check({**row, "params": '{"eta": -1}'}, store, 0).result == NOT_COMPARABLE


def test_the_command_signs_off(
    results: Path,
    store: Store,
    table: Table,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every run adds its rows; a difference is status 1 with a clear message."""
    monkeypatch.setattr("omtl.paths.RESULTS", results)
    monkeypatch.setattr(Store, "default", staticmethod(lambda: store))
    made_on = {**host.host(), "commit": "abc"}
    monkeypatch.setattr(verify, "host", lambda: made_on)
    assert cli.main(["verify", "--cells", "2"]) == 0
    first = (results / "verify.csv").read_text(encoding="utf-8")
    tamper(store, table, last_bit)
    assert cli.main(["verify", "--cells", "1", "--seed", "3"]) == 1
    assert "1 of 1 cells differ from the store" in capsys.readouterr().err
    assert (results / "verify.csv").read_text(encoding="utf-8").startswith(first)
    rows = pd.read_csv(results / "verify.csv", dtype=str, keep_default_na=False)
    assert rows["result"].tolist() == [SAME, SAME, DIFFERENT]
    assert set(rows["commit"]) == {"abc"}
    assert rows["seed"].tolist() == ["0", "0", "3"]
    assert (rows["packages"].str.contains("numpy ")).all()
