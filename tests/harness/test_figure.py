"""Figures and their panels: from description to files, on experiments that take milliseconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from described import FIGURES, a_line, a_panel, golden_figure
from golden_files import assert_as_golden
from miniature import SERIAL, a_rule, small

from omtl.api.figures import Figure
from omtl.compute.engine import Failure, Outcome
from omtl.compute.store import Store, StoredRow
from omtl.experiment.descriptions import describe, descriptions
from omtl.experiment.playing import compute
from omtl.experiment.selection import costs
from omtl.experiment.unit import Result
from omtl.figures import drawing, numbers, panels
from omtl.figures.colours import OWN, colours_of
from omtl.figures.numbers import as_chosen, plan_figure, play_figure
from omtl.figures.panels import axes
from omtl.figures.panels.axes import Axes, Curve, number_of
from omtl.figures.panels.rankings import through
from omtl.tables.request import Request
from omtl.util.paths import ROOT

READING = "as_written"

pytestmark = pytest.mark.usefixtures("slowly")


@pytest.fixture
def golden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let figures be the small ones."""
    monkeypatch.setattr(numbers, "describe", lambda _kind, name: golden_figure(name))


def drawn_figure(name: str, asked: Request) -> Figure:
    """Play a figure."""
    return Figure(**vars(play_figure(plan_figure(name, asked))))


def made(name: str, folder: Path, store: Store | None = None) -> list[Path]:
    """Make a figure of two repeats."""
    asked = Request(READING, 2, parallel=SERIAL, store=store or Store(folder / "store"))
    return drawn_figure(name, asked).write(folder)


@pytest.mark.usefixtures("golden")
@pytest.mark.parametrize("name", FIGURES)
def test_the_numbers_of_each_kind_of_panel_are_those_of_the_golden_file(
    name: str, tmp_path: Path
) -> None:
    """Lines, bands, published marks, bounds, references and notes."""
    assert_as_golden(made(name, tmp_path)[-1].read_text("utf-8"), f"figures/{name}.csv")


@pytest.mark.parametrize("name", descriptions("figure"))
def test_every_figure_can_be_planned(name: str) -> None:
    """It names kinds, algorithms, networks and published cells that exist; its lines differ."""
    planned = plan_figure(name, Request(READING, 2))
    assert planned.id == name
    assert len(planned.units) == 2 * len(planned.lines)
    found = colours_of([line.label for line in planned.lines])
    assert len(set(found.values())) == len(found)
    for panel in planned.description.panels:
        asked = [line for line in planned.lines if line.panel is panel]
        assert len({line.printed is None for line in asked if line.description.published}) < 2


def test_a_learner_has_its_colour_in_every_order() -> None:
    for labels in (["PM", "COML", "DOM-I"], ["DOM-I", "PM", "COML"]):
        assert colours_of(labels) == {label: OWN[label] for label in labels}


@pytest.mark.usefixtures("golden")
def test_end_to_end(store: Store, tmp_path: Path) -> None:
    """All files are written; a second drawing from the store has the same bytes.

    The claims of another rule go to a file of their own, as does all else.
    """
    contents = []
    for rule in (None, None, "oracle_worst"):
        asked = Request(READING, 2, selection=rule, parallel=SERIAL, store=store)
        drawn = drawn_figure("by_task", asked)
        rows = [{"claim": "c", "reading": READING, "outcome": "holds"}]
        drawn.__dict__["claims"] = pd.DataFrame(rows)
        written = {path.name: path.read_bytes() for path in drawn.write(tmp_path / str(rule))}
        contents.append(written)
    first, again, other = contents
    assert {*first} == {"tiny.as_written.svg", "tiny.as_written.csv", "tiny.claims.csv"}
    assert again == first
    assert b"<dc:date>" not in first["tiny.as_written.svg"]
    assert b"cumulative error rate (%)</text>" in first["tiny.as_written.svg"]
    assert not list(tmp_path.glob("*/.writing-*"))
    assert "tiny.oracle_worst.claims.csv" in other


@pytest.mark.usefixtures("golden")
def test_missing_data(store: Store) -> None:
    """A panel says what it misses and why; the lines and panels that can be drawn are."""
    planned = plan_figure("learning", Request(READING, 1, store=store))
    there = planned.lines[0].experiment.unit(0, 0)
    store.add([StoredRow.of(there, compute(there))])
    failed = {unit.key: Failure("no such data", missing_data=True) for unit in planned.units}
    broken = replace(planned, outcome=Outcome(failed=failed))
    shown = broken.panels
    assert [[line.label for part in panel.parts for line in part.lines] for panel in shown] == [
        ["PM"],
        [],
        [],
    ]
    assert shown[0].missing == ("DOM-I: no such data",)
    assert shown[1].missing == ("DOM-I, DOM-II: no such data",)
    rows = broken.rows.to_dict("records")
    assert [r["label"] for r in rows if r["kind"] == "missing" and r["panel"] == "b"] == [
        "DOM-I, DOM-II: no such data"
    ]
    assert planned.panels[1].missing == ("DOM-I, DOM-II: 0 of 1 repeats are stored",)


@pytest.mark.parametrize(
    ("kind", "worst"),
    [("learning_curves", 100.0), ("lifelong_error", 100.0), ("precision_at_k", 0.0)],
)
def test_a_play_that_diverged_is_wrong_throughout(kind: str, worst: float) -> None:
    """As in the tables."""
    experiment = small("pm").only([0])
    arrays = {"seen": np.array([10, 15, 20]), "examples": np.array([10, 10])}
    arrays |= {"checkpoint_mistakes": np.array([[5, 7, 9]]), "diverged": np.array([3])}
    arrays |= {"mistakes": np.array([[5, 4]])}
    arrays |= dict.fromkeys(("precision", "average_precision"), np.array([[1.0, 0.5]]))
    about = {"units": [experiment.unit(0, 0)], "results": [Result(arrays, {})], "rule": a_rule()}
    played = axes.PlayedLine(a_panel(kind=kind), a_line(algorithm="pm"), experiment, **about)
    part, *_ = panels.axes_of([played])
    assert isinstance(part, Axes)
    assert set(part.lines[0].mean) == {worst}


def test_lambda_is_the_one_that_itol_has_in_the_table(store: Store) -> None:
    """Figure 2's learners get what Table 1 chooses, though TOL would choose otherwise."""
    asked = Request(READING, 1, parallel=SERIAL, store=store)
    figure = plan_figure("aklo-fig2", asked)
    panel = figure.description.panels[1]
    lines = tuple(
        line for line in figure.lines if line.panel is panel and line.label in ("ITOL", "TOL")
    )
    best = {}
    for line in lines:
        results = [compute(line.experiment.unit(0, 0))]
        best[line.label] = line.experiment.points[int(np.argmin(costs(results, a_rule())))]["lam"]
    assert best["ITOL"] != best["TOL"]
    figure = replace(figure, lines=lines)
    chosen = as_chosen(figure, computed=True)
    for line in chosen.lines:
        assert [point["lam"] for point in line.experiment.points] == [best["ITOL"]]


def test_early_points_do_not_decide_the_range_of_y() -> None:
    n = 10 * drawing.FIRST_SHOWN
    falling = Curve("f", np.arange(n), np.r_[99.0, np.linspace(20, 10, n - 1)], np.zeros(n), 1)
    low, high = drawing.limits_of([Axes("x", (falling,))])
    assert 9.0 < low < 10.0 < 19.0 < high < 20.0


def test_a_dear_reading_of_a_figure_has_fewer_repeats_and_a_smaller_grid() -> None:
    """As its description says; a number that is asked for is played."""
    dear = describe("figure", "omtrsl-fig1")
    for reading, repeats, points in (("as_written", 1, 1), ("as_published", 5, 9)):
        assert Request(reading).n_repeats(dear) == repeats
        line = plan_figure("omtrsl-fig1", Request(reading)).lines[0]
        assert len(line.experiment.points) == points
    assert Request("as_written", 4).n_repeats(dear) == 4
    assert Request("as_written").is_full(dear)


RESULTS = ROOT / "results"


@pytest.mark.repository
@pytest.mark.parametrize(("figure", "metric"), [("amtl-fig1", "right"), ("amtl-fig2", "wrong")])
def test_a_figure_has_the_numbers_of_its_table(figure: str, metric: str) -> None:
    """Ours and the published ones, each at the number that its column begins with."""
    table = pd.read_csv(RESULTS / "reproduced" / f"{figure.replace('fig', 'tablefig')}.csv")
    drawn = pd.read_csv(RESULTS / "figures" / f"{figure}.csv")
    for line in drawn.itertuples():
        rows = table[
            (table["algorithm"] == line.label)
            & (table["metric"] == metric)
            & (table["reading"] == line.reading)
        ]
        column = {"run": "ours_mean", "published": "published_mean"}[line.kind]
        printed = dict(zip(rows["dataset"].map(number_of), rows[column], strict=True))
        x, y = ([float(one) for one in text.split()] for text in (line.x, line.y))
        assert dict(zip(x, y, strict=True)) == pytest.approx(printed, abs=1e-4)


def test_values_between_two_shares_of_queries() -> None:
    """Straight from point to point, and nothing beyond the last."""
    result = Result(
        {"queries": np.array([[60, 20], [5, 15]]), "examples": np.array([100, 100])}, {}
    )
    found = through(result, np.array([40.0, 10.0]), np.array([0.05, 0.1, 0.25, 0.4, 0.5]))
    np.testing.assert_allclose(found, [np.nan, 10.0, 25.0, 40.0, np.nan])
