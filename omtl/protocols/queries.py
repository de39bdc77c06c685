"""Learn from some of the examples and count the labels queried, then test on the others.

All tasks' examples are mixed, a share is held out, and the others are played in random order (the
OMTL paper, section 5); or a fixed number of each task is used for training, in random order (the
AMTL paper).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from omtl.data.rows import Examples, rows_of, square_norms
from omtl.data.streams import first_part
from omtl.kernel.play import play
from omtl.kernel.rules import Shape
from omtl.protocols.cumulative import zero_score
from omtl.protocols.heldout import HeldOutPart, part_of, scores_of
from omtl.protocols.setting import Setting, by_learner, found_in
from omtl.protocols.splits import split
from omtl.util.errors import UserError

NEEDS = ("score", "update")
"""Methods that a learner must have."""

TRACED = False
"""Whether mistakes are noted along the stream; rules without hindsight look at them there."""


def queried_part(setting: Setting) -> HeldOutPart:
    """Return the training examples in order, and the held-out ones.

    Raises
    ------
    UserError
        If the share leaves no training or no test examples.
    """
    if setting.protocol["per_task"] is not None:
        per_task, rng = setting.protocol["per_task"], setting.rng("split")
        parts = split(setting.tasks, per_task, "plain", rng, asked="per_task")
        return begun(part_of(setting, 0, *parts), setting)
    share, n = setting.protocol["test_share"], setting.tasks.y.size
    n_test = round(share * n)
    if not 0 < n_test < n:
        raise UserError(
            f"protocol.test_share={share} leaves {n - n_test} examples to learn from and {n_test} "
            "for the test; choose between 0 and 1"
        )
    order = setting.rng("split").permutation(n)
    return begun(part_of(setting, 0, np.sort(order[n_test:]), np.sort(order[:n_test])), setting)


def begun(part: HeldOutPart, setting: Setting) -> HeldOutPart:
    """Return a part in which only the protocol's `share` of the examples is learnt from."""
    stream = first_part(part.stream, setting.protocol["share"])
    return replace(part, stream=stream, shape=setting.shape(part.examples, stream))


def weights_of(learner: Any, state: Any, shape: Shape) -> np.ndarray:
    """Return the weights of each task, shape (n_tasks, n_features): the scores of unit rows."""
    K, d = shape.n_tasks, shape.n_features
    X = np.tile(np.eye(d), (K, 1))
    task = np.repeat(np.arange(K), d)
    rows = Examples(rows_of(X), np.ones(K * d), task, square_norms(X))
    part = HeldOutPart(rows, None, shape, np.arange(K * d))  # type: ignore[arg-type]
    return scores_of(learner, state, part)[0].reshape(K, d)


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Play each learner on a repeat's training examples, and score its test examples.

    Returns
    -------
    dict of str to ndarray
        With P learners and K tasks: ``mistakes`` and ``updates`` (P, K) while learning, where
        mistakes include peers' answers if the protocol says `with_peers`; ``queries`` (P, K):
        labels queried, which is all of them for a learner that reports none; ``right`` (P, K): test
        examples with the correct sign of the score, out of ``tested`` (K,); ``diverged`` (P,),
        ``examples`` (K,); ``found_<name>`` (P, ...): the learners' other findings; and
        ``correlation`` (P,), that of the final weights of the protocol's `pair` of tasks, counted
        from 1.

    Raises
    ------
    UserError
        If the protocol does not fit the data.
    """
    part = queried_part(setting)
    examples, shape, zero = part.examples, part.shape, zero_score(setting)
    K, pair = shape.n_tasks, setting.protocol["pair"]
    if pair is not None and shape.sparse:
        raise UserError("protocol.pair: weights are compared on dense rows only; leave it null")
    if pair is not None and max(pair) > K:
        raise UserError(f"protocol.pair: there is no task {max(pair)}; choose from 1 to {K}")
    records = []
    for learner in learners:
        trace, state = play(learner, examples, part.stream, shape, zero=zero)
        scores, wild = scores_of(learner, state, part)
        found = found_in(learner, state)
        right = part.y * np.where(scores == 0.0, zero, scores) > 0.0
        answers = found.pop("found_wrong", trace.mistakes)
        record = {
            "mistakes": answers if setting.protocol["with_peers"] else trace.mistakes,
            "updates": trace.updates,
            "queries": found.pop("found_asked", np.array(shape.n_examples)),
            "right": np.bincount(part.task, weights=right, minlength=K),
            "diverged": wild + int(trace.diverged[0]),
        }
        if pair is not None:
            W = weights_of(learner, state, shape)[np.array(pair) - 1]
            constant = bool((np.ptp(W, axis=1) == 0.0).any())
            record["correlation"] = 0.0 if constant else np.corrcoef(W)[0, 1]
        records.append(record | found)
    return by_learner(records) | {
        "examples": np.array(shape.n_examples),
        "tested": np.bincount(part.task, minlength=K),
    }
