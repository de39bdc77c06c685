"""A search plays what it says, is resumed, and ends as the full grid would where it keeps all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from miniature import SERIAL
from small_tables import SEARCH, table_of

from omtl.compute import engine
from omtl.compute.exchange import pull, push
from omtl.compute.store import CachedStore, Store
from omtl.experiment.specs import Rung
from omtl.experiment.unit import Result, Unit
from omtl.tables.cells import first_cell, planned
from omtl.tables.plan import describe
from omtl.tables.play import left_by_search, play_cells, record, stages, units_of
from omtl.tables.request import Request
from omtl.tables.scoring import scored
from omtl.tables.search_cost import COST, cost_of
from omtl.tables.writing import as_rows
from omtl.util.errors import UserError


def asked(store: Store) -> Request:
    """Return a request to play into a store."""
    return Request(parallel=SERIAL, store=store)


def test_rungs_are_played_as_said(store: Store) -> None:
    """Each rung has its share, repeats and number of points; the last has all repeats."""
    table = table_of(SEARCH, repeats=3)
    load = CachedStore(store)
    assert len(stages(first_cell(table), load)) == 1
    assert len(left_by_search(first_cell(table), load)[1]) == 1
    outcome = play_cells(table, asked(store))
    assert outcome.computed == 1 + 2 + 3
    rows = record(table, store)
    assert rows["n_points"].tolist() == [12, 6, 2]
    assert rows["share"].tolist() == ["0.2", "0.5", "1"]
    assert rows["repeats"].tolist() == [1, 2, 3]
    assert rows["points"].iloc[0] == ""
    first, last = (set(rows["points"].iloc[k].split()) for k in (1, 2))
    assert len(first) == 6
    assert last < first
    # A second time, all is in the store.
    again = play_cells(table, asked(store))
    assert (again.computed, again.reused) == (0, 3)
    cell = first_cell(scored(table, store))
    assert cell.values.size == 3
    assert cell.params in first_cell(table).experiment.points


def test_a_pushed_search_need_not_be_played_again(store: Store, tmp_path: Path) -> None:
    """All its rungs travel, so that the store that pulls them has the table's number."""
    table = table_of(SEARCH, repeats=3)
    play_cells(table, asked(store))
    assert (
        push(units_of(table, CachedStore(store), every=True), store, tmp_path / "units")
        == 1 + 2 + 3
    )
    other = Store(tmp_path / "other")
    pull(tmp_path / "units", other)
    assert play_cells(table, asked(other)).computed == 0
    ours, theirs = scored(table, store), scored(table, other)
    assert as_rows(theirs).equals(as_rows(ours))
    assert set(ours["pulled_from"]) == {""}
    assert set(theirs["pulled_from"]) == {str(tmp_path / "units")}


def test_points_that_are_kept_are_the_best_of_their_rung(store: Store) -> None:
    """By the mistakes that the rung's own units have."""
    table = table_of(SEARCH, repeats=2)
    play_cells(table, asked(store))
    load = CachedStore(store)
    rung, narrowed = stages(first_cell(table), load)[:2]
    (result,) = load(rung[0].repeats(0, 1))
    assert result.arrays["seen"][-1] < load(narrowed[0].repeats(0, 1))[0].arrays["seen"][-1]
    mistakes = result.arrays["mistakes"].sum(axis=1)
    kept = list(narrowed[0].algorithm.only)
    left = np.setdiff1d(np.arange(12), kept)
    assert mistakes[kept].max() <= mistakes[left].min()


def test_a_search_that_keeps_all_is_the_full_grid(store: Store) -> None:
    """The same number, from the same point."""
    all_kept = replace(SEARCH, rungs=(Rung(share=0.1, repeats=1, keep=12),))
    ends = []
    for search in (None, all_kept):
        table = table_of(search, repeats=2)
        play_cells(table, asked(store))
        cell = first_cell(scored(table, store))
        ends.append((cell.ours_mean, cell.params))
    assert ends[0] == ends[1]


def test_a_rung_of_whole_repeats_is_of_the_full_grid(store: Store) -> None:
    """Its units are those of the full grid; a rung of all repeats leaves nothing to search."""
    first = replace(SEARCH, rungs=(Rung(share=1.0, repeats=2, keep=3),))
    assert play_cells(table_of(None, repeats=3), asked(store)).computed == 3
    table = table_of(first, repeats=3)
    assert play_cells(table, asked(store)).computed == 3
    cost = cost_of(table_of(None, repeats=3), first, asked(store))
    assert cost["plays_search"].tolist() == [2 * 12 + 3 * 3]
    assert play_cells(table_of(first, repeats=2), asked(store)).computed == 0


def test_a_search_may_be_requested_of_any_table() -> None:
    """It is then no run whose results are in git."""
    request = Request("as_written", 2, search="repeats")
    cells = planned("dom-table1", request)
    assert {search.name for search in cells["search"]} == {"repeats"}
    assert not request.is_published(describe("table", "dom-table1"))


def test_small_grids_are_played_in_full(store: Store) -> None:
    """Below `from_points` there are no rungs."""
    table = table_of(replace(SEARCH, from_points=13), repeats=2)
    assert play_cells(table, asked(store)).computed == 2
    assert record(table, store).empty


def test_what_a_search_costs(store: Store) -> None:
    """The search never ends better than the full grid, and plays less."""
    rows = cost_of(table_of(None, repeats=3), SEARCH, asked(store))
    assert tuple(rows.columns) == COST
    (row,) = rows.to_dict("records")
    assert row["plays_full"] == 12 * 3
    assert row["plays_search"] == round(0.2 * 12 + 0.5 * 2 * 6 + 3 * 2)
    assert float(row["difference"]) >= 0.0


def test_points_are_named_by_their_place_in_the_whole_grid() -> None:
    """However often a grid is narrowed."""
    whole = first_cell(table_of(None)).experiment
    once = whole.only([1, 5, 7, 11])
    twice = once.only([0, 3])
    assert twice.algorithm.only == (1, 11)
    assert twice.points == [whole.points[1], whole.points[11]]
    assert twice.algorithm.points == twice.points
    assert twice.unit(0, 0).key != whole.unit(0, 0).key


@pytest.mark.parametrize("missing", [0, 1])
def test_a_cell_whose_search_is_not_done_is_missing(store: Store, missing: int) -> None:
    """With the reason."""
    play_cells(table_of(replace(SEARCH, rungs=SEARCH.rungs[:missing])), asked(store))
    cell = first_cell(scored(table_of(SEARCH), store))
    assert (cell.verdict, cell.why) == ("missing", "the search is not done")


def test_a_unit_that_fails_is_tried_once_and_its_reason_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rung that fails ends the search; nothing is asked for twice."""
    tried: list[str] = []

    def refuse(unit: Unit) -> Result:
        tried.append(unit.key)
        raise UserError("no such data")

    monkeypatch.setattr(engine, "compute", refuse)
    table = pd.concat([table_of(SEARCH, repeats=2), table_of(None, "pm", repeats=2)])
    outcome = play_cells(table, asked(store))
    assert len(tried) == len(set(tried)) == len(outcome.failed) == 1 + 2
    cells = scored(table, store, outcome.failed)
    assert cells["verdict"].iloc[0] == "missing"
    assert cells["why"].tolist() == ["no such data", "no such data"]
