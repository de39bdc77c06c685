"""PEER and HUMBLE ask, answer and err as the authors' program does, example by example."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_sets import real

from omtl.data.examples import examples_of
from omtl.data.networks import mixing_matrix
from omtl.data.preparation import prepare
from omtl.data.rows import SparseRows, rows_of
from omtl.data.streams import Stream
from omtl.kernel.loop import run
from omtl.kernel.play import TINY
from omtl.kernel.rules import Example, Play, Shape
from omtl.learners.peers import Humble, Peer

TRACE = json.loads((Path(__file__).parents[1] / "golden").joinpath("peers.json").read_text("utf-8"))
"""Digests of the program's trace, and how they were made."""


class Asking:
    """The recorder (`omtl.kernel.loop`) of who was asked: counts before each example."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.peers: list[int] = []

    def begin(self) -> int:
        """Return what is so far: nothing."""
        return 0

    def scored(self, so_far: int, play: Play, *rest: Any) -> int:
        """Note the counts before the example."""
        del rest
        self.asked.append(int(play.state.asked.sum()))
        self.peers.append(int(play.state.peers.sum()))
        return so_far


@pytest.mark.parametrize(
    ("name", "learner", "zero"),
    [
        ("PEER", Peer(1.0, 5.0, on_mistakes=True), TINY),
        ("HUMBLE", Humble(1.0, float(np.log(30.0)), scaled=True), -TINY),
    ],
)
def test_learner_does_what_the_authors_program_does(
    name: str, learner: Any, zero: float, real_home: Path | None
) -> None:
    """14,820 examples of 29 tasks: the same labels asked for, the same answers of peers."""
    tasks = prepare(real("landmine", real_home, tasks="all"), normalise="unit", bias=True)
    n, K = tasks.y.size, len(tasks.names)
    examples = examples_of(tasks)
    order = np.random.default_rng(24).permutation(n)
    stream = Stream(np.arange(n + 1), order, np.zeros(n, dtype=np.int64), np.array([n]))
    shape = Shape(K, tasks.X.shape[1], mixing_matrix(K), isinstance(examples.rows, SparseRows))
    state, asking = learner.new_state(shape), Asking()
    run(learner, state, examples, stream, asking, compiled=False, zero=zero)
    trace = TRACE[name]
    for what in ("asked", "peers"):
        counts = [*getattr(asking, what), int(getattr(state, what).sum())]
        assert counts[-1] == trace[what]
        assert (
            hashlib.sha256(bytes(np.diff(counts).tolist())).hexdigest()
            == (trace[f"sha256_of_{what}"])
        )
    assert state.wrong.tolist() == trace["wrong"]
    final = state.tau @ state.w if name == "HUMBLE" else state.w
    np.testing.assert_allclose(np.linalg.norm(final, axis=1), trace["norms"], rtol=1e-8)


def test_the_most_trusted_peer_answers_alone() -> None:
    """Of two peers, the one whose loss was smaller."""
    shape = Shape(3, 1, mixing_matrix(3))
    learner = Peer(1e9, 1e9, single=True)
    state = learner.new_state(shape)
    state.w[:] = [[0.0], [2.0], [-2.0]]
    x = Example(one_row(), 0, 0, 0, 1.0, 0)
    learner.update(state, x, 1.0, learner.score(state, x))
    assert state.tau[0, 1] > state.tau[0, 2]
    assert state.tau[0].sum() == pytest.approx(1.0)
    assert state.asked.tolist() == [1, 0, 0]


def one_row() -> Any:
    """Return the dense row [1]."""
    return rows_of(np.ones((1, 1)))
