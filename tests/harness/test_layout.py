"""How a table is laid out: its lines, headings and notes, with our baselines set apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from small_tables import BASELINES, filled_store, small_table

from omtl.compute.store import Store
from omtl.evidence.ranks import rank
from omtl.tables.layout import GROUP_OF_OURS, counts, lay_out
from omtl.tables.render import latex, markdown, show
from omtl.tables.request import Request
from omtl.tables.scoring import frame, score_table
from omtl.tables.verdict import OURS


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store with all units of two repeats of the small table."""
    return filled_store(small_table(), tmp_path_factory.mktemp("store"), 2)


def test_ours_are_never_compared(filled: Store) -> None:
    """Shown and written under their own verdict, and in no count, rank or delta."""
    table = small_table()
    scored = score_table(table, Request(repeats=2, store=filled))
    ours = [s for s in scored if s.cell.is_ours]
    assert len(ours) == len(BASELINES)
    assert {s.verdict for s in ours} == {OURS}
    assert counts(scored) == counts([s for s in scored if not s.cell.is_ours])
    rows = frame(table, ours, "oracle")
    assert not rows[["published_mean", "published_std", "delta"]].any(axis=None)
    assert (rows["ours_mean"] != "").all()
    twice = scored + [replace(s, cell=replace(s.cell, dataset="Other")) for s in scored]
    ranking = rank(twice, "error")
    assert ranking is not None
    assert not set(ranking.ranks) & {s.cell.algorithm for s in ours}
    layout = lay_out(table, scored, Request(repeats=2, selection="oracle"))
    labels = [line.label for line in layout.lines]
    assert labels[-len(ours) - 1] == GROUP_OF_OURS
    assert labels.count(GROUP_OF_OURS) == 1
    console = Console(record=True, width=200)
    show(layout, console)
    for text in (markdown(layout), latex(layout), console.export_text()):
        assert GROUP_OF_OURS in text
        assert "Majority" in text


def test_where_ours_are_better_than_all_is_said(filled: Store) -> None:
    """Computed from our numbers: strictly better than each of the paper's algorithms."""
    table = small_table()
    scored = score_table(table, Request(repeats=2, store=filled))
    best = min(s.values.mean() for s in scored if not s.cell.is_ours)

    def note(majority: float) -> list[str]:
        changed = [
            replace(s, values=np.full(2, majority if s.cell.algorithm == "Majority" else 60.0))
            if s.cell.is_ours
            else s
            for s in scored
        ]
        notes = lay_out(table, changed, Request(repeats=2, selection="oracle")).notes
        return [one for one in notes if one.startswith("baselines of ours")]

    assert note(best) == []
    (told,) = note(best - 1.0)
    assert f"Synthetic: Majority {best - 1.0:.2f} (" in told
    assert "best as printed 5.91" in told
    missing = [replace(s, values=np.empty(0)) if s.cell.algorithm == "PM" else s for s in scored]
    assert not any(
        "of ours" in one
        for one in lay_out(table, missing, Request(repeats=2, selection="oracle")).notes
    )


def test_what_is_missing_is_named_unless_it_is_a_whole_column(filled: Store) -> None:
    """Where one cell alone is asked for, it is that cell, not all of its column."""
    table, request = small_table(), Request(repeats=2, selection="oracle", store=filled)
    lacking = [
        replace(s, values=np.empty(0), verdict="missing", why="it is not there")
        for s in score_table(table, request)
        if not s.cell.is_ours
    ]
    for cells, place in ((lacking[:1], "PM"), (lacking, "all")):
        assert (
            f"Synthetic: {place} — missing: it is not there" in lay_out(table, cells, request).notes
        )


def test_a_cell_alone_is_under_its_own_heading(filled: Store) -> None:
    """Headings of groups without a row are left out, and one cell is counted as one."""
    table, request = small_table(), Request(repeats=2, selection="oracle", store=filled)
    by_name = {s.cell.algorithm: s for s in score_table(table, request)}
    layout = lay_out(table, [by_name["DOM-I (Ring)"]], request)
    assert [line.label for line in layout.lines] == ["Decentralized", "DOM-I (Ring)"]
    assert "; 1 cell: " in layout.subtitle
    layout = lay_out(table, [by_name["Majority"]], request)
    assert [line.label for line in layout.lines] == [GROUP_OF_OURS, "Majority"]
    assert layout.subtitle.endswith("; no cell of the paper")


def test_the_header_says_how_many_plays_the_papers_repeats_have(filled: Store) -> None:
    """Where a table plays several for each, both counts are named."""
    table, request = small_table(), Request(repeats=2, selection="oracle", store=filled)
    scored = score_table(table, request)
    assert ", 2 repeats (synthetic data" in lay_out(table, scored, request).subtitle
    cells = [replace(s.cell, experiment=replace(s.cell.experiment, plays=3)) for s in scored]
    many = [replace(s, cell=cell) for s, cell in zip(scored, cells, strict=True)]
    said = ", 6 repeats (3 for each of the paper's; synthetic data"
    assert said in lay_out(table, many, request).subtitle
