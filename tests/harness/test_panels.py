"""Panels of figures: what their lines are, and the colours that they have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from described import a_panel, played_line
from miniature import SMALL_WALK, small

from omtl.experiment.playing import compute
from omtl.experiment.readings import Reading
from omtl.experiment.specs import ProtocolSpec
from omtl.experiment.unit import Experiment, Result
from omtl.figures.colours import OWN, colours_of
from omtl.figures.panels import axes_of
from omtl.figures.panels.axes import PlannedPanel, number_of
from omtl.figures.panels.rankings import through
from omtl.figures.plan import plan_figure
from omtl.tables.plan import descriptions
from omtl.util.paths import ROOT

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
        numbers = dict(zip(rows["dataset"].map(number_of), rows[column], strict=True))
        x, y = ([float(one) for one in text.split()] for text in (line.x, line.y))
        assert dict(zip(x, y, strict=True)) == pytest.approx(numbers, abs=1e-4)


@pytest.mark.parametrize("figure", descriptions("figure"))
def test_the_lines_of_a_figure_differ(figure: str) -> None:
    """In colour while there are colours."""
    planned = plan_figure(figure, Reading.of(figure.partition("-")[0], "as_written"))
    labels = [line.label for panel in planned.panels for line in panel.lines]
    found = colours_of(labels)
    assert len(set(found.values())) == len(found)


def test_a_learner_has_its_colour_in_every_order() -> None:
    labels = ["PM", "COML", "DOM-I", "DOM-II", "DA"]
    expected = {label: OWN[label] for label in labels}
    for turn in range(len(labels)):
        assert colours_of(labels[turn:] + labels[:turn]) == expected


def test_values_between_two_shares_of_queries() -> None:
    """Straight from point to point, and nothing beyond the last."""
    result = Result(
        {"queries": np.array([[60, 20], [5, 15]]), "examples": np.array([100, 100])}, {}
    )
    found = through(result, np.array([40.0, 10.0]), np.array([0.05, 0.1, 0.25, 0.4, 0.5]))
    np.testing.assert_allclose(found, [np.nan, 10.0, 25.0, 40.0, np.nan])


def by_task(algorithm: str) -> Experiment:
    """Return an algorithm on a small walk whose trace has each task's curve."""
    return replace(small(algorithm), protocol=ProtocolSpec.named("rounds_by_task"))


def panel(**says: Any) -> PlannedPanel:
    """Return a planned panel."""
    return PlannedPanel(a_panel(kind="task_curves", **says), ())


def test_a_curve_ends_at_the_tasks_error() -> None:
    """One pair of axes a task, one line a method; the last point is the task's error rate."""
    one = played_line(by_task("pm"), 2)
    names = one.results[0].facts["task_names"]
    parts = axes_of(panel(tasks=[names[2], names[0]]), [one])
    assert [part.title for part in parts] == [names[2], names[0]]
    mistakes = np.array([r.arrays["mistakes"] for r in one.results])
    point = int(mistakes.sum(axis=(0, 2)).argmin())
    n = SMALL_WALK["n_examples"]
    for part, k in zip(parts, (2, 0), strict=True):
        (line,) = part.lines
        assert line.x[-1] == n
        assert line.mean[-1] == pytest.approx(100.0 * mistakes[:, point, k].mean() / n, rel=1e-5)


def test_a_timed_protocol_keeps_seconds() -> None:
    """The fastest of several plays, and the same mistakes as without."""
    experiment = small("pm")
    timed = experiment.patched({"protocol.*.timed": 2})
    arrays = compute(timed.unit(0, 0)).arrays
    plain = compute(experiment.unit(0, 0)).arrays
    assert arrays["seconds"].shape == (len(experiment.points),)
    assert (arrays["seconds"] > 0.0).all()
    assert "seconds" not in plain
    np.testing.assert_array_equal(arrays["mistakes"], plain["mistakes"])
