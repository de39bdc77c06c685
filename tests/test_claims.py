"""Claims are judged on paired repeats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniature import small

from omtl.harness.claims import FAILS, HOLDS, UNDECIDED, claims_of, judge_claim, outcome_of
from omtl.harness.plan import Cell, published
from omtl.harness.table import Scored
from omtl.paths import EXPERIMENTS

EXPERIMENT = small("pm")
CLAIM = {"all": [{"dataset": "D", "lower": ["A"], "than": ["B"]}]}


def scored(algorithm: str, values: list[float]) -> Scored:
    """Return a cell with these numbers."""
    cell = Cell("D", algorithm, "all", "error", "1", "0", EXPERIMENT)
    return Scored(cell, np.array(values), "match")


def outcome(a: list[float], b: list[float]) -> str:
    """Return the outcome of A < B."""
    return outcome_of(judge_claim(CLAIM, [scored("A", a), scored("B", b)]))


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


@pytest.mark.parametrize(
    ("paper", "claim"), CLAIMS, ids=[f"{paper}-{claim['id']}" for paper, claim in CLAIMS]
)
def test_claims_name_published_cells(paper: str, claim: dict) -> None:
    """A claim compares cells of its paper's table."""
    assert claim["table"].startswith(f"{paper}-")
    rows = published(claim["table"])
    cells = {(row["dataset"], row["task"], row["algorithm"]) for row in rows}
    for part in claim["all"]:
        for task in part.get("tasks", ["all"]):
            for name in (*part["lower"], *part["than"]):
                assert (part["dataset"], task, name) in cells
