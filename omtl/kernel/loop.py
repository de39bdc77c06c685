"""Test, then train: the loop that plays every learner, example by example.

A *recorder* decides what to record of a play: a NamedTuple of arrays whose methods are chosen by
its type, like a learner's rules. They pass on a running value, a number or a tuple of numbers:

``begin(self)``
    return the initial value, before the first round;
``opened(self, so_far, learner, state)``
    at the start of a round;
``scored(self, so_far, play, x, y, score)``
    when an example has its score, before the learner sees its label;
``learnt(self, so_far, x, stepped)``
    after the learner has taken a step or not;
``closed(self, so_far, stream, t)``
    at the end of round `t`.

Each except `begin` returns the new value; `opened`, `learnt` and `closed` are optional.
"""

from __future__ import annotations

from typing import Any

from omtl.kernel.inlining import loop, method
from omtl.kernel.rules import Example, Play, close_round, is_compiled, open_round, score, update


def _go_on(self, so_far, *rest):  # noqa: ARG001
    return so_far


begin = method("begin")
opened = method("opened", _go_on)
scored = method("scored")
learnt = method("learnt", _go_on)
closed = method("closed", _go_on)


def run_slowly(
    learner: Any, state: Any, examples: Any, stream: Any, recorder: Any, zero: float
) -> None:
    """Play a stream, and record it. A score of 0 counts as `zero`."""
    rows = examples.rows
    playing = Play(learner, state)
    so_far = begin(recorder)
    for t in range(stream.start.size - 1):
        open_round(learner, state, rows)
        so_far = opened(recorder, so_far, learner, state)
        for e in range(stream.start[t], stream.start[t + 1]):
            i = stream.example[e]
            y = examples.y[i]
            x = Example(rows, i, examples.task[i], stream.node[e], examples.square_norm[i], t)
            value = score(learner, state, x)
            if value == 0.0:
                value = zero
            so_far = scored(recorder, so_far, playing, x, y, value)
            # An empty row has nothing to learn from, and a norm of 0 to divide by.
            stepped = x.square_norm > 0.0 and update(learner, state, x, y, value)
            so_far = learnt(recorder, so_far, x, stepped)
        close_round(learner, state, rows)
        so_far = closed(recorder, so_far, stream, t + 1)


run_compiled = loop(run_slowly)


def run(
    learner: Any,
    state: Any,
    examples: Any,
    stream: Any,
    recorder: Any,
    compiled: bool = True,
    zero: float = 0.0,
) -> None:
    """Play a stream, compiled if requested and possible.

    Parameters
    ----------
    learner : NamedTuple
        A learner (`omtl.kernel.rules`); one that is not a tuple is played as plain Python.
    state
        Its state, which is modified.
    examples, stream
        The examples (`omtl.data.examples.Examples`), and their order.
    recorder : NamedTuple
        Records the play.
    compiled : bool
    zero : float
        The value that replaces a score of exactly 0, for the learner and the recorder.
    """
    play = run_compiled if compiled and is_compiled(learner) else run_slowly
    play(learner, state, examples, stream, recorder, zero)
