"""What a learner is: a tuple of hyper-parameters, with the rules of one round as its methods.

A learner is a ``NamedTuple`` of its hyper-parameters with the methods

``new_state(self, shape)``
    the state before the first round: a ``NamedTuple`` of arrays;
``open_round(self, state, rows)``
    before the predictions of a round (nodes combine what their neighbours know);
``score(self, state, rows, event)``
    the signed score of one example, which sees its row and never its label;
``update(self, state, rows, event, y, score)``
    learning from the label, of a row that is not empty; returns whether the learner took a step;
``close_round(self, state, rows)``
    after the updates of a round;
``penalty(self, state)``
    the regulariser r(W) of the weights as they are, where the objective has one: what is added to
    the losses of a round by a protocol that measures the objective;
``proximity(self, state)``
    what the algorithm adds to that regulariser in a round to hold its weights near 0.

``findings(self, state)``
    what it has learnt besides weights, such as relations of tasks: arrays by name.

``in_common(self, shape)``
    what depends on the rows of a stream alone, such as products of rows: all points of a grid then
    read it and fill it in, and `new_state` takes it as its second argument.

The last five and `open_round` may be left out. The methods run as they stand in Python (the slow
path), and inside one compiled loop that serves every learner (`omtl.kernel.loop`): a rule is picked
by the learner's type, and its arguments may have any names. Compiled or not, they may use numpy,
`omtl.ops`, the weight vectors of `omtl.kernel` and functions that numba can compile.

A learner whose steps do not depend on how large a loss was may also declare its parts, which the
points of a grid then share (`omtl.kernel.sharing`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from omtl.kernel.inlining import method


class Event(NamedTuple):
    """One example as it comes: which, of which task, at which node, with its squared norm."""

    round: int
    example: int
    task: int
    node: int
    square_norm: float


class Shape(NamedTuple):
    """What a learner is told before the first round.

    Parameters
    ----------
    n_tasks, n_features : int
        Numbers of tasks and of features.
    mixing : ndarray of shape (n_nodes, n_nodes)
        Combination weights: node i gives weight ``mixing[i, j]`` to what node j knows. A
        centralised learner ignores it.
    sparse : bool
        Whether the rows are sparse, for a learner that lays out its memory by that.
    n_rounds : int
        Number of rounds, for a learner that is to know its horizon; 0 if it is not known.
    n_examples : tuple of int
        How many examples of each task come; empty if that is not known.
    seed : int
        Seed of a learner that draws random numbers, the same for all learners of a repeat.
    """

    n_tasks: int
    n_features: int
    mixing: np.ndarray
    sparse: bool = False
    n_rounds: int = 0
    n_examples: tuple[int, ...] = ()
    seed: int = 0


class Learner(Protocol):
    """The methods that every learner has."""

    def new_state(self, shape: Shape) -> Any:
        """Return the state before the first round."""

    def score(self, state: Any, rows: Any, event: Event) -> float:
        """Return the signed score of an example."""

    def update(self, state: Any, rows: Any, event: Event, y: float, score: float) -> bool:
        """Learn from a label; return whether a step was taken."""


def is_compiled(learner: Any) -> bool:
    """Whether a learner's rules can be compiled: those of a plain class, no tuple, cannot."""
    return isinstance(learner, tuple)


def _rest(self: Any, state: Any, rows: Any) -> None:
    """Do nothing before or after a round."""


def _nothing(self: Any, state: Any) -> float:  # noqa: ARG001
    """Return the penalty of a learner that has none."""
    return 0.0


open_round = method("open_round", _rest)
"""Call a learner's rule before a round, if it has one: ``open_round(learner, state, rows)``."""

score = method("score")
"""Return a learner's signed score of an example: ``score(learner, state, rows, event)``."""

update = method("update")
"""Let a learner learn from a label; return whether it took a step."""

close_round = method("close_round", _rest)
"""Call a learner's rule after a round, if it has one."""

penalty = method("penalty", _nothing)
"""Return a learner's regulariser of its weights, 0 if it has none: ``penalty(learner, state)``."""

proximity = method("proximity", _nothing)
"""Return what a learner adds to its regulariser in this round, 0 if nothing."""


def rules_of(other: type) -> Callable[[type], Any]:
    """Return a decorator that gives a learner the rules of another which it has not itself."""
    names = ("new_state", "open_round", "score", "update", "close_round", "findings")

    def give(kind: type) -> type:
        for name in names:
            if name not in vars(kind) and name in vars(other):
                setattr(kind, name, vars(other)[name])
        return kind

    return give


def findings(learner: Any, state: Any) -> dict[str, np.ndarray]:
    """Return what a learner has learnt besides weights, by name; nothing if it does not tell."""
    tell = getattr(learner, "findings", None)
    return {} if tell is None else tell(state)
