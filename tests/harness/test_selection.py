"""Rules of selection choose, and searches and early ends play, what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from miniature import SERIAL, a_rule, small, with_grid
from small_tables import SEARCH, small_table, table_of

from omtl import results
from omtl.compute.store import Store, StoredRow
from omtl.data.preparation import prepared_data
from omtl.data.streams import Tasks
from omtl.experiment.descriptions import descriptions
from omtl.experiment.selection import as_played, path, select
from omtl.experiment.specs import ProtocolSpec, Rung, SelectionSpec
from omtl.experiment.unit import Result
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.measures.sequential import reach_of_rest
from omtl.protocols.cumulative import play_grid
from omtl.protocols.setting import Setting
from omtl.tables.cells import PLACE, first_cell
from omtl.tables.notes import notes_on_sources
from omtl.tables.request import Request
from omtl.tables.scoring import (
    ALL_PLAYED,
    COST,
    FIRST,
    GROWTH,
    SETTLED,
    chosen_for,
    combined,
    cost_of,
    findings_by_task,
    is_settled,
    numbers_at,
    play_cells,
    play_until_settled,
    record,
    scored,
    stages,
)
from omtl.tables.verdict import JUDGED, VALUE, differences, std_of


def result_of(**arrays: Any) -> Result:
    """Return a result of three points, two tasks and two checkpoints, with arrays in their place.

    At the first checkpoint the first point has the fewest mistakes, at the end the last.
    """
    shared = {
        "mistakes": [[2, 6], [4, 4], [6, 1]],
        "examples": [10, 10],
        "diverged": [0, 0, 0],
        "seen": [4, 20],
        "seen_by_task": [[3, 1], [10, 10]],
        "checkpoint_mistakes": [[1, 8], [2, 8], [3, 7]],
        "checkpoint_by_task": [[[0, 1], [2, 6]], [[2, 0], [4, 4]], [[3, 0], [6, 1]]],
    }
    facts = {"seconds": 1.0, "task_names": ["a", "b"]}
    return Result({name: np.array(array) for name, array in (shared | arrays).items()}, facts)


NAN = float("nan")
OTHER = {"mistakes": [[1, 1], [5, 5], [4, 4]], "checkpoint_mistakes": [[3, 2], [2, 10], [1, 8]]}
PROGRESSIVE = SelectionSpec.named("progressive")
PREFIX, FOLDS = a_rule("prefix", fraction=0.1), a_rule("cross_validation")
FOLDED = [{"validation": [0.2, 0.9, 0.1]}, {"validation": [0.6, 0.1, 0.2]}]
UNKNOWN = [{"validation": [NAN, 0.5, 0.7]}] * 2


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize(
    ("rule", "repeats", "chosen"),
    [
        (a_rule(), [{}], [2]),
        (a_rule(), [{}, OTHER], [0, 0]),  # the best over all repeats
        (a_rule(), [{"diverged": [0, 0, 1]}], [0]),
        (a_rule(target="worst_task"), [{}], [1]),
        (a_rule(tasks=[1]), [{}], [0]),
        (a_rule(most="auc"), [{"auc": [[0.9, NAN], [0.5, 0.6], [0.8, 0.8]]}], [0]),
        (a_rule(most="auc"), [{"auc": [[NAN, NAN], [0.5, 0.5], [0.7, 0.7]]}], [2]),
        (SelectionSpec.named("oracle_absolute"), [{"absolute": [[3, 3], [1, 1], [2, 2]]}], [1]),
        (PREFIX, [{}, OTHER], [0, 2]),
        (PREFIX, [{"diverged": [1, 0, 0]}], [0]),  # perhaps later: that is not known yet
        (replace(PREFIX, target="worst_task"), [{}], [1]),  # its rate: its count is not the least
        (replace(PREFIX, tasks=(2,)), [{}], [1]),
        (replace(PREFIX, fraction=0.5), [{}], [2]),  # whose first checkpoint is the last
        (
            SelectionSpec.named("prefix_absolute"),
            [{"seen": [2, 20], "checkpoint_absolute": [[3, 1], [2, 3], [1, 2]]}],
            [2],
        ),
        (PROGRESSIVE, [{}, OTHER], [0, 2]),  # in its last stretch
        (a_rule("fixed", point={"eta": 3}), [{}, {}], [2, 2]),
        (FOLDS, FOLDED, [1, 0]),
        (FOLDS, [FOLDED[0] | {"diverged": [0, 1, 0]}], [0]),
        (FOLDS, UNKNOWN, [2, 2]),
        (replace(FOLDS, chosen_for="all"), FOLDED, [1, 1]),
        (replace(FOLDS, chosen_for="all"), UNKNOWN, [2, 2]),
    ],
)
def test_a_rule_chooses(rule: SelectionSpec, repeats: list[dict], chosen: list[int]) -> None:
    """By the numbers that it looks at: of all repeats, of a part, of some tasks, of the worst."""
    results = [result_of(**arrays) for arrays in repeats]
    assert select(results, [{"eta": 1}, {"eta": 2}, {"eta": 3}], rule).tolist() == chosen


def test_a_progressive_number_is_the_sum_over_the_stretches() -> None:
    """Of the middle point at first, then of the one that is best so far."""
    result = result_of()
    chosen = select([result], [{}] * 3, PROGRESSIVE)

    def number(metric: str, task: str = "all") -> float:
        return float(numbers_at([result], chosen, metric, PROGRESSIVE, task)[0])

    assert number("mistakes") == 2 + (8 - 1)
    assert [number("mistakes", f"task{k}") for k in (1, 2)] == [2 + (2 - 0), 0 + (6 - 1)]
    assert number("error") == number("ace") == 45.0
    of_all = {name: a for name, a in result.arrays.items() if not name.endswith("by_task")}
    together = [replace(result, arrays=of_all)]  # as if of a single task
    assert numbers_at(together, chosen, "error", PROGRESSIVE).tolist() == [45.0]
    played = as_played(result, 0, PROGRESSIVE)
    assert played.arrays["checkpoint_mistakes"][0].tolist() == [2, 9]


def test_a_progressive_choice_leaves_a_point_that_diverges() -> None:
    """An error of NaN is never the smallest, and is infinite where the path met it."""
    absolute = np.array([[1.0, NAN, NAN], [2.0, 3.0, 5.0]])
    arrays = {"checkpoint_absolute": absolute, "diverged": np.zeros(2), "seen": np.arange(3)}
    result = Result(arrays, {})
    assert path(result, SelectionSpec.named("progressive_absolute")).tolist() == [1, 0, 1]


def test_each_draw_has_hyper_parameters_of_its_own() -> None:
    """Within a draw the rule chooses in hindsight, and between draws it knows nothing."""
    both = ([[5, 5], [3, 3]], [[1, 1], [4, 4]])
    results = [result_of(mistakes=mistakes, diverged=[0, 0]) for mistakes in both]
    experiment = with_grid(small("pm"), eta=[1, 2])
    for drawn, chosen, rates in ((False, [0, 0], [50, 10]), (True, [1, 0], [30, 10])):
        of = {"experiment": replace(experiment, drawn=drawn), "rule": a_rule()}
        points = chosen_for(SimpleNamespace(**of, alternatives=(), tuned_by=None), results)
        assert points.tolist() == chosen
        assert numbers_at(results, points, "error", a_rule()).tolist() == rates


def test_results_together_are_of_all_points() -> None:
    """Points come one after the other; what all have in common comes once."""
    tested = [7, 9]
    parts = [[result_of(tested=tested)], [result_of(tested=tested, found_x=[[1.0], [2.0]])]]
    (both,) = combined(parts)
    assert both.arrays["checkpoint_mistakes"].shape == (6, 2)
    assert both.arrays["seen"].tolist() == [4, 20]
    assert both.arrays["tested"].tolist() == tested
    assert both.facts["seconds"] == 2.0
    assert "found_x" not in both.arrays
    assert combined([[result_of()], []]) == []


def asked(store: Store) -> Request:
    """Return a request to play into a store."""
    return Request(parallel=SERIAL, store=store)


def test_rungs_are_played_as_said(store: Store) -> None:
    """Each rung has its share and repeats, of the points that its predecessor found best."""
    table = table_of(SEARCH, repeats=3)
    (first,) = stages(first_cell(table), store)
    assert (first.repeats, first.is_last) == (1, False)
    outcome = play_cells(table, asked(store))
    assert outcome.computed == 1 + 2 + 3
    rows = record(table, store)
    assert rows["n_points"].tolist() == [12, 6, 2]
    assert rows["share"].tolist() == ["0.2", "0.5", "1"]
    assert rows["repeats"].tolist() == [1, 2, 3]
    assert rows["points"].iloc[0] == ""
    rung, narrowed = stages(first_cell(table), store)[:2]
    (result,), (second, *_) = (store.stored(one[0].repeats(0, 1)) for one in (rung, narrowed))
    assert result.arrays["seen"][-1] < second.arrays["seen"][-1]
    kept = list(narrowed[0].algorithm.only)
    assert rows["points"].iloc[1] == " ".join(map(str, kept))
    assert {*rows["points"].iloc[2].split()} < {*map(str, kept)}
    mistakes = result.arrays["mistakes"].sum(axis=1)
    assert mistakes[kept].max() <= np.delete(mistakes, kept).min()
    # A second time, all is in the store.
    again = play_cells(table, asked(store))
    assert (again.computed, again.reused) == (0, 3)
    cell = first_cell(scored(table, store))
    assert cell.values.size == 3
    assert cell.params in first_cell(table).experiment.points


def test_a_rung_of_whole_repeats_is_of_the_full_grid(store: Store) -> None:
    """Its units are those of the full grid; a rung of all repeats leaves nothing to search."""
    first = replace(SEARCH, rungs=(Rung(share=1.0, repeats=2, keep=3),))
    assert play_cells(table_of(None, repeats=3), asked(store)).computed == 3
    table = table_of(first, repeats=3)
    assert play_cells(table, asked(store)).computed == 3
    cost = cost_of(table_of(None, repeats=3), first, asked(store))
    assert cost["plays_search"].tolist() == [2 * 12 + 3 * 3]
    assert play_cells(table_of(first, repeats=2), asked(store)).computed == 0


def test_a_rung_plays_whole_data_sets_where_there_are_no_parts(store: Store) -> None:
    """Else its record would say that a protocol of held-out examples had played a part."""
    cell = first_cell(table_of(SEARCH, repeats=3))
    heldout = replace(cell.experiment, protocol=ProtocolSpec.named("heldout"))
    rung = stages(cell._replace(experiment=heldout), store)[0]
    assert (rung.experiment.protocol, rung.repeats) == (heldout.protocol, 1)


def test_what_a_search_costs(store: Store) -> None:
    """The search never ends better than the full grid, and plays less."""
    rows = cost_of(table_of(None, repeats=3), SEARCH, asked(store))
    assert tuple(rows.columns) == COST
    (row,) = rows.to_dict("records")
    assert row["plays_full"] == 12 * 3
    assert row["plays_search"] == round(0.2 * 12 + 0.5 * 2 * 6 + 3 * 2)
    assert float(row["difference"]) >= 0.0
    all_kept = replace(SEARCH, rungs=(Rung(share=0.1, repeats=1, keep=12),))
    (row,) = cost_of(table_of(None, repeats=3), all_kept, asked(store)).to_dict("records")
    assert float(row["difference"]) == 0.0


@pytest.mark.parametrize("missing", [0, 1])
def test_a_cell_whose_search_is_not_done_is_missing(store: Store, missing: int) -> None:
    """With the reason."""
    play_cells(table_of(replace(SEARCH, rungs=SEARCH.rungs[:missing])), asked(store))
    cell = first_cell(scored(table_of(SEARCH), store))
    assert (cell.verdict, cell.why) == ("missing", "the search is not done")


@pytest.mark.parametrize("rule", [{}, {"target": "worst_task"}, {"tasks": (2,)}])
def test_it_does_not_look_ahead(rule: dict[str, Any]) -> None:
    """Labels after a checkpoint change nothing of what was chosen before."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(90, 4)), np.repeat(np.arange(3), 30)
    y = np.where(X @ rng.normal(size=4) + rng.normal(size=90) > 0.0, 1.0, -1.0)

    def played(labels: np.ndarray) -> tuple[Setting, Result]:
        tasks = prepared_data(Tasks(X, labels, task, ("a", "b", "c")))
        protocol = {"stream": "rounds", "checkpoints": 10, "by_task": True}
        setting = Setting(tasks, protocol, {}, lambda *_, **__: np.random.default_rng(1))
        learners = [PassiveAggressive(C=C) for C in (1e-3, 1e-2, 0.1, 1.0)]
        return setting, Result(play_grid(learners, setting), {})

    setting, result = played(y)
    progressive = replace(SelectionSpec.named("progressive"), **rule)
    before = path(result, progressive)
    assert len(set(before.tolist())) > 1
    for k, seen in enumerate(result.arrays["seen"][:-1]):
        later = setting.stream.example[seen:]
        flipped = y.copy()
        flipped[later] *= -1.0
        after = path(played(flipped)[1], progressive)
        np.testing.assert_array_equal(after[: k + 2], before[: k + 2])


def test_findings_on_tasks_are_means_over_the_repeats() -> None:
    """Each at the point that was chosen; what is found on something else is left out."""
    pull, names = np.array([[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]]), ["a", "b"]
    results = [
        Result({"found_pull": one, "found_rank": np.zeros((2, 3))}, {"task_names": names})
        for one in pull
    ]
    found = findings_by_task(results, np.array([1, 0]))
    assert {name: means.tolist() for name, means in found.items()} == {"pull": [3.0, 4.0]}


def test_bound_on_the_rest_holds_for_all_numbers_of_plays_at_once() -> None:
    """Of 2,000 runs, whose deviation is unknown, at most 5% leave it anywhere on their way."""
    total, left = 40, np.zeros(2000, dtype=bool)
    runs = np.random.default_rng(0).normal(size=(2000, total))
    for n in range(2, total):
        seen = runs[:, :n]
        reach = seen.std(axis=1, ddof=1) * reach_of_rest(1.0, n, total, error=0.05)
        left |= np.abs(seen.mean(axis=1) - runs.mean(axis=1)) > reach
    assert 0.0 < left.mean() <= 0.05


def test_bound_is_nothing_once_all_are_played_and_infinite_after_one() -> None:
    """It shrinks in between."""
    bounds = [reach_of_rest(1.0, n, 30, error=0.01) for n in range(1, 31)]
    assert bounds[0] == np.inf
    assert bounds[-1] == 0.0
    assert bounds == sorted(bounds, reverse=True)
    assert reach_of_rest(2.0, 9, 30, error=0.01) == 2.0 * bounds[8]


def published_cells() -> pd.DataFrame:
    """Return the compared cells of the closest reading, with our numbers and whether drawn."""
    frames = []
    for table in descriptions("table"):
        numbers = results.repeats(table).groupby(PLACE)["value"].apply(np.array)
        rows = results.cells(table)
        frames.append(rows[rows["verdict"].isin(JUDGED)].merge(numbers, on=PLACE))
    cells = pd.concat(frames, ignore_index=True)
    printed = {name: cells[name].map(lambda x: "" if pd.isna(x) else str(x)) for name in PRINTED}
    return cells.assign(**printed, kind=VALUE, drawn=cells["n_draws"] > 1)


PRINTED = ("published_mean", "published_std")


def seen_so_far(cells: pd.DataFrame, seen: pd.Series) -> pd.DataFrame:
    """Return cells judged by the first of their numbers."""
    parts = [values[:n] for values, n in zip(cells["value"], seen, strict=True)]
    cells = cells.assign(
        ours_mean=[part.mean() for part in parts],
        ours_std=[std_of(part) for part in parts],
        n_repeats=seen,
    )
    return cells.assign(**differences(cells, cells["drawn"].to_numpy()))


@pytest.mark.repository
def test_verdicts_agree_with_those_of_all_published_repeats() -> None:
    """In at least 98% of the cells, after a shuffle of each cell's repeats; it saves a third."""
    rng, cells = np.random.default_rng(1), published_cells()
    cells["value"] = cells["value"].map(rng.permutation)
    in_all = cells["value"].map(len)
    final = seen_so_far(cells, in_all)["verdict"]
    seen = in_all.clip(upper=FIRST)
    while True:
        now = seen_so_far(cells, seen)
        open_still = ~is_settled(now, in_all) & (seen < in_all)
        if not open_still.any():
            break
        seen = seen.mask(open_still, np.ceil(GROWTH * seen).clip(upper=in_all).astype(int))
    assert len(cells) > 400
    assert (now["verdict"] == final).mean() >= 0.98
    assert seen.sum() < 0.7 * in_all.sum()


def test_table_stops_early_where_nothing_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Far from print a few repeats suffice; near a border all are played; twice the same."""
    cells = small_table(12, rows=["PM", "PA"])
    request = Request("as_written", "auto", parallel=SERIAL, store=Store(tmp_path / "one"))
    far = cells.assign(published_mean="1.00", published_std="0.10")
    found, outcome = play_until_settled(far, request)
    assert set(found["stopped"]) == {SETTLED}
    assert set(found["verdict"]) == {"off"}
    assert (found["n_repeats"] < 12).all()
    assert list(found["algorithm"]) == list(far["algorithm"])
    assert outcome.computed > 0
    read: list[bytes] = []
    result = StoredRow.result
    monkeypatch.setattr(StoredRow, "result", lambda row: [read.append(row.key), result(row)][1])
    play_until_settled(far, replace(request, store=Store(tmp_path / "one")))
    assert len(read) == len(set(read)) == outcome.computed  # at each look only what is new
    border = found["ours_mean"].mean() / 1.1
    near = cells.assign(published_mean=f"{border:.4f}", published_std="0.01")
    again, _ = play_until_settled(near, request)
    assert ALL_PLAYED in set(again["stopped"])
    n_all = (again["stopped"] == ALL_PLAYED).sum()
    (said,) = notes_on_sources(pd.concat([found, found, again]))
    assert said.startswith(f"{6 - n_all} of 6 cells stopped after ")
    assert f"; {n_all} needed all repeats" in said
    elsewhere = Request("as_written", "auto", parallel=SERIAL, store=Store(tmp_path / "two"))
    once_more, _ = play_until_settled(far, elsewhere)
    for one, other in zip(found["values"], once_more["values"], strict=True):
        np.testing.assert_array_equal(one, other)
