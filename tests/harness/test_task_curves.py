"""Learning curves of single tasks, and figures that take hyper-parameters from a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from described import a_figure, a_line, a_panel
from miniature import AS_WRITTEN, SERIAL, SMALL_WALK, a_rule, small
from small_tables import a_cell

from omtl.compute.store import Store
from omtl.experiment.experiment import Experiment
from omtl.experiment.playing import compute
from omtl.experiment.specs import ProtocolSpec
from omtl.figures import play
from omtl.figures.panels import axes_of
from omtl.figures.panels.axes import PlannedLine, PlannedPanel, PlayedLine
from omtl.figures.plan import PlannedFigure
from omtl.figures.play import as_chosen
from omtl.tables.request import Request
from omtl.util.errors import UserError

RULE = a_rule()


def by_task(algorithm: str) -> Experiment:
    """Return an algorithm on a small walk whose trace has each task's curve."""
    return replace(small(algorithm), protocol=ProtocolSpec.named("rounds_by_task"))


def played(algorithm: str, n_repeats: int = 2) -> PlayedLine:
    """Return a line with its units' results."""
    experiment = by_task(algorithm)
    units = experiment.repeats(0, n_repeats)
    return PlayedLine(
        PlannedLine(a_line(), experiment), units, [compute(unit) for unit in units], RULE
    )


def panel(**says: Any) -> PlannedPanel:
    """Return a planned panel."""
    return PlannedPanel(a_panel(kind="task_curves", **says), ())


def test_a_curve_ends_at_the_tasks_error() -> None:
    """One pair of axes a task, one line a method; the last point is the task's error rate."""
    one = played("pm")
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


def test_unknown_task() -> None:
    """A task that is not there is said so, with those that are."""
    with pytest.raises(UserError, match="no task 'nobody'; there are"):
        axes_of(panel(tasks=["nobody"]), [played("pm", 1)])


def test_hyper_parameters_from_a_table(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is played at the one point that the table's cell chooses, under its own protocol."""
    experiment = small("coml")
    cells = pd.DataFrame([a_cell("COML", experiment=experiment)])
    monkeypatch.setattr(play, "planned", lambda *_, plays: cells if plays == 0 else None)
    line = PlannedLine(a_line(published="COML"), by_task("coml"))
    unknown = PlannedLine(a_line(published="Nobody"), by_task("pm"))
    planned = PlannedFigure(
        a_figure(id="f", chosen_in="t"),
        AS_WRITTEN,
        (PlannedPanel(a_panel(published="Synthetic"), (line, unknown)),),
    )
    chosen, other = (
        as_chosen(planned, Request(repeats=2, parallel=SERIAL, store=store), computed=True)
        .panels[0]
        .lines
    )
    results = [compute(unit) for unit in experiment.repeats(0, 2)]
    best = int(sum(r.arrays["mistakes"].sum(axis=1) for r in results).argmin())
    assert chosen.experiment.points == [experiment.points[best]]
    assert chosen.experiment.protocol.name == "rounds_by_task"
    assert other is unknown


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
