"""Figures of OMTRSL: numbers between two shares of queries, and claims about lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from described import a_claim, a_figure

from omtl.compute.store import Store
from omtl.evidence.claims import judge_claim, outcome_of
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.readings import Reading
from omtl.experiment.unit import Result
from omtl.figures import plan
from omtl.figures.numbers import Shown, show_figure
from omtl.figures.panels.axes import Axes, line_of
from omtl.figures.panels.rankings import through
from omtl.tables.request import Request
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
    shown = [Shown("a", "", (Axes("x", "y", (one, other), title="AP@k"),))]
    found = judge_claim(a_claim({"panel": "a", **part}, figure="dom-fig2"), shown)
    assert outcome_of(one.outcome for one in found) == expected


@pytest.mark.parametrize("varies", ["nothing", "queries"])
def test_only_lines_that_vary_in_their_queries_need_them(
    varies: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch learner reports none: it is a level line."""
    panel = {"kind": "query_ratio", "label": "a", "title": "", "dataset": "isolet", "rank": 2}
    panel |= {"ratios": [0.1, 0.5], "lines": [{"algorithm": "mtlmnn", "varies": varies}]}
    says = {"protocol": "similarity", "selection": "cv5", "panels": [panel]}
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: a_figure(**says))
    figure = plan.plan_figure("tiny", Reading.of("omtrsl", "as_written"))
    [unit] = figure.units(0, 1)
    n_points = len(figure.panels[0].lines[0].experiment.points)
    ranked = {"precision": [50.0, 40.0], "average_precision": [60.0, 30.0]}
    arrays = {name: np.tile(values, (n_points, 1)) for name, values in ranked.items()}
    arrays |= {"validation": np.zeros(n_points), "diverged": np.zeros(n_points)}
    store.save(unit, Result(arrays, {}))
    asked = Request(repeats=1, store=store)
    if varies == "queries":
        with pytest.raises(UserError, match="mtLMNN reports no queries"):
            show_figure(figure, asked)
        return
    [shown] = show_figure(figure, asked)
    assert [axes.lines[0].mean.tolist() for axes in shown.axes] == [[40.0, 40.0], [30.0, 30.0]]
