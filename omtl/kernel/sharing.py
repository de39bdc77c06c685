"""What the points of a grid share: the declaration of a learner's parts.

Two points of a grid that have learnt from the same examples differ only through their
hyper-parameters. If a learner declares the *parts* of its weights, all points with a part in common
share a copy of it (`omtl.kernel.grids`). The declaration names each part with its step function:

    @shareable(u=step_of_u, p=step_of_p, q=step_of_q)

A step function takes the hyper-parameters on which the step depends, by name, and nothing else but
`n_tasks`: its signature is the declaration, and two points that agree in these hyper-parameters
share the part. It returns the factor with which y x is added to the part, and the number by which
the part is then divided or shortened; None stands for a plain sum of y x, with 1 and 1:

    def step_of_p(eta, beta):
        return eta, 1.0 + beta * eta

The parts are fields of the state, each a `Bank`. The first has one vector for all tasks, which
learns at the end of a round (`add_round`) and is then divided, also in a round without steps. The
others have one for each task, and change only with a step: those whose norms are tracked are
shortened after it (`add_and_shorten`), the others divided (`add`, then `divide`).

A score is the sum of the parts' products with a row. If two functions `weights` are given, they
provide weights for two sums, the second with norms that are stored as `norm` at the end of a round:
the first returns four numbers, of any meaning, from the learner and the rounds so far; the second
returns, from these and such a norm, the weight of the first part and two of the second, to be
added.

This works for learners that take a step if the hinge loss is positive (y times the score is below
1), a step that depends on the example, the label and the hyper-parameters, but not on the size of
the loss. The points of others are played one after another.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import Parameter, signature
from typing import Any

from omtl.kernel.inlining import inlined, method
from omtl.util.errors import UserError

Step = Callable[..., tuple[float, float]] | None

N_TASKS = "n_tasks"
"""What a step function may take besides hyper-parameters."""


def shareable(
    weights: tuple[Callable, Callable] | None = None,
    unless: str = "",
    **parts: Step,
) -> Callable[[type], type]:
    """Return a decorator for a learner whose points share the named parts.

    Parameters
    ----------
    weights : tuple of callable, optional
        The parts' weights in a score, as described in the module.
    unless : str
        A hyper-parameter that turns sharing off if set.
    **parts : callable
        The step functions, by field of the state.

    Raises
    ------
    UserError
        If a step function takes anything but hyper-parameters of the learner and `n_tasks`.
    """

    def declare(kind: Any) -> type:
        for step in filter(None, parts.values()):
            check_step(kind, step)
        for function in (*parts.values(), *(weights or ())):
            if function is not None:
                inlined(function)
        kind.shared_parts, kind.shared_weights, kind.not_shared = parts, weights, unless
        if weights:
            kind.begin_shared_round, kind.shared_scores = note(weights[0]), weighed_sum(weights[1])
        return kind

    return declare


def note(of_round: Callable) -> Callable:
    """Return a rule that notes what the first of `weights` says before a round."""

    def begin_shared_round(learner, points, t):  # noqa: ARG001
        factors = points.factors
        for p in range(points.score.size):
            r, s, u, v = of_round(points.hyper[p], float(t))
            factors[0, p], factors[1, p], factors[2, p], factors[3, p] = r, s, u, v

    return begin_shared_round


def weighed_sum(weigh: Callable) -> Callable:
    """Return a rule for the scores of two parts that the second of `weights` weighs."""

    def shared_scores(learner, points, parts, k):  # noqa: ARG001
        first, second = parts
        factors, score = points.factors, points.score
        of_first, of_second = first.of[0], second.of[k]
        for p in range(score.size):
            c = of_second[p]
            of_round = (factors[0, p], factors[1, p], factors[2, p], factors[3, p])
            common, own, more = weigh(of_round, second.norm[c])
            product = second.bank.product[c]
            score[p] = common * first.bank.product[of_first[p]] + (own + more) * product

    return shared_scores


@inlined
def _add_scores(product, of, score):
    for p in range(score.size):
        score[p] += product[of[p]]


def _sum_of_products(learner, points, parts, k):  # noqa: ARG001
    points.score[:] = 0.0
    for part in parts:
        _add_scores(part.bank.product, part.of[k if part.of.shape[0] > 1 else 0], points.score)


def _no_factors(learner, points, t):
    pass


begin_shared_round = method("begin_shared_round", _no_factors)
"""Note the factors of each point after `t` rounds: ``begin_shared_round(learner, points, t)``."""

shared_scores = method("shared_scores", _sum_of_products)
"""Write the score of each point on an example of task k: ``(learner, points, parts, k)``."""


def check_step(kind: Any, step: Callable) -> None:
    """Raise a UserError unless a step function takes only what it can be given."""
    known = (*kind._fields, N_TASKS)
    for name, parameter in signature(step).parameters.items():
        if name not in known or parameter.kind is not Parameter.POSITIONAL_OR_KEYWORD:
            raise UserError(
                f"the step function {step.__name__} of {kind.__name__} takes {parameter}: it can "
                f"take, by name, only the hyper-parameters that it reads ({', '.join(known[:-1])}) "
                f"and {N_TASKS}"
            )


def unscaled() -> tuple[float, float]:
    """Return 1 and 1, the step of a part that is the sum of all y x."""
    return 1.0, 1.0


def can_share(learner: Any) -> bool:
    """Return whether a learner shares parts with others of its kind."""
    if not hasattr(learner, "shared_parts"):
        return False
    return not (learner.not_shared and getattr(learner, learner.not_shared))


def steps_of(learner: Any, n_tasks: int) -> list[tuple[Callable, tuple[Any, ...]]]:
    """Return the step function of each part, and what it takes of this learner."""
    given = learner._asdict() | {N_TASKS: n_tasks}
    steps = [step or unscaled for step in learner.shared_parts.values()]
    return [(step, tuple(given[name] for name in taken_by(step))) for step in steps]


@cache
def taken_by(step: Callable) -> tuple[str, ...]:
    """Return what a step function takes, by name; a grid asks for each of its points."""
    return tuple(signature(step).parameters)
