"""The benchmarks run, take turns, and compare equal algorithms; no time is judged."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from omtl.data.rows import rows_of
from scripts.bench import limits, ours, streams
from scripts.bench.__main__ import main
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


def test_each_turn_is_compared_with_ours_just_before_it() -> None:
    """A machine that becomes slower all the time changes no ratio by more than one step."""
    now, speed = 0.0, 1.0

    def spend(seconds: float) -> int:
        nonlocal now, speed
        now += seconds * speed
        speed *= 1.1
        return 7

    def contender(name: str, seconds: float) -> Contender:
        return Contender(name, 10, lambda: partial(spend, seconds), 7, clock=lambda: now)

    both = [contender("ours", 1.0), contender("other", 3.0)]
    mine, its = compare({"learner": "K"}, both, Effort(turns=5, seconds=0.0))
    assert mine["ratio"] == 1.0
    assert its["lowest"] == pytest.approx(3.3) == its["highest"]


def test_another_algorithm_is_refused() -> None:
    other = Contender("other", 100, lambda: lambda: 60, expected=20)
    with pytest.raises(RuntimeError, match="other made 60 mistakes where ours made 20"):
        compare({"learner": "K"}, [other], QUICK)


def test_bare_loops_take_the_steps_that_they_count() -> None:
    """On dense and on sparse rows the same vectors change, by the same amounts."""
    X, y = streams.dense_data(30, 6)
    entry = ours.LEARNERS["Multi-P"]
    ready = entry.play(X, y, 3)
    order, fires = ready.stream.example, np.arange(ready.size) % 2 == 0
    bare = limits.Bare(order, ready.examples.task, ready.examples.y, fires, *entry.vectors(3))
    rows = ready.examples.rows.X
    dense, compressed = np.zeros((2, 4, 6))
    limits.bare_dense(rows, bare, dense)
    limits.bare_sparse(rows_of(sparse.csr_array(rows)), bare, compressed)
    expected = np.zeros((4, 6))
    for e in np.flatnonzero(fires):
        step = limits.SMALL_STEP * ready.examples.y[order[e]] * rows[order[e]]
        expected[[ready.examples.task[order[e]], 3]] += step
    np.testing.assert_allclose(dense, expected, rtol=1e-9)
    np.testing.assert_allclose(compressed, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nonsense"], "no part 'nonsense'"), (["--quick"], "name a --folder")],
)
def test_wrong_use_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert message in capsys.readouterr().err
