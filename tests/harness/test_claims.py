"""Claims are judged on paired repeats."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from described import a_claim
from hypothesis import given
from hypothesis import strategies as st
from small_tables import a_cell

from omtl.evidence.claims import (
    FALSE,
    NO_NUMBERS,
    TRUE,
    claims_of,
    in_print,
    judge_claim,
    outcome_of,
)
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.descriptions import Claim
from omtl.figures.numbers import ShownPanel, drawn_rows
from omtl.figures.panels.axes import Axes, line_of
from omtl.util.errors import UserError
from omtl.util.paths import EXPERIMENTS, RESULTS

CLAIM = a_claim({"dataset": "D", "lower": ["A"], "than": ["B"]})


def cells_of(dataset: str = "D", **values: list[float]) -> pd.DataFrame:
    """Return cells with these numbers, by algorithm."""
    return pd.DataFrame([a_cell(name, dataset, values=each) for name, each in values.items()])


def decided(claim: Claim, cells: Any) -> str:
    """Return the outcome of a claim."""
    return outcome_of(judge_claim(claim, cells)["outcome"])


def judged(claim: Claim, cells: Any) -> tuple[str, str]:
    """Return the outcome of a claim's one comparison, and what it says."""
    ((outcome, says),) = judge_claim(claim, cells)[["outcome", "comparison"]].to_numpy().tolist()
    return outcome, says


def outcome(a: list[float], b: list[float]) -> str:
    """Return the outcome of A < B."""
    return decided(CLAIM, cells_of(A=a, B=b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (
            [1.0, 2.0, 9.0, 5.0],
            [1.1, 2.1, 9.15, 5.1],
            HOLDS,
        ),  # paired: the repeats' own spread is no matter
        ([1.1, 2.1, 9.15, 5.1], [1.0, 2.0, 9.0, 5.0], FAILS),
        ([1.0, 2.0, 3.0], [1.5, 1.5, 3.0], UNDECIDED),
        ([1.0, 2.0], [1.0, 2.0], UNDECIDED),  # equal numbers decide nothing
        ([1.0], [2.0], UNDECIDED),  # nor does one repeat
        ([], [1.0, 2.0], UNDECIDED),  # nor a cell that was not run
    ],
)
def test_outcomes(a: list[float], b: list[float], expected: str) -> None:
    """Holds where the interval of the differences is below 0, fails where it is above."""
    assert outcome(a, b) == expected


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), min_size=2, max_size=20))
def test_turning_a_comparison_round_turns_its_outcome(pairs: list[tuple[float, float]]) -> None:
    """A < B holds exactly where B < A fails."""
    a, b = (list(side) for side in zip(*pairs, strict=True))
    turned = {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}
    assert outcome(b, a) == turned[outcome(a, b)]


PAPERS = sorted(path.parent.name for path in EXPERIMENTS.glob("*/claims.yaml"))
CLAIMS = [(paper, claim) for paper in PAPERS for claim in claims_of(paper)]


def test_claims_of_figures_name_lines_that_are_drawn() -> None:
    """Their panels, lines and places are those of the figure (tables' rows are checked as read)."""
    for paper, claim in CLAIMS:
        if not claim.figure:
            assert claim.table.startswith(f"{paper}-")
            continue
        drawn = pd.DataFrame(drawn_rows(RESULTS / "figures" / f"{claim.figure}.csv"))
        drawn = drawn[drawn["kind"] == "run"]
        points = set(zip(drawn["panel"], drawn["label"], drawn["x"].astype(float), strict=True))
        for part in claim.all:
            for named, x in product((*part.compared, *part.than), part.at):
                name, _, elsewhere = named.partition(" at ")
                assert (part.panel, name, float(elsewhere or x)) in points


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"higher": ["B"], "than": ["A"]}, HOLDS),
        ({"higher": ["A"], "than": ["B"]}, FAILS),
        ({"lower": ["A"], "than": ["B"], "by": 5}, HOLDS),
        ({"lower": ["A"], "than": ["B"], "by": 20}, FAILS),
        ({"higher": ["B"], "than": ["A"], "by": 10}, UNDECIDED),
        ({"ratio": ["B"], "than": ["A"], "at_least": 1.5}, HOLDS),
        ({"ratio": ["B"], "than": ["A"], "at_least": 1.5, "at_most": 1.7}, FAILS),
        ({"ratio": ["B"], "than": ["A"], "at_least": 2.0}, UNDECIDED),
    ],
)
def test_margins_and_ratios(part: dict, expected: str) -> None:
    """A claim may name a margin, a ratio, and either direction."""
    cells = cells_of(A=[10.0, 11.0, 9.0], B=[20.0, 21.0, 19.5])
    assert decided(a_claim({"dataset": "D", **part}), cells) == expected


def test_a_row_of_another_data_set() -> None:
    """The same task's numbers elsewhere, under ``<algorithm> on <data set>``."""
    cells = pd.concat([cells_of(A=[10.0, 11.0, 9.0]), cells_of("E", A=[20.0, 21.0, 19.5])])
    part = {"dataset": "D", "lower": ["A"], "than": ["A on E"], "by": 5}
    assert judged(a_claim(part), cells) == (HOLDS, "D: A < A on E by 5")


def test_the_better_of_several_forms() -> None:
    """The one with the better mean in the place, by the metric's direction; all must be there."""
    part = {"dataset": "D", "lower": ["A*"], "than": ["B"]}
    claim = a_claim(part, either={"A*": ["A", "C"]})
    low, high, middle = [1.0, 1.1, 1.2], [9.0, 9.2, 9.1], [5.0, 5.2, 5.1]
    assert judged(claim, cells_of(A=high, B=middle, C=low)) == (HOLDS, "D: A* < B")
    assert decided(claim, cells_of(A=high, B=middle, C=high)) == FAILS
    assert decided(claim, cells_of(A=low, B=middle, C=[])) == UNDECIDED


def test_shares_of_another_row() -> None:
    """``A / B`` is A's number over B's, repeat by repeat, here or on another data set."""
    here = {"A": [1.0, 1.1, 0.9], "B": [4.0, 4.1, 3.9]}
    there = {name: [value + 2.0 for value in values] for name, values in here.items()}
    cells = pd.concat([cells_of(**here), cells_of("E", **there)])
    part = {"dataset": "D", "lower": ["A / B"], "than": ["A / B on E"]}
    assert judged(a_claim(part), cells) == (HOLDS, "D: A / B < A / B on E")
    a, b, a_there, b_there = cells["values"]
    share = a / b - a_there / b_there
    (differences,) = judge_claim(a_claim(part), cells)["differences"]
    np.testing.assert_allclose(differences, share)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"lower": ["COML"], "than": ["PA"]}, TRUE),
        ({"lower": ["PA"], "than": ["COML"]}, FALSE),
        ({"lower": ["DST (Grid)"], "than": ["DST (Ring)"]}, FALSE),  # both are 13.24
        ({"lower": ["COML"], "than": ["PA"], "by": 6.66}, TRUE),  # 6.00 and 12.66
        ({"lower": ["COML"], "than": ["PA"], "by": 6.67}, FALSE),
        ({"ratio": ["DST (Grid)"], "than": ["DST (Ring)"], "at_least": 1, "at_most": 1}, TRUE),
    ],
)
def test_claims_in_print(part: dict, expected: str) -> None:
    """Judged on the published means alone."""
    claim = a_claim({"dataset": "Synthetic", **part}, table="dom-table1")
    outcome, untrue = in_print(claim)
    assert outcome == expected
    assert (untrue == "") == (expected == TRUE)


def test_what_is_not_true_in_print() -> None:
    """The claims that their papers' own tables contradict, each with the numbers."""
    untrue = {
        (paper, claim.id): found[1]
        for paper, claim in CLAIMS
        if (found := in_print(claim))[0] == FALSE
    }
    assert set(untrue) == {
        ("aklo", "knowledge-helps"),
        ("aklo", "unif-sample-worse-than-itol"),
        ("dom", "dom-below-da-everywhere"),
        ("omtl", "von-neumann-above-baselines"),
        ("osmtl", "losses-help"),
        ("rom", "multitask-improves-on-both"),
        ("rom", "pgd-robust-to-the-outlier"),
        ("rom", "single-tasks-unmoved-by-the-outlier"),
    }
    assert untrue["aklo", "knowledge-helps"] == "Spam: AKLO Sample < TOL: 18.2 and 17.47"
    assert all(in_print(claim)[0] == NO_NUMBERS for _, claim in CLAIMS if claim.figure)


def test_the_same_line_elsewhere() -> None:
    """A figure's line at another x of the same axes, under ``<line> at <x>``."""
    line = SimpleNamespace(label="A", x=[1.0, 2.0], values=np.array([[5.0, 1.0], [5.5, 1.1]]))
    other = SimpleNamespace(label="B", x=[2.0], values=np.array([[9.0], [9.5]]))
    axes: list[Any] = [
        SimpleNamespace(title="left", lines=[line]),
        SimpleNamespace(title="right", lines=[other]),
    ]
    shown: Any = [SimpleNamespace(label="a", axes=axes, repeats_are_of="one data set", missing=())]
    part = {"panel": "a", "parts": ["left"], "lower": ["A"], "at": [2]}
    found = judged(a_claim({**part, "than": ["A at 1"]}), shown)
    assert found == (HOLDS, "left at 2: A < A at 1")
    assert decided(a_claim({**part, "than": ["B at 2"]}), shown) == UNDECIDED


def test_lines_that_a_figure_has_not() -> None:
    """They and axes are refused with the closest name, unless something of the panel is missing."""
    drawn = line_of("DOM-I", [1.0], np.array([[5.0], [6.0]]))
    panel = ShownPanel("a", "", (Axes("x", "y", (drawn,), title="left"),))
    part = {"panel": "a", "lower": ["DOM-I"], "than": ["DOM-1 at 2"], "at": [1]}
    for wrong, told in (
        (part, "claim c, panel a: no line 'DOM-1' (did you mean 'DOM-I'?)"),
        ({**part, "than": ["DOM-I"], "parts": ["lift"]}, "no part 'lift' (did you mean 'left'?)"),
    ):
        with pytest.raises(UserError, match=re.escape(told)):
            judge_claim(a_claim(wrong), [panel])
        lacking: Any = [replace(panel, missing=("DOM-1: no data",))]
        assert decided(a_claim(wrong), lacking) == UNDECIDED
