"""Margins without hindsight: rivals, rows that stand for several, intervals."""

from __future__ import annotations

import numpy as np

from omtl.evidence import hindsight_gap
from omtl.evidence.hindsight_gap import BestRow, Rows, drawn_repeats, pick, pick_row, whole_rows
from omtl.experiment.readings import Reading


def of_places(*means: float) -> list[np.ndarray]:
    """Return six repeats with these means."""
    return [mean + np.array([-0.3, 0.1, 0.2, -0.2, 0.3, -0.1]) for mean in means]


def picked(rows: Rows) -> BestRow:
    """Return the best row on tasks of one data set, where lower is better."""
    places = [("D", f"task{k}") for k, _ in enumerate(next(iter(rows.values())), start=1)]
    return pick_row(rows, 1.0, drawn_repeats(rows, places, seed=0))


def test_one_rival_for_all_places() -> None:
    """Of rivals that are each best in one place, the one that is better on the whole is taken."""
    rivals = {"first": of_places(4.0, 10.0), "second": of_places(6.0, 6.0)}
    found = picked(rivals)
    assert found.algorithm == "second"
    gap = found.means - picked({"own": of_places(5.0, 5.0)}).means
    np.testing.assert_allclose(gap, 1.0)  # all rows move together here
    better = pick(np.array([[[0.9, 0.5]], [[0.6, 0.9]]]), sign=-1.0)
    assert better.tolist() == [1]  # 0.9 / 0.7 + 0.6 / 0.75 against 0.5 / 0.7 + 0.9 / 0.75


def test_a_row_that_diverged_is_not_the_best() -> None:
    """Its mean is infinite; the others count relative to the average of those that did not."""
    means = np.array([[1.0, 2.0], [np.inf, 3.0], [0.5, 1.0]])
    assert pick(means, sign=1.0) == 2


def test_rows_that_stand_for_several() -> None:
    """COML of the first block is COML-1 and COML-2; rows that lack a place are left out."""
    places = [("one", "all"), ("two", "all")]
    cells = {("COML", places[0]): np.ones(2), ("PA", places[0]): np.ones(2)}
    cells |= {(f"COML-{k}", places[1]): np.full(2, k) for k in (1, 2)}
    found = whole_rows(cells, places, {"COML": ["COML-1", "COML-2"]})
    assert {name: [v[0] for v in values] for name, values in found.items()} == {
        "COML-1": [1.0, 1.0],
        "COML-2": [1.0, 2.0],
    }


def test_intervals_know_of_the_picking() -> None:
    """Of rivals alike but for chance, that of the best is wider than that of a fixed one."""
    rng = np.random.default_rng(0)
    rivals = {str(k): [5.0 + rng.normal(size=20)] for k in range(30)}
    found = picked(rivals)
    alone = picked({found.algorithm: rivals[found.algorithm]})
    assert found.means[1:].mean() < alone.means[1:].mean() - 0.05


def test_readings_that_fix_a_parameter() -> None:
    """AKLO's smallest λ, on each of its columns; an answer about the data is none of them."""
    reading = Reading.of("aklo", "as_published")
    assert hindsight_gap.fixed_by(reading, "Landmine") == ["tuning: smallest"]
    assert hindsight_gap.fixed_by(Reading.of("aklo", "as_written"), "Landmine") == []
    assert hindsight_gap.fixed_by(Reading.of("rom", "as_published"), "TDT2") == []
