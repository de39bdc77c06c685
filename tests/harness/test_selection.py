"""Which point of a grid each rule of selection chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from miniature import a_rule, small, with_grid

from omtl.experiment.selection import as_played, path, select
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Result
from omtl.tables.scoring import choose_points, combined, numbers_at


def result_of(**arrays: Any) -> Result:
    """Return a result of three points, two tasks and two checkpoints, with arrays in their place.

    At the first checkpoint the first point has the fewest mistakes, at the end the last.
    """
    shared = {
        "mistakes": [[2, 6], [4, 4], [6, 1]],
        "examples": [10, 10],
        "diverged": [0, 0, 0],
        "seen": [4, 20],
        "seen_by_task": [[3, 1], [10, 10]],
        "checkpoint_mistakes": [[1, 8], [2, 8], [3, 7]],
        "checkpoint_by_task": [[[0, 1], [2, 6]], [[2, 0], [4, 4]], [[3, 0], [6, 1]]],
    }
    facts = {"seconds": 1.0, "task_names": ["a", "b"]}
    return Result({name: np.array(array) for name, array in (shared | arrays).items()}, facts)


NAN = float("nan")
OTHER = {"mistakes": [[1, 1], [5, 5], [4, 4]], "checkpoint_mistakes": [[3, 2], [2, 10], [1, 8]]}
PROGRESSIVE = SelectionSpec.named("progressive")
PREFIX, FOLDS = a_rule("prefix", fraction=0.1), a_rule("cross_validation")
FOLDED = [{"validation": [0.2, 0.9, 0.1]}, {"validation": [0.6, 0.1, 0.2]}]
UNKNOWN = [{"validation": [NAN, 0.5, 0.7]}] * 2


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize(
    ("rule", "repeats", "chosen"),
    [
        (a_rule(), [{}], [2]),
        (a_rule(), [{}, OTHER], [0, 0]),  # the best over all repeats
        (a_rule(), [{"diverged": [0, 0, 1]}], [0]),
        (a_rule(target="worst_task"), [{}], [1]),
        (a_rule(tasks=[1]), [{}], [0]),
        (a_rule(most="auc"), [{"auc": [[0.9, NAN], [0.5, 0.6], [0.8, 0.8]]}], [0]),
        (a_rule(most="auc"), [{"auc": [[NAN, NAN], [0.5, 0.5], [0.7, 0.7]]}], [2]),
        (SelectionSpec.named("oracle_absolute"), [{"absolute": [[3, 3], [1, 1], [2, 2]]}], [1]),
        (PREFIX, [{}, OTHER], [0, 2]),
        (PREFIX, [{"diverged": [1, 0, 0]}], [0]),  # perhaps later: that is not known yet
        (replace(PREFIX, target="worst_task"), [{}], [1]),  # its rate: its count is not the least
        (replace(PREFIX, tasks=(2,)), [{}], [1]),
        (replace(PREFIX, fraction=0.5), [{}], [2]),  # whose first checkpoint is the last
        (
            SelectionSpec.named("prefix_absolute"),
            [{"seen": [2, 20], "checkpoint_absolute": [[3, 1], [2, 3], [1, 2]]}],
            [2],
        ),
        (PROGRESSIVE, [{}, OTHER], [0, 2]),  # in its last stretch
        (a_rule("fixed", point={"eta": 3}), [{}, {}], [2, 2]),
        (FOLDS, FOLDED, [1, 0]),
        (FOLDS, [FOLDED[0] | {"diverged": [0, 1, 0]}], [0]),
        (FOLDS, UNKNOWN, [2, 2]),
        (replace(FOLDS, chosen_for="all"), FOLDED, [1, 1]),
        (replace(FOLDS, chosen_for="all"), UNKNOWN, [2, 2]),
    ],
)
def test_a_rule_chooses(rule: SelectionSpec, repeats: list[dict], chosen: list[int]) -> None:
    """By the numbers that it looks at: of all repeats, of a part, of some tasks, of the worst."""
    results = [result_of(**arrays) for arrays in repeats]
    assert select(results, [{"eta": 1}, {"eta": 2}, {"eta": 3}], rule).tolist() == chosen


def test_a_progressive_number_is_the_sum_over_the_stretches() -> None:
    """Of the middle point at first, then of the one that is best so far."""
    result = result_of()
    chosen = select([result], [{}] * 3, PROGRESSIVE)

    def number(metric: str, task: str = "all") -> float:
        return float(numbers_at([result], chosen, metric, PROGRESSIVE, task)[0])

    assert number("mistakes") == 2 + (8 - 1)
    assert [number("mistakes", f"task{k}") for k in (1, 2)] == [2 + (2 - 0), 0 + (6 - 1)]
    assert number("error") == number("ace") == 45.0
    of_all = {name: a for name, a in result.arrays.items() if not name.endswith("by_task")}
    together = [replace(result, arrays=of_all)]  # as if of a single task
    assert numbers_at(together, chosen, "error", PROGRESSIVE).tolist() == [45.0]
    played = as_played(result, 0, PROGRESSIVE)
    assert played.arrays["checkpoint_mistakes"][0].tolist() == [2, 9]


def test_a_progressive_choice_leaves_a_point_that_diverges() -> None:
    """An error of NaN is never the smallest, and is infinite where the path met it."""
    absolute = np.array([[1.0, NAN, NAN], [2.0, 3.0, 5.0]])
    arrays = {"checkpoint_absolute": absolute, "diverged": np.zeros(2), "seen": np.arange(3)}
    result = Result(arrays, {})
    assert path(result, SelectionSpec.named("progressive_absolute")).tolist() == [1, 0, 1]


def test_each_draw_has_hyper_parameters_of_its_own() -> None:
    """Within a draw the rule chooses in hindsight, and between draws it knows nothing."""
    both = ([[5, 5], [3, 3]], [[1, 1], [4, 4]])
    results = [result_of(mistakes=mistakes, diverged=[0, 0]) for mistakes in both]
    experiment = with_grid(small("pm"), eta=[1, 2])
    for drawn, chosen, rates in ((False, [0, 0], [50, 10]), (True, [1, 0], [30, 10])):
        points = choose_points(results, experiment.points, a_rule(), drawn)
        assert points.tolist() == chosen
        assert numbers_at(results, points, "error", a_rule()).tolist() == rates


def test_results_together_are_of_all_points() -> None:
    """Points come one after the other; what all have in common comes once."""
    (both,) = combined([[result_of()], [result_of(found_x=[[1.0], [2.0]])]])
    assert both.arrays["checkpoint_mistakes"].shape == (6, 2)
    assert both.arrays["seen"].tolist() == [4, 20]
    assert both.facts["seconds"] == 2.0
    assert "found_x" not in both.arrays
    assert combined([[result_of()], []]) == []
