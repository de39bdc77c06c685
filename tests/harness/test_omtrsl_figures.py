"""Figures of OMTRSL: numbers between two shares of queries, and claims about lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from described import a_claim, a_line, a_panel
from miniature import a_rule

from omtl.evidence.claims import judge_claim, outcome_of
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.experiment import Experiment, Names
from omtl.experiment.readings import Reading
from omtl.experiment.unit import Result
from omtl.figures.numbers import ShownPanel
from omtl.figures.panels import axes_of, check_measured
from omtl.figures.panels.axes import Axes, PlannedLine, PlannedPanel, PlayedLine, line_of
from omtl.figures.panels.rankings import through
from omtl.util.errors import UserError


def test_values_between_two_shares_of_queries() -> None:
    """Straight from point to point, and nothing beyond the last."""
    result = Result(
        {"queries": np.array([[60, 20], [5, 15]]), "examples": np.array([100, 100])}, {}
    )
    found = through(result, np.array([40.0, 10.0]), np.array([0.05, 0.1, 0.25, 0.4, 0.5]))
    np.testing.assert_allclose(found, [np.nan, 10.0, 25.0, 40.0, np.nan])


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"higher": ["A"], "than": ["B"], "at": [1, 2]}, HOLDS),
        ({"higher": ["A"], "than": ["B"], "at": [1, 2], "by": 1.02}, UNDECIDED),
        ({"higher": ["A"], "than": ["B"], "at": [2], "by": 5}, HOLDS),
        ({"lower": ["A"], "than": ["B"], "at": [2]}, FAILS),
        ({"higher": ["A"], "than": ["B"], "at": [3]}, UNDECIDED),  # there is no such point
        ({"ratio": ["A"], "than": ["B"], "at": [2], "at_least": 1.5}, HOLDS),
    ],
)
def test_claims_may_name_lines_of_figures(part: dict[str, Any], expected: str) -> None:
    """At each x that they name, paired over the repeats."""
    one = line_of("A", [1, 2], np.array([[3.0, 20.0], [7.0, 22.0], [6.0, 21.0]]))
    other = line_of("B", [1, 2], np.array([[2.0, 10.0], [6.0, 11.0], [4.9, 10.0]]))
    shown = [ShownPanel("a", "", (Axes("x", "y", (one, other), title="AP@k"),))]
    found = judge_claim(a_claim({"panel": "a", **part}, figure="dom-fig2"), shown)
    assert outcome_of(found["outcome"]) == expected


@pytest.mark.parametrize("varies", ["nothing", "queries"])
def test_only_lines_that_vary_in_their_queries_need_them(varies: str) -> None:
    """A batch learner reports none: it is a level line."""
    names = Names("mtlmnn", "isolet", "similarity")
    experiment = Experiment.compose(names, Reading.of("omtrsl", "as_written")).only([0])
    arrays = {"precision": np.array([[50.0, 40.0]]), "average_precision": np.array([[60.0, 30.0]])}
    arrays |= {"validation": np.zeros(1), "diverged": np.zeros(1)}
    line = PlannedLine(a_line(algorithm="mtlmnn", varies=varies), experiment)
    rule = a_rule("cross_validation")
    played = [PlayedLine(line, [experiment.unit(0, 0)], [Result(arrays, {})], rule)]
    described = a_panel(kind="query_ratio", rank=2, ratios=[0.1, 0.5])
    check_measured(described, "similarity", arrays)
    panel = PlannedPanel(described, (line,))
    if varies == "queries":
        with pytest.raises(UserError, match="mtLMNN reports no queries"):
            axes_of(panel, played)
        return
    found = [
        axes.lines[0].mean.tolist() for axes in axes_of(panel, played) if isinstance(axes, Axes)
    ]
    assert found == [[40.0, 40.0], [30.0, 30.0]]
