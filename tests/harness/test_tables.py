"""Tables as they are shown, made twice, over several data sets; same seed, same bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from miniature import SERIAL, small
from small_tables import be_dom_table1, small_table

from omtl.api import tables
from omtl.api.comparisons import Comparison, panel_letters
from omtl.compute.engine import Failure
from omtl.compute.store import Store
from omtl.evidence.compared_learners import judge_learners
from omtl.experiment.playing import compute
from omtl.experiment.unit import Experiment
from omtl.measures.metrics import METRICS
from omtl.reproduction.record import line
from omtl.tables import published_results
from omtl.tables.cells import planned
from omtl.tables.request import Request
from omtl.tables.scoring import play_cells, scored
from omtl.util.host import host

FEW = ["PM", "PA"]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let DOM's table be two learners, each with its errors and its seconds; write to a folder."""
    cells = small_table(2, rows=FEW)
    timed = [one.of_one_draw().patched({"protocol.*.timed": 1}) for one in cells["experiment"]]
    errors = cells.assign(experiment=timed)
    both = pd.concat([errors, errors.assign(metric="seconds", kind="timing")]).sort_index(
        kind="stable", ignore_index=True
    )
    be_dom_table1(lambda _: both, 2, [tables], monkeypatch)
    results = tmp_path / "results"
    monkeypatch.setattr("omtl.tables.published_results.RESULTS", results)
    monkeypatch.setattr(published_results, "results_to_read", lambda: results)
    return results


def made(results: Path, store: Store, times: bool = False) -> dict[str, bytes]:
    """Make the table from nothing; return the files that git keeps."""
    asked = Request(parallel=SERIAL, store=store, times=times)
    tables.played_table("dom-table1", asked).write()
    return {
        path.name: path.read_bytes()
        for path in sorted((results / "reproduced").iterdir())
        if not path.name.endswith(".machine.json")
    }


def test_made_twice_a_table_is_the_same_bytes(here: Path, tmp_path: Path) -> None:
    """With all units played again: times stay as they are, unless theirs are asked for."""
    first = made(here, Store(tmp_path / "one"))
    assert set(first) >= {"dom-table1.csv", "dom-table1.md", "dom-table1.repeats.csv"}
    assert made(here, Store(tmp_path / "two")) == first
    again = made(here, Store(tmp_path / "three"), times=True)
    assert {name for name in first if again[name] != first[name]} >= {"dom-table1.repeats.csv"}
    [run] = published_results.runs_of(here, "dom-table1")
    was = pd.DataFrame(run.rows)
    assert was["metric"].tolist() == ["error", "seconds"] * 2
    assert (was["ours_mean"].astype(float) > 0.0).sum() >= 2


def test_a_run_with_failed_units_replaces_no_published_results(here: Path, store: Store) -> None:
    before = made(here, store)
    done = tables.played_table("dom-table1", Request(parallel=SERIAL, store=store))
    done.outcome.failed["unit"] = Failure("no such data", missing_data=True)
    paths = done.write()
    assert {path.parent for path in paths} == {here / "partial"}
    assert made(here, store) == before


def test_what_depends_on_the_clock_is_kept_apart(here: Path, store: Store) -> None:
    """The file of the machine has it; that of the table has each config once, and the CPU."""
    made(here, store)
    [run] = published_results.runs_of(here, "dom-table1")
    assert set(run.meta) == {
        *("table", "reading", "verdicts", "repeats", "seed", "selection"),
        *("cpu", "configs", "experiments"),
    }
    assert [len(run.meta["configs"][group]) for group in ("algorithm", "dataset")] == [2, 1]
    assert run.experiments["PM on Synthetic"]["algorithm"]["name"] == "pm"
    assert run.machine["host"] == json.loads(json.dumps(host()))
    assert run.machine["computed_by"]["units_computed"] == 4
    assert run.machine["seconds"] > 0.0
    made(here, store)  # from the store
    assert run.machine["last_run"]["units_computed"] == 0
    assert run.machine["computed_by"]["units_computed"] == 4


WIGGLE = 1.0 + 0.001 * np.array([-1.0, 0.5, 1.0, -0.5])


def compared(dataset: str, **means: float) -> pd.DataFrame:
    """Return a comparison whose learners have these means, the first being the one asked for."""
    rows = [
        {"algorithm": name, "label": f"The {name}", "repeats_are_of": ""}
        | {"values": mean * np.roll(WIGGLE, k), "params": [{"eta": mean}] * 4}
        for k, (name, mean) in enumerate(means.items())
    ]
    return judge_learners(rows, METRICS["error"]).assign(dataset=dataset)


def test_ranks_wins_ties_and_losses() -> None:
    """Ranks are by the means on each data set; within 5% is a tie, whatever the significance."""
    rows = [
        compared("One", mine=10.0, near=10.1, far=20.0),
        compared("Two", mine=10.0, near=9.9, far=5.0),
        compared("Three", mine=10.0, near=30.0, far=30.5),
    ]
    ranks = Comparison(pd.concat(rows), {}).ranks.set_index("algorithm")
    assert ranks["average_rank"].round(3).to_dict() == {"mine": 1.667, "near": 2.0, "far": 2.333}
    assert ranks["average_rank"].is_monotonic_increasing
    counts = ranks[["win", "tie", "loss", "undecided"]]
    assert counts.loc[["near", "far"]].to_numpy().tolist() == [[1, 2, 0, 0], [2, 0, 1, 0]]


def test_panels_have_letters() -> None:
    """However many data sets are compared."""
    assert [panel_letters(number) for number in (0, 25, 26, 51, 52)] == ["a", "z", "aa", "az", "ba"]


def test_by_the_command_line(tmp_path: Path, told, monkeypatch: pytest.MonkeyPatch) -> None:
    """One table over the data sets, and a folder with all that a paper needs."""
    monkeypatch.setenv("COLUMNS", "80")
    small = [f"dataset.options.{name}={n}" for name, n in (("n_examples", 40), ("n_features", 8))]
    words = ["compare", "algorithm=pa", "dataset=random_walk,outlier_walk_small", *small]
    words += ["repeats=2", "--against", "pm,majority", "--to", str(tmp_path / "paper")]
    out = told(*words)
    assert "win/tie/loss" in out
    assert max(map(len, out.partition("win, tie")[0].splitlines())) <= 80
    written = {path.name for path in (tmp_path / "paper").iterdir()}
    tables = {"comparison.csv", "comparison.tex", "repeats.csv", "ranks.csv"}
    assert written >= tables | {"curves.svg", "curves.pdf", "curves.csv"}
    curves = (tmp_path / "paper" / "curves.svg").read_text(encoding="utf-8")
    assert all(f">{label}</text>" in curves for label in ("examples", "cumulative error rate (%)"))
    place = ["dataset", "algorithm"]
    std = pd.read_csv(tmp_path / "paper" / "comparison.csv").set_index(place)["std"].to_dict()
    assert len(std) == 2 * 3
    values = pd.read_csv(tmp_path / "paper" / "repeats.csv").groupby(place)["value"]
    assert std == pytest.approx(values.std().to_dict())


def test_cells_that_are_too_slow_are_played_only_if_asked_for(tmp_path: Path) -> None:
    """Until then they are missing, with the reason; the others have their numbers."""
    table = small_table(2, rows=FEW)
    table.loc[0, "too_slow"] = "it takes a day"
    request = Request(store=Store(tmp_path), parallel=SERIAL)
    play_cells(table, request)
    cells = scored(table, request.store)
    assert cells.loc[0, ["verdict", "why"]].tolist() == ["missing", "it takes a day"]
    assert cells["n_repeats"].tolist() == [0, 2]
    play_cells(table, replace(request, slow=True))
    assert set(scored(table, request.store)["n_repeats"]) == {2}


@pytest.mark.usefixtures("slowly")
def test_all_learners_see_the_same_repeats() -> None:
    """The data, the shuffle and the nodes do not depend on the learner."""
    results = [compute(small(name).unit(0, 1)) for name in ("pm", "pa", "dom2")]
    assert len({r.facts["data_sha256"] for r in results}) == 1
    # DOM-II with α = 1 and DST are one algorithm: equal mistakes prove equal streams and nodes.
    dst = compute(small("dst").unit(0, 1)).arrays["mistakes"]
    alone = small("dom2").patched({"algorithm.*.grid.alpha": [1]})
    np.testing.assert_array_equal(compute(alone.unit(0, 1)).arrays["mistakes"], dst)


def test_draws() -> None:
    """Repeats share one draw, or each has its own; those of a table are as many as it says."""
    once, each = small("pm"), small("pm", draw="each_run")
    many = replace(once, plays=3, drawn=True)

    def data(experiment: Experiment, repeat: int) -> str:
        return compute(experiment.unit(0, repeat)).facts["data_sha256"]

    assert data(once, 0) == data(once, 1)
    assert len({data(each, 0), data(each, 1), data(once, 0)}) == 3
    assert data(many, 0) == data(each, 0)
    assert [len(one.repeats(0, 2)) for one in (once, each, many)] == [2, 2, 6]
    assert len({unit.draw for unit in many.repeats(0, 2)}) == 6
    cells = planned("aklo-table1", Request("as_written"))
    drawn = [experiment.drawn for experiment in cells["experiment"]]
    assert set(cells["dataset"][drawn]) == {"Syn1", "Syn2"}
    assert {experiment.plays for experiment in cells["experiment"]} == {10}
    on_one_draw = planned("aklo-table1", Request("as_written", one_draw=True))["experiment"]
    assert list(on_one_draw) == [one.of_one_draw() for one in cells["experiment"]]


def test_a_number_says_where_its_units_were_pulled_from(store: Store, tmp_path: Path) -> None:
    cells, pulled = small_table(1, rows=FEW), Store(tmp_path / "pulled")
    play_cells(cells, Request(parallel=SERIAL, store=store))
    pulled.add(row._replace(source="elsewhere.db") for row in store.rows())
    assert set(scored(cells, store)["pulled_from"]) == {""}
    assert set(scored(cells, pulled)["pulled_from"]) == {"elsewhere.db"}


def test_a_line_on_a_run_counts_the_repeats_that_diverged() -> None:
    config = {
        "algorithm": {"networked": False, "label": "PA"},
        "dataset": {"label": "Walk"},
        "reading": {"name": "as_read"},
        "selection": {"rule": "oracle"},
    }
    errors = {"values": [12.0, 100.0], "unit": "%"}
    record = {"config": config, "metrics": {"error": errors}, "diverged": 1, "params": [{}, {}]}
    assert line(record).startswith("PA, Walk: error diverged in 1 of 2 repeats (2 repeats,")
