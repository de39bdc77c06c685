"""Tables that are chosen without hindsight, and what hindsight gains."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from miniature import SERIAL, a_rule
from small_tables import SEARCH, be_dom_table1, filled_store, small_table, table_of

from omtl.api import tables
from omtl.compute.store import Store
from omtl.evidence import hindsight_gap
from omtl.evidence.hindsight_gap import BestRow, compares, pick, pick_row
from omtl.experiment.config import options
from omtl.experiment.descriptions import describe
from omtl.experiment.readings import CLOSEST, READINGS, Reading
from omtl.experiment.selection import NO_HINDSIGHT, early_costs, is_without_hindsight
from omtl.experiment.specs import SelectionSpec
from omtl.tables.cells import as_rows, each_cell, first_cell, planned, with_columns
from omtl.tables.request import Request
from omtl.tables.scoring import play_cells, record, scored, stages
from omtl.tables.verdict import OURS
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS
from omtl.util.result_files import read_csv

N = 6

ROWS = ["PM", "PA", "COML", "DOM-I (Full)", "DOM-I (Ring)", "OGD", "Majority"]


def few_rows(repeats: int, selection: str | None = None) -> pd.DataFrame:
    """Return some rows of the small table."""
    return small_table(repeats, selection, ROWS)


@pytest.fixture(scope="module")
def filled(once: Callable[..., Path]) -> Store:
    """Return a store with all units of these rows."""
    return Store(once("few_rows", lambda folder: filled_store(few_rows(N), folder)))


def test_which_rules_have_no_hindsight() -> None:
    """Those that look at the numbers that they choose for are not."""
    kinds = {SelectionSpec.named(name).rule for name in options("selection")}
    without = {kind for kind in kinds if is_without_hindsight(a_rule(kind, fraction=0.1))}
    assert without == {"prefix", "progressive", "cross_validation", "fixed"}
    # What one shuffle trains on, others test on.
    assert not is_without_hindsight(a_rule("cross_validation", chosen_for="all"))
    assert is_without_hindsight(SelectionSpec.named("cv5_each"))
    tables = [describe("table", name) for name in ("dom-table1", "amtl-table1")]
    assert [compares(each) for each in tables] == [True, False]  # queries leave no first part


@pytest.mark.parametrize(
    ("row", "asked", "rule"),
    [
        ("COML-1", "oracle", {"name": "oracle_worst", "target": "worst_task"}),
        ("COML-1", "prefix", {"name": "prefix_worst", "target": "worst_task"}),
        ("COML-2", "oracle", {"name": "oracle_related", "tasks": (1, 2, 3, 4)}),
        ("COML-2", "prefix", {"name": "prefix_related", "tasks": (1, 2, 3, 4)}),
        ("COML-2", "fixed", {"name": "fixed"}),
        ("ROM-PGD", "prefix", {"name": "prefix_pgd", "target": "total"}),
        ("ROM-RDA", "prefix", {"name": "prefix", "target": "worst_task"}),
    ],
)
def test_rows_keep_their_target(row: str, asked: str, rule: dict[str, Any]) -> None:
    """Rows with a rule of their own, and readings that say what is tuned for."""
    table = planned("rom-table1", Request("as_published", selection=asked))
    cell = first_cell(table[table["algorithm"] == row])
    assert {key: getattr(cell.rule, key) for key in rule} == rule
    if asked == NO_HINDSIGHT:
        assert cell.rule.rule == "prefix"
        assert cell.experiment.protocol.settings["by_task"]


def test_prefix_rows(filled: Store) -> None:
    """Each repeat has the number of the point that was best on its own first part."""
    made = scored(few_rows(N, NO_HINDSIGHT), filled)
    for cell in each_cell(made):
        points = []
        for repeat, result in enumerate(filled.stored(cell.experiment.repeats(0, N))):
            arrays = result.arrays
            early = int(np.flatnonzero(arrays["seen"] >= 0.1 * arrays["seen"][-1])[0])
            point = int(np.argmin(arrays["checkpoint_mistakes"][:, early]))
            expected = 100.0 * arrays["mistakes"][point].sum() / arrays["examples"].sum()
            assert cell.values[repeat] == pytest.approx(expected)
            points.append(point)
        assert cell.params == cell.experiment.points[np.bincount(points).argmax()]
    assert set(as_rows(made)["selection"]) == {NO_HINDSIGHT}


def with_alternatives(selection: str | None) -> pd.DataFrame:
    """Return two algorithms, and a row that prints the better of them."""
    table = few_rows(N, selection)
    alone = table[table["algorithm"].isin(["PA", "COML"])]
    joined = with_columns(alone.head(1), [{"alternatives": (alone["experiment"].iloc[1],)}])
    return pd.concat([alone, joined])


def test_alternatives_are_chosen_early_too(filled: Store) -> None:
    """Of several algorithms each repeat has the one that was better on its first part."""
    one, other, best = each_cell(scored(with_alternatives(NO_HINDSIGHT), filled))
    rule = SelectionSpec.named(NO_HINDSIGHT)
    early = np.array(
        [
            [early_costs(result, rule).min() for result in filled.stored(e.repeats(0, N))]
            for e in (one.experiment, other.experiment)
        ]
    )
    expected = np.where(early[0] <= early[1], one.values, other.values)
    np.testing.assert_array_equal(best.values, expected)
    assert best.params in best.experiment.points
    *singles, hindsight = scored(with_alternatives(None), filled)["ours_mean"]
    assert hindsight == min(singles)


def test_a_search_without_hindsight_looks_at_the_first_part(store: Store) -> None:
    """No rung plays more of the stream than the rule may look at."""
    table = table_of(SEARCH, repeats=2, rule=SelectionSpec.named(NO_HINDSIGHT))
    play_cells(table, Request(parallel=SERIAL, store=store))
    assert record(table, store)["share"].tolist() == ["0.1", "0.1", "1"]
    assert len(stages(first_cell(table), store)[-1].experiment.points) == 2


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let DOM's table be the small one, of N repeats, and results go to a folder of the test's."""

    def small(request: Request) -> pd.DataFrame:
        assert isinstance(request.repeats, int)
        return few_rows(request.repeats, request.selection)

    be_dom_table1(small, N, [tables, hindsight_gap], monkeypatch)
    monkeypatch.setattr(hindsight_gap, "descriptions", lambda _: ["dom-table1"])
    monkeypatch.setattr("omtl.tables.published_results.RESULTS", tmp_path)
    return tmp_path


def wanted(filled: Store, selection: str | None, repeats: int | None = None) -> Request:
    """Return a full run, or one of some repeats, by a rule."""
    return Request(repeats=repeats, selection=selection, parallel=SERIAL, store=filled)


def test_tables_of_the_rule_without_hindsight_are_kept_apart(here: Path, filled: Store) -> None:
    """In files of their own, the paper's left as they are; short runs are not kept."""
    tables.played_table("dom-table1", wanted(filled, None)).write()
    own = (here / "reproduced" / "dom-table1.csv").read_bytes()
    paths = tables.played_table("dom-table1", wanted(filled, NO_HINDSIGHT)).write()
    assert {path.parent.name for path in paths} == {"reproduced"}
    assert all(path.name.startswith("dom-table1.prefix.") for path in paths)
    assert (here / "reproduced" / "dom-table1.csv").read_bytes() == own
    with (here / "reproduced" / "dom-table1.prefix.csv").open(encoding="utf-8") as file:
        assert {row["selection"] for row in csv.DictReader(file)} == {NO_HINDSIGHT}
    meta = json.loads((here / "reproduced" / "dom-table1.prefix.meta.json").read_text())
    assert meta["selection"] == NO_HINDSIGHT
    short = tables.played_table("dom-table1", wanted(filled, NO_HINDSIGHT, 2)).write()
    assert {path.parent.name for path in short} == {"partial"}
    assert not wanted(filled, NO_HINDSIGHT).is_full(describe("table", "dom-table1"))


def test_margins_by_hand(here: Path, filled: Store) -> None:  # noqa: ARG001
    """The best own less the best alternative by each rule; their difference is from hindsight."""
    proposed = describe("table", "dom-table1").proposed
    (row,) = hindsight_gap.margins(
        "dom-table1", Reading(name="r", paper=None), Request(repeats=N, store=filled)
    ).to_dict("records")
    margins, mean = [], attrgetter("ours_mean")
    for rule, kind in (("oracle", ""), (NO_HINDSIGHT, "no_hindsight_")):
        found = list(each_cell(scored(few_rows(N, rule), filled)))
        own = min((cell for cell in found if cell.algorithm in proposed), key=mean)
        others = [c for c in found if c.algorithm not in proposed and c.kind != OURS]
        alternative = min(others, key=mean)
        assert row[f"{kind}selection"] == rule
        assert row[f"{kind}own"] == own.algorithm
        assert row[f"{kind}alternative"] == alternative.algorithm
        margins.append(alternative.values - own.values)
        assert float(row[f"{kind}margin"]) == pytest.approx(margins[-1].mean(), abs=1e-4)
        assert float(row[f"{kind}low"]) <= margins[-1].mean() <= float(row[f"{kind}high"])
    assert float(row["from_hindsight"]) == pytest.approx((margins[0] - margins[1]).mean(), abs=1e-4)
    baseline = min((cell for cell in found if cell.kind == OURS), key=mean)
    assert row["baseline"] == baseline.algorithm
    gap = float((baseline.values - own.values).mean())
    assert float(row["baseline_margin"]) == pytest.approx(gap, abs=1e-4)
    assert (row["reading"], row["n_repeats"]) == ("r", str(N))
    assert row["repeats_are_of"] == "fresh draws"
    assert (row["printed_own"], row["printed_alternative"]) == ("DOM-I (Full)", "COML")
    assert row["printed_margin"] == "0.0900"  # 6.00 - 5.91


def test_the_file_keeps_what_is_not_stored(here: Path, filled: Store, tmp_path: Path) -> None:
    """Rows of other tables stay; a column that was not run in full is left out."""
    path = here / "partial" / "hindsight.csv"

    def written(repeats: int = N, store: Store = filled) -> list[str]:
        return hindsight_gap.write_hindsight_gap(Request(repeats=repeats, store=store), here)[0]

    assert all("(no interval: 2 repeats)" in line and "[" not in line for line in written(2))
    told = written()
    assert len(told) == len(READINGS)
    said = ": DOM-I (Full) has a margin of 0.0900 over COML in print; "
    assert all("dom-table1" in line and said in line and "by prefix" in line for line in told)
    rows = read_csv(path)
    assert tuple(rows.columns) == hindsight_gap.COLUMNS
    one = rows.to_dict("records")[0]
    assert hindsight_gap.sentence(one) in told
    assert ", Synthetic task2: " in hindsight_gap.sentence(one | {"task": "task2"})
    rows = pd.concat([rows[:1].assign(table="aklo-table1"), rows])
    rows[:-1].to_csv(path, index=False, lineterminator="\n")
    written()
    pd.testing.assert_frame_equal(read_csv(path), rows.reset_index(drop=True))
    first = path.read_bytes()
    with pytest.raises(UserError, match="--selection prefix"):
        written(store=Store(tmp_path / "empty"))
    assert path.read_bytes() == first


def of_places(*means: float) -> list[np.ndarray]:
    """Return six repeats with these means."""
    return [mean + np.array([-0.3, 0.1, 0.2, -0.2, 0.3, -0.1]) for mean in means]


def picked(rows: dict[str, list[np.ndarray]]) -> BestRow:
    """Return the best row on tasks of one data set, where lower is better."""
    by_task = pd.DataFrame.from_dict(rows, orient="index")
    by_task.columns = pd.MultiIndex.from_product([["D"], by_task.columns])
    return pick_row(by_task, 1.0, seed=0)


def test_one_alternative_for_all_places() -> None:
    """Of alternatives that are each best in one place, that which is better on the whole."""
    alternatives = {"first": of_places(4.0, 10.0), "second": of_places(6.0, 6.0)}
    found = picked(alternatives)
    assert found.algorithm == "second"
    gap = found.means - picked({"own": of_places(5.0, 5.0)}).means
    np.testing.assert_allclose(gap, 1.0)  # all rows move together here
    better = pick(np.array([[[0.9, 0.5]], [[0.6, 0.9]]]), sign=-1.0)
    assert better.tolist() == [1]  # 0.9 / 0.7 + 0.6 / 0.75 against 0.5 / 0.7 + 0.9 / 0.75


def test_a_row_that_diverged_is_not_the_best() -> None:
    """Its mean is infinite; the others count relative to the average of those that did not."""
    means = np.array([[1.0, 2.0], [np.inf, 3.0], [0.5, 1.0]])
    assert pick(means, sign=1.0) == 2


def test_intervals_know_of_the_picking() -> None:
    """Of alternatives alike but for chance, that of the best is wider than that of a fixed one."""
    rng = np.random.default_rng(0)
    alternatives = {str(k): [5.0 + rng.normal(size=20)] for k in range(30)}
    found = picked(alternatives)
    alone = picked({found.algorithm: alternatives[found.algorithm]})
    assert found.means[1:].mean() < alone.means[1:].mean() - 0.05


MARGINS = read_csv(RESULTS / "hindsight.csv")


@pytest.mark.parametrize("table", MARGINS["table"].unique())
def test_margins_in_print_are_made_again(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are of what the paper prints, here taken for ours too."""

    def printed(cells: pd.DataFrame, _: Store) -> pd.DataFrame:
        means = [[float(mean)] if mean else [] for mean in cells["published_mean"]]
        return with_columns(cells, [{"values": np.array(mean)} for mean in means])

    monkeypatch.setattr(hindsight_gap, "played", printed)
    made = hindsight_gap.margins(
        table, Reading.of(describe("table", table).paper, CLOSEST), Request()
    )
    kept = MARGINS[(MARGINS["table"] == table) & (MARGINS["reading"] == CLOSEST)]
    columns = ["dataset", "task", "printed_own", "printed_alternative", "printed_margin"]
    assert made[columns].to_numpy().tolist() == kept[columns].to_numpy().tolist()
    ours = made[["own", "alternative", "margin"]].to_numpy().tolist()
    assert ours == made[columns[2:]].to_numpy().tolist()
