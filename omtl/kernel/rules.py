"""The learner interface: a tuple of hyper-parameters whose methods are the rules of one round.

A learner is a ``NamedTuple`` of its hyper-parameters with the methods

``new_state(self, shape)``
    the state before the first round: a ``NamedTuple`` of arrays;
``open_round(self, state, rows)``
    before the predictions of a round (nodes combine their neighbours' vectors);
``score(self, state, x)``
    the signed score of one `Example`, from its row, never its label;
``update(self, state, x, y, score)``
    learning from the label of a nonempty row; returns whether the learner took a step;
``close_round(self, state, rows)``
    after the updates of a round;
``penalty(self, state)``
    the regulariser r(W) of the current weights, if the objective has one; a protocol that measures
    the objective adds it to the losses of a round;
``proximity(self, state)``
    what the algorithm adds to that regulariser in a round to keep its weights near 0;

``findings(self, state)``
    what it has learnt besides weights, such as relations between tasks: arrays by name;

``in_common(self, shape)``
    quantities that depend only on the rows of a stream, such as products of rows: all points of a
    grid share and fill them, and `new_state` takes them as its second argument.

The last five and `open_round` are optional. The methods run in plain Python (the slow path), and
inside one compiled loop for all learners (`omtl.kernel.loop`): a rule is chosen by the learner's
type, and its arguments may have any names. Compiled or not, they may use numpy, `omtl.ops`, the
weight vectors of `omtl.kernel`, other methods of the learner and of its state, and functions that
numba can compile.

A learner whose steps do not depend on the size of the loss may also declare its parts, which the
points of a grid then share (`omtl.kernel.sharing`).
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from omtl.data.rows import NO_ARRAY
from omtl.kernel.inlining import inlined, method
from omtl.util.errors import UserError


class Example(NamedTuple):
    """An example x of the stream, without its label.

    Parameters
    ----------
    rows : Rows
        The rows of all examples.
    i : int
        Its row.
    task, node, round : int
        Its task, the node that meets it, and the round.
    square_norm : float
        ‖x‖².
    """

    rows: Any
    i: int
    task: int
    node: int
    square_norm: float
    round: int

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to be an array, where a learner multiplies a vector with an example."""
        raise TypeError(NO_ARRAY)


@inlined
def row_at(rows, i):
    """Return row `i` as an example of no task, for products with it and steps along it."""
    return Example(rows, i, 0, 0, 0.0, 0)


class Play(NamedTuple):
    """What a recorder may ask about a play: the learner and its state."""

    learner: Any
    state: Any


class Shape(NamedTuple):
    """What a learner knows before the first round.

    Parameters
    ----------
    n_tasks, n_features : int
        Numbers of tasks and of features.
    mixing : ndarray of shape (n_nodes, n_nodes)
        Combination weights: node i gives weight ``mixing[i, j]`` to node j. A
        centralised learner ignores it.
    sparse : bool
        Whether the rows are sparse, for a learner whose memory layout depends on it.
    n_rounds : int
        Number of rounds, for a learner that uses its horizon; 0 if unknown.
    n_examples : tuple of int
        Number of examples of each task; empty if unknown.
    seed : int
        Seed of a learner that draws random numbers, the same for all learners of a repeat.
    n_unmet : int
        Number of features left out of `n_features`, as no example to learn from has them.
    """

    n_tasks: int
    n_features: int
    mixing: np.ndarray
    sparse: bool = False
    n_rounds: int = 0
    n_examples: tuple[int, ...] = ()
    seed: int = 0
    n_unmet: int = 0

    def require_a_node_a_task(self, learner: str) -> None:
        """Raise UserError unless the network has as many nodes as there are tasks."""
        n_nodes, n_tasks = self.mixing.shape[0], self.n_tasks
        if n_nodes != n_tasks:
            raise UserError(
                f"{learner}: one node a task is needed, but the network has {n_nodes} nodes for "
                f"{n_tasks} tasks; set network.n_nodes={n_tasks}"
            )


class Learner(Protocol):
    """The methods that every learner has."""

    def new_state(self, shape: Shape) -> Any:
        """Return the state before the first round."""

    def score(self, state: Any, x: Example) -> float:
        """Return the signed score of an example."""

    def update(self, state: Any, x: Example, y: float, score: float) -> bool:
        """Learn from a label; return whether a step was taken."""


def is_compiled(learner: Any) -> bool:
    """Whether a learner's rules can be compiled; those of a class that is not a tuple cannot."""
    return isinstance(learner, tuple)


def _rest(self: Any, state: Any, rows: Any) -> None:
    """Do nothing before or after a round."""


def _nothing(self: Any, state: Any) -> float:  # noqa: ARG001
    """Return 0, the penalty of a learner without one."""
    return 0.0


open_round = method("open_round", _rest)
"""Call a learner's rule before a round, if it has one: ``open_round(learner, state, rows)``."""

score = method("score", returns=(float, int, np.floating, np.integer))
"""Return a learner's signed score of an example: ``score(learner, state, x)``."""

update = method("update", returns=(bool, np.bool_))
"""Let a learner learn from a label; return whether it took a step."""

close_round = method("close_round", _rest)
"""Call a learner's rule after a round, if it has one."""

penalty = method("penalty", _nothing)
"""Return a learner's regulariser of its weights, 0 if it has none: ``penalty(learner, state)``."""

proximity = method("proximity", _nothing)
"""Return what a learner adds to its regulariser in this round, 0 if nothing."""


def rules_of(other: type) -> Callable[[type], Any]:
    """Return a decorator that gives a learner the rules of another that it lacks."""

    def give(kind: type) -> type:
        for name, rule in vars(other).items():
            if isinstance(rule, FunctionType) and not name.startswith("_"):
                setattr(kind, name, vars(kind).get(name, rule))
        return kind

    return give


def findings(learner: Any, state: Any) -> dict[str, np.ndarray]:
    """Return what a learner has learnt besides weights, by name; empty if it has no `findings`."""
    tell = getattr(learner, "findings", None)
    return {} if tell is None else tell(state)
