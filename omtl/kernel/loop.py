"""Test, then train: the one loop in which every learner is played, example by example.

What is noted of a play is up to a *recorder*: a NamedTuple of arrays with methods that are picked
by its type, as a learner's rules are. They pass on what is so far, a number or a tuple of numbers:

``begin(self)``
    return what is so far before the first round;
``opened(self, so_far, learner, state)``
    when a round is open;
``scored(self, so_far, learner, state, rows, event, y, score)``
    when an example has got its score, and nothing was learnt from it;
``learnt(self, so_far, event, stepped)``
    when the learner has taken a step or not;
``closed(self, so_far, stream, t)``
    when `t` rounds are over.

Each but `begin` returns what is so far then; `opened`, `learnt` and `closed` may be left out.
"""

from __future__ import annotations

from typing import Any

from omtl.kernel.inlining import loop, method
from omtl.kernel.rules import Event, close_round, is_compiled, open_round, score, update


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
    """Play a stream; the recorder notes what it is for. A score of 0 counts as `zero`."""
    rows = examples.rows
    so_far = begin(recorder)
    for t in range(stream.start.size - 1):
        open_round(learner, state, rows)
        so_far = opened(recorder, so_far, learner, state)
        for e in range(stream.start[t], stream.start[t + 1]):
            i = stream.example[e]
            y = examples.y[i]
            event = Event(t, i, examples.task[i], stream.node[e], examples.square_norm[i])
            value = score(learner, state, rows, event)
            if value == 0.0:
                value = zero
            so_far = scored(recorder, so_far, learner, state, rows, event, y, value)
            # A row without features teaches nothing, and would divide by its norm.
            stepped = event.square_norm > 0.0 and update(learner, state, rows, event, y, value)
            so_far = learnt(recorder, so_far, event, stepped)
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
    """Play a stream, compiled where that is asked for and the learner can be.

    Parameters
    ----------
    learner : NamedTuple
        A learner (`omtl.kernel.rules`); one that is no tuple is played as plain Python.
    state
        Its state, which is changed.
    examples, stream
        The examples (`omtl.data.examples.Examples`), and the order they come in.
    recorder : NamedTuple
        What notes what is asked for.
    compiled : bool
    zero : float
        What a score of exactly 0 counts as, for the learner and for the recorder.
    """
    play = run_compiled if compiled and is_compiled(learner) else run_slowly
    play(learner, state, examples, stream, recorder, zero)
