"""Same seed, same bytes: whatever the jobs, the backend, the order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from miniature import SERIAL, a_rule, small, with_grid
from small_tables import filled_store, small_table

from omtl.compute.store import Store
from omtl.experiment.playing import compute
from omtl.experiment.selection import select
from omtl.experiment.unit import Experiment, Result
from omtl.tables.cells import as_rows, planned, with_columns
from omtl.tables.play import play_cells
from omtl.tables.request import Request
from omtl.tables.scoring import choose_points, numbers_at, scored
from omtl.util.errors import UserError

BACKENDS = [
    SERIAL,
    {"backend": "threading", "jobs": 2},
    {"backend": "processes", "jobs": 2},
]


def rows_of(table: pd.DataFrame, folder: Path, parallel: dict) -> str:
    """Return a table's csv, computed into a store of its own."""
    return as_rows(scored(table, filled_store(table, folder, parallel))).to_csv()


def test_same_bytes_for_any_jobs_and_backend(tmp_path: Path) -> None:
    """Serial, threads and processes make the same table to the byte."""
    tables = {
        rows_of(small_table(3), tmp_path / str(i), parallel) for i, parallel in enumerate(BACKENDS)
    }
    assert len(tables) == 1


def test_cells_that_are_too_slow_are_played_only_if_asked_for(tmp_path: Path) -> None:
    """Until then they are missing, with the reason; the others have their numbers."""
    table = small_table(2)
    table.loc[0, "too_slow"] = "it takes a day"
    request = Request(store=Store(tmp_path), parallel=BACKENDS[0])
    play_cells(table, request)
    cells = scored(table, request.store)
    assert cells.loc[0, ["verdict", "why"]].tolist() == ["missing", "it takes a day"]
    assert cells["n_repeats"].tolist() == [0] + [2] * (len(cells) - 1)
    play_cells(table, replace(request, slow=True))
    assert set(scored(table, request.store)["n_repeats"]) == {2}


def test_all_learners_see_the_same_repeats() -> None:
    """The data, the shuffle and the nodes do not depend on the learner."""
    results = [compute(small(name).unit(0, 1)) for name in ("pm", "coml", "dom1", "dom2")]
    assert len({r.facts["data_sha256"] for r in results}) == 1
    # DOM-II with α = 1 and DST are one algorithm: equal mistakes prove equal streams and nodes.
    dst = compute(small("dst").unit(0, 1)).arrays["mistakes"]
    alone = small("dom2").patched({"algorithm.*.grid.alpha": [1]})
    np.testing.assert_array_equal(compute(alone.unit(0, 1)).arrays["mistakes"], dst)


def test_draws() -> None:
    """Repeats share one draw, or each has its own; those of a table are as many as it says."""
    once, each = small("pm"), small("pm", draw="each_run")
    many = replace(once, plays=3, drawn=True)

    def data(experiment: Experiment, *where: int) -> str:
        return compute(experiment.unit(0, *where)).facts["data_sha256"]

    assert data(once, 0) == data(once, 1)
    assert len({data(each, 0), data(each, 1), data(once, 0), data(once, 0, 1)}) == 4
    assert data(many, 0) == data(each, 0)
    assert [len(one.repeats(0, 2)) for one in (once, each, many)] == [2, 2, 6]
    assert len({unit.draw for unit in many.repeats(0, 2)}) == 6
    cells = planned("aklo-table1", Request("as_written"))
    drawn = [experiment.drawn for experiment in cells["experiment"]]
    assert set(cells["dataset"][drawn]) == {"Syn1", "Syn2"}
    assert {experiment.plays for experiment in cells["experiment"]} == {10}
    on_one_draw = planned("aklo-table1", Request("as_written", one_draw=True))["experiment"]
    assert list(on_one_draw) == [one.of_one_draw() for one in cells["experiment"]]


def test_each_draw_has_hyper_parameters_of_its_own() -> None:
    """Within a draw the rule chooses in hindsight, and between draws it knows nothing."""
    results = [fake([[5, 5], [3, 3]]), fake([[1, 1], [4, 4]])]
    experiment = with_grid(small("pm"), eta=[1, 2])
    for drawn, chosen, rates in ((False, [0, 0], [50, 10]), (True, [1, 0], [30, 10])):
        rule = a_rule()
        points = choose_points(results, experiment.points, rule, drawn)
        assert points.tolist() == chosen
        assert numbers_at(results, points, "error", rule).tolist() == rates


def fake(mistakes: Sequence[Sequence[int]], early: Sequence[int] | None = None) -> Result:
    """Return a result with these mistakes by point and task, of 10 examples a task."""
    table = np.array(mistakes)
    ends = table.sum(axis=1)
    firsts = np.array(early) if early is not None else ends // 2
    return Result(
        {
            "mistakes": table,
            "checkpoint_mistakes": np.stack([firsts, ends], axis=1),
            "diverged": np.zeros(len(table), dtype=int),
            "examples": np.full(table.shape[1], 10),
            "seen": np.array([2, 20]),
        },
        {},
    )


def test_selection_rules() -> None:
    """Oracle takes the best over all repeats, prefix the best early on, fixed the named one."""
    points = [{"eta": 1}, {"eta": 2}, {"eta": 3}]
    results = [fake([[5, 5], [3, 3], [4, 4]], [1, 3, 2]), fake([[5, 5], [4, 4], [4, 4]], [3, 2, 1])]
    assert select(results, points, a_rule()).tolist() == [1, 1]
    assert select(results, points, a_rule("prefix", fraction=0.1)).tolist() == [0, 2]
    chosen = select(results, points, a_rule("fixed", point={"eta": 3}))
    assert chosen.tolist() == [2, 2]
    with pytest.raises(UserError, match="fits 0 of"):
        select(results, points, a_rule("fixed", point={"eta": 9}))
    with pytest.raises(UserError, match="oracle, prefix, progressive, fixed"):
        select(results, points, a_rule("oracel"))


def test_targets_of_the_oracle() -> None:
    """The fewest mistakes in all, of some tasks, of the worst task, or the most of an array."""
    results = [fake([[0, 6], [4, 4], [6, 1]])]
    results[0].arrays["auc"] = np.array([[0.9, np.nan], [0.5, 0.6], [0.8, 0.8]])
    points: list[dict] = [{}, {}, {}]

    def chosen(**rule: Any) -> int:
        return int(select(results, points, a_rule(**rule))[0])

    assert chosen() == chosen(target="total") == 0
    assert chosen(target="worst_task") == 1
    assert chosen(tasks=[2]) == 2
    assert chosen(most="auc") == 0


def test_cross_validation_chooses_for_each_repeat() -> None:
    """The point with the best validation score of the repeat, or of all, if it did not diverge."""
    results = [fake([[1, 1], [1, 1]]), fake([[1, 1], [1, 1]]), fake([[1, 1], [1, 1]])]
    for result, scores in zip(results, ([0.2, 0.9], [0.6, 0.1], [0.3, 0.7]), strict=True):
        result.arrays["validation"] = np.array(scores)
    results[2].arrays["diverged"][1] = 1
    rule = a_rule("cross_validation")
    assert select(results, [{}, {}], rule).tolist() == [1, 0, 0]
    assert select(results[:2], [{}, {}], replace(rule, chosen_for="all")).tolist() == [1, 1]


def test_a_point_that_diverged_is_not_chosen() -> None:
    """However few its mistakes."""
    result = fake([[0, 0], [9, 9]])
    result.arrays["diverged"][0] = 1
    assert select([result], [{}, {}], a_rule()).tolist() == [1]


def test_the_best_of_alternatives_is_taken(tmp_path: Path) -> None:
    """Where a paper prints the best of several algorithms."""
    table = small_table(3)
    alone = table[table["algorithm"].isin(["PM", "COML", "NS (Full)"])]
    others = tuple(alone["experiment"].iloc[1:])
    joined = pd.concat([alone, with_columns(alone.head(1), [{"alternatives": others}])])
    *singles, best = scored(joined, filled_store(joined, tmp_path))["ours_mean"]
    assert best == min(singles)
