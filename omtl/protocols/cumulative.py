"""Test, then train on the whole stream: cumulative errors (the ROM, DOM and AKLO papers)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from omtl.play import Trace, play
from omtl.preparation import in_order
from omtl.protocols.setting import Setting
from omtl.rules import findings

BY_POINT = tuple(name for name in Trace._fields if name != "diverged")


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Play each learner on the stream of a repeat.

    Returns
    -------
    dict of str to ndarray
        With P learners, K tasks and C checkpoints: ``mistakes`` and ``updates`` (P, K),
        ``checkpoint_mistakes`` and ``checkpoint_loss`` (P, C), ``diverged`` (P,), ``examples``
        (K,), ``seen`` (C,): the number of examples up to each checkpoint; ``found_<name>``
        (P, ...): what the learners tell of their final states; and ``seconds`` (P,) where the
        protocol is ``timed``.
    """
    stream = setting.stream
    examples, ordered = in_order(setting.source, stream)
    shape = setting.shape(examples, ordered)
    timed = setting.protocol.get("timed", False)
    traces: list[Trace] = []
    found, seconds = [], []
    for learner in learners:
        if timed and not traces:
            play(learner, examples, ordered, shape)  # so that no measured play waits for a compiler
        started = time.perf_counter()
        trace, state = play(learner, examples, ordered, shape)
        seconds.append(time.perf_counter() - started)
        traces.append(trace)
        found.append(findings(learner, state))
    arrays = {name: np.stack([getattr(trace, name) for trace in traces]) for name in BY_POINT}
    arrays["diverged"] = np.array([trace.diverged[0] for trace in traces])
    arrays["examples"] = np.array(shape.n_examples)
    arrays["seen"] = stream.start[stream.checkpoint]
    arrays |= {f"found_{name}": np.stack([one[name] for one in found]) for name in found[0]}
    return arrays | ({"seconds": np.array(seconds)} if timed else {})
