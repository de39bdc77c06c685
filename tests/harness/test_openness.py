"""Badges: what of a paper is open follows from its tables, its readings and its program."""

from __future__ import annotations

import pytest
from described import a_table

from omtl.experiment.descriptions import Question
from omtl.site.openness import CLOSED, IN_PART, OPEN, badges

REAL = {"published": "A", "dataset": "landmine"}
STAND_IN = {"published": "A", "dataset": "spam3", "kind": "substitute"}
DRAWN = {"published": "A", "dataset": "random_walk"}


@pytest.mark.parametrize(
    ("columns", "state"), [([REAL], OPEN), ([STAND_IN], CLOSED), ([REAL, STAND_IN], IN_PART)]
)
def test_data_are_open_as_far_as_no_others_stand_in(columns: list[dict], state: str) -> None:
    """A draw is no data that could be had."""
    found = {one.what: one.state for one in badges("dom", [a_table(columns=columns)], {})}
    assert found == {"program": CLOSED, "data": state, "grids": OPEN}
    drawn = {one.what: one.state for one in badges("dom", [a_table(columns=[DRAWN])], {})}
    assert drawn == {"program": CLOSED, "draw": CLOSED, "grids": OPEN}


def test_a_grid_that_a_reading_sets_was_not_printed() -> None:
    """And a public program is named."""
    options = {"as_is": {}, "one": {"algorithm.pa.grid": {"C": [1.0]}}}
    about = {"asks": "?", "says": "", "literal": "as_is", "columns": (), "options": options}
    asked = {"tuning": Question(**about, support={"one": "silent"})}
    found = {one.what: one for one in badges("amtl", [], asked)}
    assert (found["grids"].state, found["grids"].why) == (CLOSED, "1 open question: tuning")
    assert (found["program"].state, found["program"].why) == (OPEN, "keerthi166/peer-amtl")
