"""Test, then train on the whole stream: cumulative errors (the ROM, DOM and AKLO papers)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from omtl.kernel.grids import play_points
from omtl.kernel.play import ZERO_SCORES, play
from omtl.protocols.setting import Setting, by_learner, counts_of
from omtl.util.errors import choose

NEEDS = ("score", "update")
"""Methods that a learner must have."""

BY_POINT = ("mistakes", "updates", "checkpoint_mistakes", "checkpoint_loss")
"""Arrays of a trace to keep; `checkpoint_by_task` too if the protocol says `by_task`."""


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Play each learner on the stream of a repeat, all at once if they can share parts.

    Returns
    -------
    dict of str to ndarray
        With P learners, K tasks and C checkpoints: ``mistakes`` and ``updates`` (P, K),
        ``checkpoint_mistakes`` and ``checkpoint_loss`` (P, C), ``diverged`` (P,), ``examples``
        (K,), ``seen`` (C,): the number of examples up to each checkpoint; ``found_<name>`` (P,
        ...): the learners' findings in their final states; ``checkpoint_by_task`` (P, C, K) and
        ``seen_by_task`` (C, K) if the protocol says ``by_task``; and ``seconds`` (P,) if it is
        ``timed``: CPU time of the fastest of several plays, after one that does not count (it may
        include compilation).
    """
    examples, stream, shape = setting.played()
    timed = setting.protocol.get("timed", 0)
    learners = list(learners)
    zero = zero_score(setting)
    played = play_points(learners, examples, stream, shape, zero)
    by_task = setting.protocol.get("by_task", False)
    kept = (*BY_POINT, "checkpoint_by_task") if by_task else BY_POINT
    arrays = by_learner(
        [
            {name: getattr(trace, name) for name in kept}
            | {f"found_{name}": value for name, value in found.items()}
            | {"diverged": trace.diverged[0]}
            for trace, found in played
        ]
    )
    arrays |= counts_of(shape, stream)
    if by_task:
        parts = np.split(examples.task[stream.example], arrays["seen"][:-1])
        counts = [np.bincount(part, minlength=shape.n_tasks) for part in parts]
        arrays["seen_by_task"] = np.cumsum(counts, axis=0)
    if timed:
        seconds = [_fastest(timed, learner, examples, stream, shape) for learner in learners]
        arrays["seconds"] = np.array(seconds)
    return arrays


def zero_score(setting: Setting) -> float:
    """Return the value that replaces a score of 0: ``protocol.zero_score``, by default a mistake.

    Raises
    ------
    UserError
        If the protocol's value is unknown.
    """
    asked = setting.protocol.get("zero_score", "mistake")
    choose("protocol.zero_score", asked, ZERO_SCORES)
    return ZERO_SCORES[asked]


def _fastest(plays: int, learner: Any, *played_on: Any) -> float:
    """Return the CPU time of the fastest of several plays, in seconds."""
    play(learner, *played_on)  # may include compilation
    spent = []
    for _ in range(plays):
        started = time.thread_time()
        play(learner, *played_on)
        spent.append(time.thread_time() - started)
    return min(spent)
