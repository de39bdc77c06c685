"""The benchmarks run, take turns, and compare equal algorithms; no time is judged."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from scripts.bench.__main__ import main
from scripts.bench.scale import exponents
from scripts.bench.turns import QUICK, Contender, Effort, compare

DEEP = [pytest.param(part, marks=pytest.mark.deep) for part in ("growth", "estimators", "grids")]


@pytest.mark.parametrize("part", ["learners", "similarities", *DEEP])
def test_a_quick_run_times_every_contender(part: str, tmp_path: Path) -> None:
    assert main([part, "--quick", "--folder", str(tmp_path)]) == 0
    rows = pd.read_csv(tmp_path / f"{part}.csv")
    assert (rows["lowest"] > 0.0).all()
    assert (rows["lowest"] <= rows["ratio"]).all()
    assert (rows["ratio"] <= rows["highest"]).all()
    if part == "learners":
        assert set(rows["learner"]) == set(QUICK.learners)
        assert set(rows[rows["learner"] == "PA"]["contender"]) == {
            *("ours", "limit", "NumPy", "uncompiled"),
            *("river", "scikit-learn", "Vowpal Wabbit"),
        }


def test_growth_is_told_as_powers_and_where_it_ends() -> None:
    """Time by the square of the size, memory in a line: 12 GiB are full at 12 · 1024."""
    sizes = [100, 1000, 10_000]
    grown = pd.DataFrame({"size": sizes, "seconds": [n**2.0 for n in sizes], "mib": sizes})
    (row,) = exponents(grown.assign(axis="tasks", learner="PA", ended="")).to_dict("records")
    assert (row["size"], row["time"], row["memory"], row["full"]) == (10_000, 2.0, 1.0, "1e+04")


@pytest.mark.deep
def test_each_kind_of_growth_is_measured(tmp_path: Path) -> None:
    assert main(["scale", "--quick", "--folder", str(tmp_path)]) == 0
    assert (pd.read_csv(tmp_path / "scale.csv")[["seconds", "mib"]] > 0.0).all(axis=None)


def test_each_turn_is_compared_with_ours_just_before_it() -> None:
    """A machine that becomes slower all the time changes no ratio by more than one step."""
    now, speed = 0.0, 1.0

    def spend(seconds: float) -> int:
        nonlocal now, speed
        now += seconds * speed
        speed *= 1.1
        return 7

    def contender(name: str, seconds: float) -> Contender:
        return Contender(name, 10, partial(spend, seconds), expected=7, clock=lambda: now)

    both = [contender("ours", 1.0), contender("other", 3.0)]
    mine, its = compare({"learner": "K"}, both, Effort(turns=5, seconds=0.0))
    assert mine["ratio"] == 1.0
    assert its["lowest"] == pytest.approx(3.3) == its["highest"]


def test_another_algorithm_is_refused() -> None:
    other = Contender("other", 100, lambda: 60, expected=20)
    with pytest.raises(RuntimeError, match="other made 60 mistakes where ours made 20"):
        compare({"learner": "K"}, [other], QUICK)
