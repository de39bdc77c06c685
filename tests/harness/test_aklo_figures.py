"""AKLO's figures: curves over the tasks, the last task, the bounds; λ as the table chooses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from described import a_panel, played_line
from miniature import SERIAL, a_rule, with_grid, with_options

from omtl.compute.store import Store
from omtl.data.examples import examples_of
from omtl.experiment.playing import compute, new_learner, setting_of
from omtl.experiment.readings import Reading
from omtl.experiment.selection import costs
from omtl.experiment.unit import Experiment, Names
from omtl.figures import panels
from omtl.figures.panels import aklo_bounds
from omtl.figures.panels.axes import Axes, Curve, Mark, PlannedPanel
from omtl.figures.plan import plan_figure
from omtl.figures.play import as_chosen
from omtl.kernel.play import play
from omtl.measures.metrics import METRICS
from omtl.tables.request import Request
from omtl.theory import aklo

READING = Reading.of("aklo", "as_written")
RULE = a_rule()
GRID: dict[str, list[float]] = {"lam": [0.001, 1.0, 30.0]}


def experiment(name: str, protocol: str = "lifelong", **fixed: Any) -> Experiment:
    """Return an algorithm on a small syn1, with a small grid."""
    found = Experiment.compose(Names(name, "lifelong_syn1", protocol), READING)
    found = with_grid(with_options(found, n_tasks=6, n_examples=20), **GRID)
    return found.patched({f"algorithm.*.fixed.{key}": value for key, value in fixed.items()})


def axes_of(kind: str, experiments: Sequence[Experiment], n: int, **described: Any) -> Axes:
    """Compute the units and return a panel's only axes; lines are published as 1, 2 and so on."""
    played = [
        played_line(one, n, published=str(i), label=f"line {i}")
        for i, one in enumerate(experiments)
    ]
    panel = PlannedPanel(a_panel(kind=kind, **described), (), {("0", ""): 12.5})
    [part] = panels.axes_of(panel, played)
    return part


def by_example(one: Experiment, repeat: int, point: int) -> list[np.ndarray]:
    """Return whether each example was wrong, task by task, from a play stopped after each."""
    unit = one.unit(0, repeat)
    setting = setting_of(unit)
    stream = setting.stream._replace(checkpoint=setting.stream.start[1:])
    learner = new_learner(unit.algorithm, one.points[point])
    examples = examples_of(setting.tasks)
    trace, _ = play(learner, examples, stream, setting.shape(examples, stream))
    wrong = np.diff(trace.checkpoint_mistakes, prepend=0)
    met = setting.tasks.task[stream.example]
    return [wrong[met == k] for k in dict.fromkeys(met.tolist())]


def test_average_error_over_the_tasks() -> None:
    """Is the mean of the rates of the tasks met so far, and in the end the table's number."""
    ones = [experiment("itol"), experiment("aklo_sum")]
    part = axes_of("lifelong_error", ones, 2)
    assert part.marks == (Mark("line 0", 12.5),)
    assert axes_of("lifelong_error", ones, 1, stand_in=True).marks == ()
    for one, line in zip(ones, part.lines, strict=True):
        results = [compute(unit) for unit in one.repeats(0, 2)]
        point = int(np.argmin(costs(results, RULE)))
        assert line.x.tolist() == [1, 2, 3, 4, 5, 6]
        for repeat, curve in enumerate(line.values):
            rates = [100.0 * task.mean() for task in by_example(one, repeat, point)]
            np.testing.assert_allclose(curve, np.cumsum(rates) / np.arange(1, 7))
            final = [METRICS["ace"].of(result.arrays, point, None) for result in results]
            np.testing.assert_allclose(line.values[:, -1], final)


def test_lambda_is_the_one_that_itol_has_in_the_table(store: Store) -> None:
    """Figure 2's learners get what Table 1 chooses, though TOL would choose otherwise."""
    figure = plan_figure("aklo-fig2", READING)
    panel = figure.panels[1]
    lines = tuple(line for line in panel.lines if line.label in ("ITOL", "TOL"))
    best = {}
    for line in lines:
        results = [compute(line.experiment.unit(0, 0))]
        best[line.label] = line.experiment.points[int(np.argmin(costs(results, RULE)))]["lam"]
    assert best["ITOL"] != best["TOL"]
    figure = replace(figure, panels=(replace(panel, lines=lines),))
    chosen = as_chosen(figure, Request(repeats=1, parallel=SERIAL, store=store), computed=True)
    for line in chosen.panels[0].lines:
        assert [point["lam"] for point in line.experiment.points] == [best["ITOL"]]


BOUNDED = {
    "theorem 1": "aklo_sum_each_rates",
    "corollary 2": "aklo_sample_rates",
    "theorem 2": "aklo_doubling_rates",
}


@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_of_tasks(name: str) -> None:
    """Errors of each λ, bounds of those that the theorem sets; what is proved holds."""
    one = experiment(BOUNDED[name], "accumulation")
    part = axes_of("task_bound", [one], 2, delta=0.05)
    shown: dict[str, Curve] = {line.label: line for line in part.lines}
    assert shown[aklo_bounds.ERRORS].x.tolist() == GRID["lam"]
    at = [30.0] if name == "theorem 2" else [1.0, 30.0]
    for label in (aklo_bounds.PRINTED, aklo_bounds.PROVED, aklo_bounds.EXAMPLES):
        assert shown[label].x.tolist() == at
        assert shown[label].is_theory
    assert np.all(shown[aklo_bounds.EXAMPLES].mean == 20.0)
    for repeat in (0, 1):
        for p in range(3):
            tasks = by_example(one, repeat, p)
            mean = np.mean([task.sum() for task in tasks[1:]])
            assert shown[aklo_bounds.ERRORS].values[repeat, p] == pytest.approx(mean)
    [line] = part.references
    assert line.x == (1.0 if name == "theorem 2" else pytest.approx(aklo.horizon_rate(20)))
    assert sum("corollary 1" in note for note in part.notes) == (name == "theorem 1")
    assert all("proved" in note for note in part.notes if note.startswith("λ"))
    errors = shown[aklo_bounds.ERRORS].values[:, [GRID["lam"].index(lam) for lam in at]]
    assert np.all(errors <= shown[aklo_bounds.PROVED].values)
