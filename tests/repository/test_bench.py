"""The benchmarks run, take turns, and compare equal algorithms; no time is judged."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from scripts.bench.__main__ import main
from scripts.bench.turns import QUICK, Contender, compare

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


@pytest.mark.deep
def test_each_kind_of_growth_is_measured(tmp_path: Path) -> None:
    assert main(["scale", "--quick", "--folder", str(tmp_path)]) == 0
    assert (pd.read_csv(tmp_path / "scale.csv")[["seconds", "mib"]] > 0.0).all(axis=None)


def test_another_algorithm_is_refused() -> None:
    other = Contender("other", 100, lambda: 60, expected=20)
    with pytest.raises(RuntimeError, match="other made 60 mistakes where ours made 20"):
        compare({"learner": "K"}, [other], QUICK)
