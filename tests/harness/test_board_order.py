"""How far a board's order depends on its data sets; boards that are like another; their curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from omtl.evidence.board import BoardPlan, ranking
from omtl.evidence.board_queries import order_notes
from omtl.evidence.compared_learners import curves_of
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Result

DATA = ("landmine", "spam", "tdt2", "lifelong_syn1", "random_walk", "opposed_tasks")
"""The first three are real."""


def cells_in_order(shift: int) -> pd.DataFrame:
    """Return numbers of 12 learners, whose order on synthetic data is shifted."""
    return pd.DataFrame(
        [
            {"dataset": data, "algorithm": f"l{i}", "label": f"L{i}", "points": 1}
            | {"values": f"{1 + (i + shift * (d > 2)) % 12}", "edge": 0.0, "ties": 0.0}
            for d, data in enumerate(DATA)
            for i in range(12)
        ]
    )


def test_how_far_the_order_depends_on_the_data() -> None:
    """Halves that order alike have τ = 1; real and synthetic data have ratings of their own."""
    config = {"metric": "error", "own": {"l1": "an example", "l11": "another"}}
    cells = cells_in_order(0)
    ranked = ranking(cells, "error")
    assert ranked["real"].tolist() == pytest.approx(ranked["synthetic"].tolist(), abs=0.1)
    halves, real, own = order_notes(cells, ranked, config)
    assert "is 1.00 on average" in halves
    assert "rank correlation of 1.00" in real
    assert own.startswith("2 of the 12") and own.endswith("1 of them among the first 10: L1.")
    cells = cells_in_order(6)
    ranked = ranking(cells, "error").set_index("algorithm")
    assert ranked["real"].idxmax() == "l0"
    assert ranked["synthetic"].idxmax() == "l6"
    halves, real, _ = order_notes(cells, ranking(cells, "error"), config)
    assert "is 1.00" not in halves and "correlation of -" in real


def test_curves_of_repeats_with_checkpoints_of_their_own() -> None:
    """Task after task, they are at the ends of each repeat's tasks: rates are taken at places
    that all repeats have, and are exact at the end."""
    results = [
        Result(
            {
                "checkpoint_mistakes": np.array([made]),
                "seen": np.array(seen),
                "diverged": np.zeros(1),
            },
            {},
        )
        for made, seen in (([10, 40], [100, 400]), ([40, 50, 60], [200, 300, 400]))
    ]
    curves = curves_of(results, np.zeros(2, int), SelectionSpec.named("oracle"))
    assert curves.shape == (2, 100)
    assert curves[:, -1] == pytest.approx([10.0, 15.0])
    assert curves[1, :50] == pytest.approx(np.full(50, 20.0))


def test_a_board_is_like_another() -> None:
    """It names what differs, and has its results in a folder of its own."""
    whole, own = BoardPlan(), BoardPlan(board="lifelong")
    assert own.config["grids"] == whole.config["grids"]
    assert own.composed("landmine").protocol.name == "lifelong"
    assert (whole.folder, own.folder) == ("board", "board/lifelong")
