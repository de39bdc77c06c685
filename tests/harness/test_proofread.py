"""The papers' printed numbers, checked against themselves."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from described import a_table

from omtl.compute.store import Store
from omtl.reproduction import search_readings
from omtl.tables import proofread
from omtl.tables.cells import places_in, planned
from omtl.tables.layout import lay_out, layout_markdown
from omtl.tables.notes import notes
from omtl.tables.plan import describe, descriptions
from omtl.tables.proofread import (
    MEAN,
    count_is_possible,
    share_is_possible,
    suspects,
    write_findings,
)
from omtl.tables.request import Request
from omtl.tables.scoring import scored
from omtl.util.paths import RESULTS


def cells_of(means: np.ndarray, std: str = "0.20") -> list[dict[str, str]]:
    """Return a published table of error rates, an algorithm a row and a data set a column."""
    return [
        {"dataset": f"data {j}", "algorithm": f"row {i}", "task": "all", "metric": "error"}
        | {"mean": f"{means[i, j]:.2f}", "std": std}
        for i, j in product(*map(range, means.shape))
    ]


def found_in(check: str, cells: list[dict[str, str]], **asked: Any) -> set[tuple[str, str]]:
    """Return the cells that a check finds in a table."""
    findings = proofread.CHECKS[check](cells, a_table(repeats=10, **asked)).findings
    return {(one["algorithm"], one["dataset"]) for one in findings}


def test_the_kept_findings_are_those_of_the_published_tables(tmp_path: Path) -> None:
    """The files are up to date: to the byte."""
    _, paths = write_findings(tmp_path)
    for path in paths:
        assert path.read_bytes() == (RESULTS / path.name).read_bytes()


def test_roms_repeated_rows() -> None:
    """Three pairs of rows of Table I, in all their cells; nothing of the sort elsewhere."""
    pairs = {("OMTL-B", "0.09"), ("ROM-RDA", "1.00"), ("OMTL-B", "1.00"), ("ROM-RDA", "12.25")}
    pairs |= {("PT-Individual", "1.00"), ("Multi-P", "1.00")}
    expected = {
        (f"Synthetic (delta2={delta2})", row, f"task{task}", "error")
        for row, delta2 in pairs
        for task in range(1, 6)
    }
    assert suspects("rom-table1", MEAN).keys() == expected
    assert not any(suspects(name, MEAN) for name in descriptions("table") if name != "rom-table1")


def test_a_copied_row_is_found() -> None:
    """Also with one of its cells changed; rows that are merely close are not."""
    means = np.random.default_rng(0).uniform(5.0, 20.0, size=(6, 5))
    assert found_in("repeated row", cells_of(means)) == set()
    means[4] = means[1] + 0.01
    both = {(f"row {i}", f"data {j}") for i in (1, 4) for j in range(5)}
    assert found_in("repeated row", cells_of(means)) == both
    means[4, 2] += 1.0
    assert found_in("repeated row", cells_of(means)) == both
    means[4, 3] += 1.0
    assert found_in("repeated row", cells_of(means)) == set()
    # Of means as certain as their last digit it says nothing that they agree.
    means[4] = means[1]
    assert found_in("repeated row", cells_of(means, "0.01")) == set()


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


def test_counts_by_hand() -> None:
    """OSMTL's PA-ITL on spam: one run two short of 1500 has a deviation of 0.365, and no other."""
    assert count_is_possible("1499.9", "0.37", 30, 1500)
    assert not count_is_possible("1499.9", "0.36", 30, 1500)
    assert not count_is_possible("1499.9", "0.37", 30, 1500, errors=True)
    assert not count_is_possible("1500.1", "0.00", 30, 1500)


def test_shares_by_hand() -> None:
    """Half zeros and half ones spread most."""
    assert share_is_possible("0.50", "0.53", 10)
    assert not share_is_possible("0.50", "0.54", 10)
    assert not share_is_possible("0.5473", "0.12", 30, errors=True)


def test_no_share_is_wrongly_called_impossible() -> None:
    """All means and spreads of three numbers in steps of 0.05, however they are rounded."""
    for numbers in product(np.arange(21) / 20, repeat=3):
        mean, std = np.mean(numbers), np.std(numbers, ddof=1)
        for digits in (1, 2):
            assert share_is_possible(f"{mean:.{digits}f}", f"{std:.{digits}f}", 3)


def test_a_mean_beyond_the_counts_is_impossible() -> None:
    """Without a spread too."""
    assert count_is_possible("4", "", 3, 4)
    assert not count_is_possible("5", "", 3, 4)
    assert not count_is_possible("-1", "", 3, 4)


def test_steps_of_percentages() -> None:
    """Ten runs of 50 examples have means in steps of 0.2 %."""
    cells = cells_of(np.array([[12.20, 12.30, 12.40]]), std="")
    examples = {"examples": {f"data {j}": 50 for j in range(3)}}
    assert found_in("impossible", cells, print=examples) == {("row 0", "data 1")}


def test_a_small_spread_is_found() -> None:
    """A fifth of that of the other rows is too small for ten runs, a half is not."""
    cells = cells_of(np.full((8, 3), 20.0))
    for std, expected in (("0.10", set()), ("0.02", {("row 2", "data 1")})):
        cells[2 * 3 + 1]["std"] = std
        assert found_in("small spread", cells) == expected


def test_marks() -> None:
    """Bold and not the best; the best and not bold; a table without marks is left alone."""
    cells = cells_of(np.array([[5.0, 5.0], [4.0, 4.0]]))
    bold = {"bold": {"data 0": ["row 1"], "data 1": ["row 0"]}}
    expected = {("row 0", "data 1"), ("row 1", "data 1")}
    assert found_in("bold", cells, print=bold) == expected
    assert found_in("bold", cells) == set()
    cells += [cell | {"metric": "seconds", "mean": "0.01"} for cell in cells]
    assert found_in("bold", cells, print=bold) == expected


def test_one_mark_is_enough_where_several_are_the_best() -> None:
    """As the paper's unrounded numbers may differ."""
    cells = cells_of(np.array([[4.0, 4.0, 4.0], [4.0, 4.0, 4.0], [5.0, 5.0, 5.0]]))
    bold = {"data 0": ["row 0"], "data 1": ["row 1"], "data 2": ["row 0", "row 1"]}
    assert found_in("bold", cells, print={"bold": bold}) == set()


def test_a_search_of_readings_leaves_out_suspect_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """No reading is preferred for the sake of a number that may be a slip."""

    class LookedError(Exception):
        pass

    def look(plan: Any, *_: Any) -> None:
        raise LookedError(set(places_in(plan)))

    monkeypatch.setattr(search_readings, "play_cells", look)
    column = "Synthetic (delta2=12.25)"
    with pytest.raises(LookedError) as caught:
        search_readings._try("rom-table1", column, {}, Request(repeats=1))
    (looked_at,) = caught.value.args
    whole = places_in(planned("rom-table1", Request("as_written")))
    printed = {p for p in whole if p[0] == column and p in _printed("rom-table1")}
    assert looked_at == printed - suspects("rom-table1", MEAN).keys()
    assert len(printed - looked_at) == 5


def _printed(table: str) -> set[tuple[str, str, str, str]]:
    return {proofread.place_of(cell) for cell in proofread.published(table)}


def test_tables_show_what_is_suspect(store: Store) -> None:
    """By a mark beside the printed number, and by a note that says why."""
    cells = scored(planned("dom-table1", Request("as_written", 1)), store)
    text = layout_markdown(lay_out(cells, notes(cells)))
    assert "6.05 ± 0.08!" in text
    assert "27.27 ± 0.16," in text
    assert "(omtl audit proofread) — DOM-II (Grid) on Synthetic: the spread" in text
    assert all(one["of"] != MEAN for found in suspects("dom-table1").values() for one in found)


def test_what_is_bold_is_in_the_table() -> None:
    """Names of rows and columns in the descriptions are those that are printed."""
    for name in descriptions("table"):
        printed = {(cell["dataset"], cell["algorithm"]) for cell in proofread.published(name)}
        says = describe("table", name).print
        assert {(d, a) for d, rows in says.bold.items() for a in rows} <= printed
        assert set(says.examples) <= {dataset for dataset, _ in printed}
