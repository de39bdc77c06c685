"""Rows and columns that lie off print though their cells do not, and the printed spreads."""

from __future__ import annotations

import numpy as np
import pytest
from miniature import small
from scipy import stats

from omtl.tables.plan import Cell
from omtl.tables.scoring import Scored
from omtl.tables.trends import ABOVE, BELOW, COLUMNS, LEVEL, frame, sentences, trends
from omtl.tables.verdict import MISSING, OURS, STANDARD_ERROR, STD, Difference, Printed, spreads

EXPERIMENT = small("pm")


def scored(algorithm: str, dataset: str, share: float, **options: object) -> Scored:
    """Return a cell that lies off a printed 10 by a share of it."""
    cell = Cell(dataset, algorithm, "all", "error", "10", "1", EXPERIMENT)
    found = Difference(10.0 * share, 0.1, 0.1, 20.0, 10.0)
    known = {"verdict": "near", "difference": found, "spread": (3.0, 0.001)} | options
    return Scored(cell, np.array([10.0 + 10.0 * share]), **known)  # type: ignore[arg-type]


ROWS = {
    "Low": [-0.03, -0.04, -0.05, -0.03, -0.04, -0.05],
    "High": [0.03, 0.04, 0.05, 0.03, 0.04, 0.05],
    "Even": [0.03, -0.03, 0.01, -0.01, 0.02, -0.02],
}
TABLE = [scored(name, f"D{k}", share) for name, row in ROWS.items() for k, share in enumerate(row)]


def test_a_row_of_near_cells_lies_below_print() -> None:
    """Six cells of six on one side tell what no cell tells."""
    found = {(t.part, t.name): t for t in trends(TABLE)}
    assert [found["row", name].verdict for name in ROWS] == [BELOW, ABOVE, LEVEL]
    assert all(t.verdict == LEVEL for (part, _), t in found.items() if part == "column")
    low = found["row", "Low"]
    assert (low.above, low.below) == (0, 6)
    assert low.p_sign == pytest.approx(2 * 0.5**6)
    assert low.p == pytest.approx(stats.ttest_1samp(ROWS["Low"], 0.0).pvalue)
    assert low.p_holm >= low.p
    low_end, high_end = low.ends
    assert low_end < low.mean < high_end < 0.0
    told = sentences(TABLE)
    assert told[0].startswith("row Low lies below print: 6 of 6 cells, -4.0 % on average (p = ")
    expected = "our deviation over shuffles of the same data is, in the median, 3.00 times"
    assert told[-1].startswith(expected)
    assert "in 18 of 18 cells" in told[-1]


def test_only_judged_cells_count() -> None:
    """Not those of ours, that were not run, diverged, or are printed as 0; two are too few."""
    cells = [scored("A", "D0", 0.1), scored("A", "D1", 0.1)]
    cells += [scored("A", "D6", 0.1, difference=Difference(0.1, 0.1, 0.1, 20.0, 0.0))]
    cells += [scored("A", "D2", 0.1, verdict=OURS), scored("A", "D3", 0.1, verdict=MISSING)]
    cells += [scored("A", "D4", 0.1, diverged=1)]
    assert trends(cells) == []
    assert len(trends([*cells, scored("A", "D5", 0.1)])) == 1
    assert sentences([]) == []
    told = [text for text in sentences(cells) if text.startswith("our deviation")]
    assert ["in 2 of 2 cells" in text for text in told] == [True]


def test_the_file_has_a_row_for_each_part() -> None:
    """Rows of the table first, then its columns."""
    rows = frame("t", "as_written", "oracle", TABLE)
    assert tuple(rows.columns) == COLUMNS
    assert rows["part"].tolist() == ["row"] * 3 + ["column"] * 6
    assert rows["mean_share"].iloc[0] == "-0.0400"
    assert set(rows["spread_ratio"]) == {"3.0000"}
    assert rows["spreads_differ"].tolist() == ["6"] * 3 + ["3"] * 6


def test_spreads_by_hand() -> None:
    """The F test compares deviations of single runs, whichever of the two the ± is."""
    printed = Printed("10.0", "0.50", STD, 10)
    assert spreads(printed, 0.5, 10) == pytest.approx((1.0, 1.0))
    ratio, p = spreads(printed, 1.5, 10) or (0.0, 0.0)
    assert ratio == pytest.approx(3.0)
    assert p == pytest.approx(2 * stats.f.sf(9.0, 9, 9))
    error = Printed("10.0", "0.50", STANDARD_ERROR, 9)
    assert spreads(error, 1.5, 9) == pytest.approx((3.0, 1.0))
    assert spreads(Printed("10.0", "", STD, 10), 0.5, 10) is None
    assert spreads(printed, 0.0, 10) is None
