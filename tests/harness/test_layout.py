"""How a table is laid out: its lines, headings and notes, with our baselines set apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from small_tables import BASELINES, filled_store, small_table

from omtl.evidence.ranks import rank
from omtl.tables.cells import with_columns
from omtl.tables.layout import (
    GROUP_OF_OURS,
    counts,
    latex,
    lay_out,
    layout_markdown,
    show,
    subtitle_of,
)
from omtl.tables.notes import notes, notes_on_sources
from omtl.tables.scoring import judged, scored
from omtl.tables.verdict import MISSING, OURS
from omtl.tables.writing import as_rows


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Return the small table with our numbers of two repeats."""
    table = small_table(2)
    return scored(table, filled_store(table, tmp_path_factory.mktemp("store")))


def test_ours_are_never_compared(cells: pd.DataFrame) -> None:
    """ShownPanel and written under their own verdict, and in no count, rank or delta."""
    ours = cells[cells["kind"] == OURS]
    assert len(ours) == len(BASELINES)
    assert set(ours["verdict"]) == {OURS}
    assert counts(cells) == counts(cells[cells["kind"] != OURS])
    rows = as_rows(ours)
    assert not rows[["published_mean", "published_std", "delta"]].any(axis=None)
    assert (rows["ours_mean"] != "").all()
    ranking = rank(pd.concat([cells, cells.assign(dataset="Other")]), "error")
    assert ranking is not None
    assert not set(ranking.ranks) & set(ours["algorithm"])
    layout = lay_out(cells, [])
    labels = [line.label for line in layout.lines]
    assert labels[-len(ours) - 1] == GROUP_OF_OURS
    assert labels.count(GROUP_OF_OURS) == 1
    console = Console(record=True, width=200)
    show(layout, console)
    for text in (layout_markdown(layout), latex(layout), console.export_text()):
        assert GROUP_OF_OURS in text
        assert "Majority" in text


def with_values(cells: pd.DataFrame, which: pd.Series, values: np.ndarray) -> pd.DataFrame:
    """Return cells of which some have other numbers."""
    own = zip(cells["values"], which, strict=True)
    return judged(with_columns(cells, [{"values": values if is_it else v} for v, is_it in own]))


def test_where_ours_are_better_than_all_is_said(cells: pd.DataFrame) -> None:
    """Computed from our numbers: strictly better than each of the paper's algorithms."""
    of_ours, majority = cells["kind"] == OURS, cells["algorithm"] == "Majority"
    best = cells["ours_mean"][~of_ours].min()

    def note(mean: float) -> list[str]:
        changed = with_values(cells, of_ours, np.full(2, 60.0))
        found = notes(with_values(changed, majority, np.full(2, mean)))
        return [one for one in found if one.startswith("baselines of ours")]

    assert note(best) == []
    (told,) = note(best - 1.0)
    assert f"Synthetic: Majority {best - 1.0:.2f} (" in told
    assert "best as printed 5.91" in told
    missing = with_values(cells, cells["algorithm"] == "PM", np.empty(0))
    assert not any("of ours" in one for one in notes(missing))


def test_what_is_missing_is_named_unless_it_is_a_whole_column(cells: pd.DataFrame) -> None:
    """Where one cell alone is asked for, it is that cell, not all of its column."""
    lacking = cells[cells["kind"] != OURS].assign(n_repeats=0, verdict=MISSING, why="it is gone")
    for some, place in ((lacking.head(1), "PM"), (lacking, "all")):
        assert f"Synthetic: {place} — missing: it is gone" in notes(some)
    assert notes_on_sources(cells) == []
    half = pd.concat([lacking.head(1), cells.iloc[1:]])
    assert notes_on_sources(half) == ["Synthetic: PM — missing: it is gone"]


def test_a_cell_alone_is_under_its_own_heading(cells: pd.DataFrame) -> None:
    """Headings of groups without a row are left out, and one cell is counted as one."""
    layout = lay_out(cells[cells["algorithm"] == "DOM-I (Ring)"], [])
    assert [line.label for line in layout.lines] == ["Decentralized", "DOM-I (Ring)"]
    assert "; 1 cell: " in layout.subtitle
    layout = lay_out(cells[cells["algorithm"] == "Majority"], [])
    assert [line.label for line in layout.lines] == [GROUP_OF_OURS, "Majority"]
    assert layout.subtitle.endswith("; no cell of the paper")


def test_the_header_says_how_many_plays_the_papers_repeats_have(cells: pd.DataFrame) -> None:
    """Where a table plays several for each, both counts are named."""
    assert ", 2 repeats (synthetic data" in subtitle_of(cells)
    many = [{"experiment": one.with_plays(3)} for one in cells["experiment"]]
    said = ", 6 repeats (3 for each of the paper's; synthetic data"
    assert said in subtitle_of(with_columns(cells, many))


def test_a_table_with_more_columns_than_rows_is_turned_in_the_terminal(
    cells: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each algorithm becomes a column of the terminal's table, and each data set a row."""
    monkeypatch.setenv("COLUMNS", "100")
    row = cells[cells["algorithm"] == "DOM-I (Ring)"]
    layout = lay_out(row, [])
    heads = [f"Synthetic ap@{k}" for k in range(1, 11)]
    (line,) = [line for line in layout.lines if not line.is_group]
    broad = layout._replace(heads=heads, lines=[line._replace(cells=line.cells[:1] * 10)])
    show(broad, Console(width=100))
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 100
    assert [row.split()[0] for row in shown if "ap@" in row] == [f"ap@{k}" for k in range(1, 11)]
