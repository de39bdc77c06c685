"""Shares of the variance that choices explain, against designs whose shares are known."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omtl.experiment.descriptions import Question
from omtl.reproduction import search_readings
from omtl.tables.reading_importance import REST, page, ranked, shares, shares_of_variance
from omtl.util.errors import UserError
from omtl.util.paths import EXPERIMENTS

ASKED = {
    name: Question(
        asks=f"Which {name}?",
        says="nothing",
        literal="a",
        support={"b": "silent", "c": "contradicts"},
        found="the best was `b`",
        columns=("X", "Y") if name == "first" else ("X",),
        options={"a": {}, "b": {}, "c": {}},
    )
    for name in ("first", "second")
}


def record_of(distances: dict[tuple[str, str], float], column: str = "X") -> pd.DataFrame:
    """Return the record of trials by their two answers."""
    return pd.DataFrame(
        {
            "column": column,
            "answers": json.dumps({"first": first, "second": second}),
            "distance": f"{distance:.9f}",
            "standard_error": "0.001",
            "match": "1",
            "near": "0",
            "off": "1",
        }
        for (first, second), distance in distances.items()
    )


def test_a_balanced_additive_design() -> None:
    """Each choice has its own variance, and nothing is left."""
    effect = {"a": 0.0, "b": 1.0, "c": 2.0}
    found = shares(
        record_of({(f, s): 2.0 * effect[f] + effect[s] for f, s in product("abc", "abc")}),
        "X",
        ASKED,
    )
    assert found["first"] == pytest.approx(0.8)
    assert found["second"] == pytest.approx(0.2)
    assert found[REST] == pytest.approx(0.0, abs=1e-9)


def test_choices_that_only_act_together() -> None:
    """An additive model cannot tell of them."""
    found = shares(record_of({(f, s): float(f == s) for f, s in product("ab", "ab")}), "X", ASKED)
    assert found == pytest.approx({"first": 0.0, "second": 0.0, REST: 1.0}, abs=1e-9)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abc"), st.sampled_from("abc")),
        st.floats(0.0, 1.0).map(lambda distance: round(distance, 3)),
        min_size=2,
    )
)
def test_shares_add_up(distances: dict[tuple[str, str], float]) -> None:
    """Of any trials: to the whole, none of them negative but for rounding."""
    found = shares(record_of(distances), "X", ASKED)
    if np.std(list(distances.values())) > 0.0:
        assert sum(found.values()) == pytest.approx(1.0)
        assert min(found.values()) > -1e-6
    else:
        assert not found


def test_a_choice_counts_where_it_can_move_cells() -> None:
    """A question of another column has no share there; an answer left out is the literal one."""
    record = pd.concat(
        [
            record_of({("a", "a"): 0.5, ("b", "a"): 0.1, ("a", "b"): 0.3}),
            record_of({("a", "a"): 0.5, ("b", "a"): 0.4}, "Y"),
        ]
    )
    found = shares_of_variance(record, ASKED)
    assert found.loc["first", "Y"] == pytest.approx(1.0)
    assert np.isnan(found.loc["second", "Y"])
    assert found.loc["second", "X"] > 0.0
    record["answers"] = record["answers"].replace('{"first": "a", "second": "a"}', "{}")
    pd.testing.assert_frame_equal(shares_of_variance(record, ASKED), found)


def test_ranking() -> None:
    """Cells that are reproduced come first, then cells moved away from what was printed."""
    record = record_of({("a", "a"): 0.2, ("b", "a"): 0.1, ("c", "a"): 0.3})
    record["near"] = ["0", "0", "1"]
    record["off"] = ["1", "1", "0"]
    assert ranked(record, "X")["distance"].tolist() == [0.3, 0.1, 0.2]


def test_the_page_tells_each_choice() -> None:
    """Its question, what the paper says, its answers and its share."""
    text = page(
        "t",
        record_of({("a", "a"): 0.2, ("b", "a"): 0.1}),
        ASKED,
        {"as_read": {}, "as_published": {"first": "b"}},
    )
    assert "| first | 100 % |" in text
    assert (
        "**first.** Which first? The paper: nothing. Literal: `a`; as read: `a`; "
        "as published: `b`; of `a`, `b` (silent), `c` (contradicts). "
        "Found by looking: the best was `b`."
    ) in text
    assert "second" not in text.split("## The readings")[0]
    assert "first: b, second: a |" in text


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*/table*.yaml")), ids=str)
def test_the_pages_kept_are_of_the_records_kept(path: Any, tmp_path: Any, monkeypatch: Any) -> None:
    """A page in git is what its record gives; a table without a record says how to get one."""
    table = f"{path.parent.name}-{path.stem}"
    kept = search_readings.RESULTS / "readings"
    (tmp_path / "readings").mkdir()
    record = kept / f"{table}.csv"
    monkeypatch.setattr(search_readings, "RESULTS", tmp_path)
    if not record.exists():
        with pytest.raises(UserError, match=f"run: omtl audit readings {table}"):
            search_readings.write_page(table)
        return
    (tmp_path / "readings" / record.name).write_bytes(record.read_bytes())
    for made in search_readings.write_page(table):
        assert made.read_bytes() == (kept / made.name).read_bytes()
