"""Figures: from description to files, on experiments that take milliseconds."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from described import a_figure, a_line, a_panel
from miniature import AS_WRITTEN, SERIAL, a_rule
from small_tables import TINY, Small

from data_fetchers.fetch import DataMissing
from omtl.compute import engine
from omtl.compute.engine import Failure
from omtl.compute.exchange import pull, push
from omtl.compute.store import Store, StoredRow
from omtl.experiment import playing
from omtl.experiment.descriptions import FigureDescription
from omtl.experiment.experiment import Names
from omtl.experiment.loading import load_prepared
from omtl.experiment.playing import compute
from omtl.experiment.readings import Reading
from omtl.experiment.unit import Result
from omtl.figures import drawing, panels, plan
from omtl.figures.numbers import drawn_rows, figure_rows, show_figure
from omtl.figures.panels import axes, bounds, dom_bounds
from omtl.figures.panels.axes import Axes, Curve
from omtl.figures.plan import plan_figure
from omtl.measures.metrics import METRICS
from omtl.reproduction.reproduce import measured_figure
from omtl.tables.plan import describe, descriptions
from omtl.tables.request import Request
from omtl.theory import comparators, dom
from omtl.util.errors import UserError

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
    return measured_figure("tiny", READING, asked).write(folder)


def test_every_figure_can_be_planned() -> None:
    """The described figures name kinds, algorithms, networks and published cells that exist."""
    known = descriptions("figure")
    assert {"dom-fig2", "dom-figtheorem4"} <= set(known)
    for name in known:
        planned = plan_figure(name, READING)
        assert planned.id == name
        assert len(planned.units(0, 2)) == 2 * sum(len(panel.lines) for panel in planned.panels)
        for panel in planned.panels:
            asked = {
                line.description.published for line in panel.lines if line.description.published
            }
            assert not panel.published or asked <= set(panel.published)


def test_a_panel_has_the_answers_on_its_own_data() -> None:
    """What the reading says of MHC-I's protocol is not said of Sentiment, though they share it."""
    panels = plan_figure("dom-fig2", Reading.of("dom", "as_published")).panels
    run_out = {
        panel.description.dataset: line.experiment.protocol.settings["run_out"]
        for panel in panels
        for line in panel.lines
    }
    assert run_out == {"sentiment": "sit_out", "random_walk": "sit_out", "mhc": "again"}


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

    order = ["regret of DOM-I", dom_bounds.TIGHTEST, dom_bounds.SUFFERED]
    order += [dom_bounds.THEOREM_EXACT, dom_bounds.THEOREM]
    for low, high in pairwise(order):
        assert np.all(curve("ring", low) <= curve("ring", high))
    assert curve("grid", dom_bounds.THEOREM_EXACT).size == 0
    assert curve("grid", dom_bounds.THEOREM).size > 0
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


@pytest.mark.usefixtures("tiny")
def test_data_gone_since(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where units are stored but the data are gone, what needs no data is still drawn."""
    make(store, tmp_path)

    def gone(*_: Any, **__: Any) -> None:
        raise DataMissing("gone")

    for module in (bounds, playing):
        monkeypatch.setattr(module, "load_prepared", gone)
    shown = show_figure(plan_figure("tiny", READING), Request(repeats=1, store=store))
    assert [len(panel.parts) for panel in shown] == [1, 2, 0]
    assert shown[1].parts[0].notes == ("no b*: gone",)
    assert shown[2].missing == ("gone",)


@pytest.mark.usefixtures("tiny")
def test_wrong_use(monkeypatch: pytest.MonkeyPatch, store: Store, tmp_path: Path) -> None:
    """Unknown kinds and networks that the theorem is not of are said to be wrong."""
    panel = TINY.panels[2]
    wrong = replace(TINY, panels=(replace(panel, kind="regret_bond"),))
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: wrong)
    with pytest.raises(UserError, match="did you mean 'regret_bound'"):
        plan_figure("tiny", READING)
    for changed, what in (
        (replace(panel, ridges=()), "panel c: kind regret_bound needs ridges"),
        (replace(panel, kind="sensitivity"), "panel c: kind sensitivity needs parameter"),
        (replace(panel, metric="eror"), "no metric 'eror' .did you mean 'error'"),
    ):
        lacking = replace(TINY, panels=(changed,))
        monkeypatch.setattr(plan, "describe", lambda *_, lacking=lacking: lacking)
        with pytest.raises(UserError, match=what):
            plan_figure("tiny", READING)
    alone = replace(TINY, panels=(replace(panel, lines=(a_line(algorithm="pm"),)),))
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: alone)
    with pytest.raises(UserError, match="no eta and b"):
        make(store, tmp_path)


def test_unknown_figure() -> None:
    """A figure that is not described is said so, with the known ones."""
    with pytest.raises(UserError, match=r"did you mean 'dom-fig2'"):
        plan_figure("dom-fig3", READING)


def test_some_points_of_a_grid_have_their_own_numbers() -> None:
    """Whatever the metric and the rule look at; what is counted of the data stays whole."""
    experiment = Small.compose(Names("pm", "random_walk", "rounds"), READING)
    arrays = {
        "auc": np.array([[0.5], [0.9]]),
        "validation": np.array([0.6, 0.8]),
        "diverged": np.zeros(2),
        "examples": np.array([3, 4]),
    }
    line = axes.PlannedLine(a_line(algorithm="pm"), experiment)
    unit_of_it = experiment.unit(0, 0)
    whole = axes.PlayedLine(line, [unit_of_it], [Result(arrays, {})], a_rule("cross_validation"))
    part = whole.among([1])
    assert part.over_repeats(partial(axes.number, METRICS["auc"])).tolist() == [0.9]
    assert part.results[0].arrays["validation"].tolist() == [0.8]
    assert part.results[0].arrays["examples"].tolist() == [3, 4]


def test_marks_are_of_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a table of other metrics, no number stands beside an error rate."""
    line = {"algorithm": "pa", "published": "PA-ITL"}
    panel = {"kind": "learning_curves", "label": "a", "title": "", "dataset": "random_walk"}
    panel |= {"published": "Landmine Detection", "lines": [line]}
    drawn = a_figure(published="osmtl-table1", panels=[panel])
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: drawn)
    assert plan_figure("tiny", READING).panels[0].published == {}


@pytest.mark.parametrize("kind", ["learning_curves", "lifelong_error"])
def test_a_play_that_diverged_is_wrong_throughout(kind: str) -> None:
    """As in the tables."""
    experiment = Small.compose(Names("pm", "random_walk", "rounds"), READING).only([0])
    arrays = {"seen": np.array([10, 15, 20]), "examples": np.array([10, 10])}
    arrays |= {"checkpoint_mistakes": np.array([[5, 7, 9]]), "diverged": np.array([3])}
    arrays |= {"mistakes": np.array([[5, 4]])}
    line = axes.PlannedLine(a_line(algorithm="pm"), experiment)
    played = axes.PlayedLine(line, [experiment.unit(0, 0)], [Result(arrays, {})], a_rule())
    [part] = panels.axes_of(axes.PlannedPanel(a_panel(kind=kind), (line,)), [played])
    assert isinstance(part, Axes)
    assert set(part.lines[0].mean) == {100.0}


LINE = {"algorithm": "dom1", "network": "ring"}


@pytest.mark.parametrize(
    ("says", "told"),
    [
        (
            {"kind": "parameter_effect", "lines": [{**LINE, "parameter": "etta"}]},
            "panel a: no parameter of DOM-I 'etta' (did you mean 'eta'?)",
        ),
        (
            {"kind": "sensitivity", "metric": "error", "lines": [{**LINE, "parameter": "eta"}]},
            "sensitivity: the grid of DOM-I also has b",
        ),
        ({"kind": "absolute_error", "metric": "error", "lines": [LINE]}, "no metric 'error'"),
        (
            {"kind": "precision_at_k", "lines": [LINE]},
            "kind precision_at_k needs precision, which protocol rounds does not measure",
        ),
        (
            {"kind": "parameter_effect", "metric": "auc", "lines": [{**LINE, "parameter": "b"}]},
            "kind parameter_effect with metric auc needs auc, which protocol rounds does not",
        ),
    ],
)
def test_panels_of_what_there_is_not_are_refused(
    says: dict[str, Any], told: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parameter outside the grid, and what the protocol does not measure."""
    panel = {"label": "a", "title": "", "dataset": "random_walk", **says}
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: a_figure(panels=[panel]))
    monkeypatch.setattr(plan, "Experiment", Small)
    with pytest.raises(UserError, match=re.escape(told)):
        make(store, tmp_path)


def test_band_and_limits() -> None:
    """A line is mean and sample deviation; early points do not decide the range of y."""
    line = axes.line_of("x", [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]))
    np.testing.assert_allclose(line.mean, [2.0, 2.0])
    np.testing.assert_allclose(line.std, [np.sqrt(2.0), 0.0], rtol=1e-5)
    n = 10 * drawing.FIRST_SHOWN
    falling = Curve("f", np.arange(n), np.r_[99.0, np.linspace(20, 10, n - 1)], np.zeros(n), 1)
    low, high = drawing.limits_of([Axes("x", "y", (falling,))])
    assert 9.0 < low < 10.0 < 19.0 < high < 20.0


@pytest.mark.usefixtures("tiny")
def test_a_figure_says_which_numbers_were_pulled(store: Store, tmp_path: Path) -> None:
    """In the notes of the picture, which are in its csv too."""
    planned = plan_figure("tiny", READING)
    engine.run_units(planned.units(0, 1), store, SERIAL, quiet=True)
    push(None, store, tmp_path / "units.omtl")
    pull(tmp_path / "units.omtl", other := Store(tmp_path / "other"))
    for each, is_pulled in ((store, False), (other, True)):
        rows = figure_rows(planned, show_figure(planned, Request(repeats=1, store=each)), "oracle")
        notes = rows["label"][rows["kind"] == "note"]
        assert notes.str.contains(f"pulled from {tmp_path / 'units.omtl'}").any() == is_pulled


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
