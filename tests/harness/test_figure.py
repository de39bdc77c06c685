"""Figures: from description to files, on experiments that take milliseconds."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from described import a_line, a_panel
from miniature import AS_WRITTEN, SERIAL, a_rule
from small_tables import TINY, Small

from omtl.api.figures import measured_figure
from omtl.compute.engine import Failure
from omtl.compute.store import Store, StoredRow
from omtl.experiment.descriptions import FigureDescription
from omtl.experiment.playing import compute, load_prepared
from omtl.experiment.readings import Reading
from omtl.experiment.unit import Names, Result
from omtl.figures import drawing, panels, plan
from omtl.figures.numbers import drawn_rows, figure_rows, show_figure
from omtl.figures.panels import axes, regret_bounds
from omtl.figures.panels.axes import Axes, Curve
from omtl.figures.plan import plan_figure
from omtl.tables.plan import describe, descriptions
from omtl.tables.request import Request
from omtl.theory import comparators, dom

READING = AS_WRITTEN


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> FigureDescription:
    """Let every figure be the tiny one; return its description."""
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: TINY)
    monkeypatch.setattr(plan, "Experiment", Small)
    return TINY


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a figure's csv."""
    return drawn_rows(path)


def make(store: Store, folder: Path) -> list[Path]:
    """Make the figure with one repeat."""
    asked = Request(repeats=1, parallel=SERIAL, store=store)
    return measured_figure(plan_figure("tiny", READING), asked).write(folder)


def test_every_figure_can_be_planned() -> None:
    """The described figures name kinds, algorithms, networks and published cells that exist."""
    known = descriptions("figure")
    assert {"dom-fig2", "dom-figtheorem4"} <= set(known)
    for name in known:
        planned = plan_figure(name, READING)
        assert planned.id == name
        assert len(planned.units(0, 2)) == 2 * sum(len(panel.lines) for panel in planned.panels)
        for panel in planned.panels:
            column = panel.description.published
            asked = {
                (line.description.published, line.column or column)
                for line in panel.lines
                if line.description.published
            }
            there = {place for place in panel.published if place[1] in {at for _, at in asked}}
            assert not there or asked <= there


@pytest.mark.usefixtures("tiny")
def test_end_to_end(store: Store, tmp_path: Path) -> None:
    """All files are written; a second drawing from the store has the same bytes."""
    paths = make(store, tmp_path / "one")
    assert [path.name for path in paths] == [f"tiny.as_written.{e}" for e in ("svg", "csv")]
    again = make(store, tmp_path / "two")
    for one, two in zip(paths, again, strict=True):
        assert one.read_bytes() == two.read_bytes()
    assert b"<dc:date>" not in paths[0].read_bytes()
    assert b"cumulative error rate (%)</text>" in paths[0].read_bytes()
    assert not list((tmp_path / "one").glob(".writing-*"))


@pytest.mark.usefixtures("tiny")
def test_numbers_are_those_of_the_store(store: Store, tmp_path: Path) -> None:
    """The csv holds the lines, the published values, b*, α = 1 and the theorem's constants."""
    rows = rows_of(make(store, tmp_path)[-1])
    assert {(row["panel"], row["kind"]) for row in rows} == {
        *(("a", kind) for kind in ("run", "published")),
        *(("b", kind) for kind in ("run", "reference", "note")),
        *(("c", kind) for kind in ("run", "theory", "note")),
    }
    tables = plan_figure("tiny", READING)
    unit = tables.panels[0].lines[0].experiment.unit(0, 0)
    perceptron = compute(unit).arrays
    best = int(perceptron["mistakes"].sum(axis=1).argmin())
    mine = [r for r in rows if r["panel"] == "a" and r["label"] == "PM" and r["kind"] == "run"]
    rate = 100.0 * perceptron["checkpoint_mistakes"][best] / perceptron["seen"]
    np.testing.assert_allclose([float(r["y"]) for r in mine], rate, rtol=1e-5)
    assert {r["params"] for r in mine} == {f'{{"eta": {[0.1, 1.0][best]}}}'}
    assert [r["y"] for r in rows if r["kind"] == "published"] == ["12.95", "6.03"]
    effect = [r for r in rows if r["panel"] == "b" and r["kind"] == "run"]
    assert [r["x"] for r in effect] == ["0", "2", "8", "0", "0.5", "1"]
    source = load_prepared(unit.dataset, 0, 0)
    star = dom.b_star(comparators.best_weights(source.tasks))
    references = [r for r in rows if r["kind"] == "reference"]
    assert float(references[0]["x"]) == pytest.approx(star, rel=1e-5)
    assert [r["label"].partition(", ")[2] or r["label"] for r in references] == [
        "best in hindsight",
        "true weights",
        "independent",
    ]


@pytest.mark.usefixtures("tiny")
def test_regret_is_below_its_bounds(store: Store, tmp_path: Path) -> None:
    """The bounds are in their order, and on the grid, where none is proved, it is said."""
    rows = [r for r in rows_of(make(store, tmp_path)[-1]) if r["panel"] == "c"]
    assert not [r for r in rows if "above" in r["label"]]

    def curve(part: str, label: str) -> np.ndarray:
        return np.array([float(r["y"]) for r in rows if (r["part"], r["label"]) == (part, label)])

    order = ["regret of DOM-I", regret_bounds.TIGHTEST, regret_bounds.SUFFERED]
    order += [regret_bounds.THEOREM4_EXACT, regret_bounds.THEOREM4]
    for low, high in pairwise(order):
        assert np.all(curve("ring", low) <= curve("ring", high))
    assert curve("grid", regret_bounds.THEOREM4_EXACT).size == 0
    assert curve("grid", regret_bounds.THEOREM4).size > 0
    notes = [r["label"] for r in rows if r["kind"] == "note" and r["part"] == "grid"]
    assert notes[0].endswith("= inf")
    shown = show_figure(plan_figure("tiny", READING), Request(repeats=1, store=store))
    assert [part.warning for part in shown[2].parts] == ["", "assumption 2 fails"]


@pytest.mark.usefixtures("tiny")
def test_missing_data(store: Store) -> None:
    """A panel says what it misses and why; the lines and panels that can be drawn are."""
    planned = plan_figure("tiny", READING)
    units = planned.units(0, 1)
    there = planned.panels[0].lines[0].experiment.unit(0, 0)
    store.add([StoredRow.of(there, compute(there))])
    failed = {unit.key: Failure("no such data", missing_data=True) for unit in units}
    shown = show_figure(planned, Request(repeats=1, store=store), failed)
    assert [[line.label for part in panel.parts for line in part.lines] for panel in shown] == [
        ["PM"],
        [],
        [],
    ]
    assert shown[0].missing == ("DOM-I: no such data",)
    assert shown[1].missing == ("DOM-I, DOM-II: no such data",)
    rows = figure_rows(planned, shown, "oracle").to_dict("records")
    assert [r["label"] for r in rows if r["kind"] == "missing" and r["panel"] == "b"] == [
        "DOM-I, DOM-II: no such data"
    ]
    unsaid = show_figure(planned, Request(repeats=1, store=store))
    assert unsaid[1].missing == ("DOM-I, DOM-II: 0 of 1 repeats are stored",)


@pytest.mark.parametrize("kind", ["learning_curves", "lifelong_error"])
def test_a_play_that_diverged_is_wrong_throughout(kind: str) -> None:
    """As in the tables."""
    experiment = Small.compose(Names("pm", "random_walk", "rounds"), READING).only([0])
    arrays = {"seen": np.array([10, 15, 20]), "examples": np.array([10, 10])}
    arrays |= {"checkpoint_mistakes": np.array([[5, 7, 9]]), "diverged": np.array([3])}
    arrays |= {"mistakes": np.array([[5, 4]])}
    about = {"units": [experiment.unit(0, 0)], "results": [Result(arrays, {})], "rule": a_rule()}
    played = axes.PlayedLine(a_line(algorithm="pm"), experiment, **about)
    [part] = panels.axes_of(axes.PlannedPanel(a_panel(kind=kind), ()), [played])
    assert isinstance(part, Axes)
    assert set(part.lines[0].mean) == {100.0}


def test_band_and_limits() -> None:
    """A line is mean and sample deviation; early points do not decide the range of y."""
    line = axes.line_of("x", [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]))
    np.testing.assert_allclose(line.mean, [2.0, 2.0])
    np.testing.assert_allclose(line.std, [np.sqrt(2.0), 0.0], rtol=1e-5)
    n = 10 * drawing.FIRST_SHOWN
    falling = Curve("f", np.arange(n), np.r_[99.0, np.linspace(20, 10, n - 1)], np.zeros(n), 1)
    low, high = drawing.limits_of([Axes("x", (falling,))])
    assert 9.0 < low < 10.0 < 19.0 < high < 20.0


def test_a_dear_reading_of_a_figure_has_fewer_repeats_and_a_smaller_grid() -> None:
    """As its description says; a number that is asked for is played."""
    dear = describe("figure", "omtrsl-fig1")
    assert [Request(reading).n_repeats(dear) for reading in ("as_written", "as_published")] == [
        1,
        5,
    ]
    assert Request("as_written", 4).n_repeats(dear) == 4
    assert Request("as_written").is_full(dear)
    grids = {
        reading: plan_figure("omtrsl-fig1", Reading.of("omtrsl", reading)).panels[0].lines[0]
        for reading in ("as_written", "as_published")
    }
    assert len(grids["as_written"].experiment.points) == 1
    assert len(grids["as_published"].experiment.points) == 9
