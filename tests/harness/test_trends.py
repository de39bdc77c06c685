"""Rows and columns that lie off print though their cells do not, and the printed spreads."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from scipy import stats
from small_tables import a_cell

from omtl.tables.agreement import ABOVE, BELOW, LEVEL, TRENDS, trend_rows, trend_sentences, trends
from omtl.tables.scoring import judged
from omtl.tables.verdict import MISSING, OURS, STANDARD_ERROR, STD, PrintedNumber, spreads


def cell_at(algorithm: str, dataset: str, share: float, **more: Any) -> dict[str, Any]:
    """Return a cell that lies off a printed 10 by a share of it."""
    return a_cell(algorithm, dataset, values=[10.0 + 10.0 * share], **more)


def table_of(cells: list[dict[str, Any]]) -> pd.DataFrame:
    """Return cells with their verdicts, and deviations of 3 times the printed ±."""
    return judged(pd.DataFrame(cells)).assign(spread_ratio=3.0, spread_p=0.001)


ROWS = {
    "Low": [-0.03, -0.04, -0.05, -0.03, -0.04, -0.05],
    "High": [0.03, 0.04, 0.05, 0.03, 0.04, 0.05],
    "Even": [0.03, -0.03, 0.01, -0.01, 0.02, -0.02],
}
TABLE = table_of(
    [cell_at(name, f"D{k}", share) for name, row in ROWS.items() for k, share in enumerate(row)]
)


def test_a_row_of_near_cells_lies_below_print() -> None:
    """Six cells of six on one side tell what no cell tells."""
    found = trends(TABLE).set_index(["part", "name"])
    assert found.loc["row"]["verdict"].to_dict() == {"Low": BELOW, "High": ABOVE, "Even": LEVEL}
    assert set(found.loc["column"]["verdict"]) == {LEVEL}
    low = found.loc[("row", "Low")]
    assert (low["above"], low["below"]) == (0, 6)
    assert low["p_sign"] == pytest.approx(2 * 0.5**6)
    assert low["p_t"] == pytest.approx(stats.ttest_1samp(ROWS["Low"], 0.0).pvalue)
    assert low["p_holm"] >= low["p_t"]
    assert low["low"] < low["mean_share"] < low["high"] < 0.0
    told = trend_sentences(TABLE)
    assert told[0].startswith("row Low lies below print: 6 of 6 cells, -4.0 % on average (p = ")
    expected = "our deviation over shuffles of the same data is, in the median, 3.00 times"
    assert told[-1].startswith(expected)
    assert "in 18 of 18 cells" in told[-1]


def test_only_judged_cells_count() -> None:
    """Not those of ours, that were not run, diverged, or are printed as 0; two are too few."""
    cells = [cell_at("A", "D0", 0.1), cell_at("A", "D1", 0.1)]
    cells += [cell_at("A", "D6", 0.1, published_mean="0.0")]
    cells += [cell_at("A", "D2", 0.1, kind=OURS), a_cell("A", "D3")]
    cells += [cell_at("A", "D4", 0.1, diverged=1)]
    table = table_of(cells)
    assert set(table["verdict"]) >= {OURS, MISSING}
    assert trends(table).empty
    assert len(trends(table_of([*cells, cell_at("A", "D5", 0.1)]))) == 1
    assert trend_sentences(table[:0]) == []
    told = [text for text in trend_sentences(table) if text.startswith("our deviation")]
    assert ["in 2 of 2 cells" in text for text in told] == [True]


def test_a_share_that_is_the_same_in_all_cells_has_no_spread() -> None:
    """The t test then says only whether it is 0."""
    for share, p in ((0.0, 1.0), (0.5, 0.0)):
        same = table_of([cell_at("A", f"D{k}", share) for k in range(3)])
        assert trends(same)["p_t"].tolist() == [p]


def test_the_file_has_a_row_for_each_part() -> None:
    """Rows of the table first, then its columns."""
    rows = trend_rows(TABLE)
    assert tuple(rows.columns) == ("table", "reading", "selection", *TRENDS)
    assert rows["part"].tolist() == ["row"] * 3 + ["column"] * 6
    assert rows["mean_share"].iloc[0] == "-0.0400"
    assert set(rows["spread_ratio"]) == {"3.0000"}
    assert rows["spreads_differ"].tolist() == ["6"] * 3 + ["3"] * 6


def test_spreads_by_hand() -> None:
    """The F test compares deviations of single runs, whichever of the two the ± is."""
    printed = PrintedNumber("10.0", "0.50", STD, 10)
    assert spreads(printed, 0.5, 10) == pytest.approx((1.0, 1.0))
    ratio, p = spreads(printed, 1.5, 10) or (0.0, 0.0)
    assert ratio == pytest.approx(3.0)
    assert p == pytest.approx(2 * stats.f.sf(9.0, 9, 9))
    error = PrintedNumber("10.0", "0.50", STANDARD_ERROR, 9)
    assert spreads(error, 1.5, 9) == pytest.approx((3.0, 1.0))
    assert spreads(PrintedNumber("10.0", "", STD, 10), 0.5, 10) is None
    assert spreads(printed, 0.0, 10) is None
