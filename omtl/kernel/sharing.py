"""The state that points of a grid share, derived from the parts of a learner's weights.

Two points of a grid that have learnt from the same examples differ only through their
hyper-parameters. If a learner declares the *parts* of its weights, all points with a part in common
share a copy of it (`omtl.kernel.grid_loop`), which is 3 to 7 times as fast on grids of 6,000
points. The declaration names each part with its step function:

    @shareable(u=step_of_u, p=step_of_p, q=step_of_q)

A step function takes the hyper-parameters on which the step depends, by name, and nothing else but
`n_tasks`: its signature is the declaration, and two points that agree in these hyper-parameters
share the part. It returns the factor with which y x is added to the part, and the number by which
the part is then divided or shortened (`unscaled`: 1 and 1, for a plain sum):

    def step_of_p(eta, beta):
        return eta, 1.0 + beta * eta

The first part is a `RoundSum` of all tasks; the others are vectors of one task each. A score is the
sum of the parts' products with a row. If two functions `weights` are given, they provide weights
for the two parts: the first returns four numbers, of any meaning, from the learner and the rounds
so far; the second returns, from these and the norm of the second part, the weight of the first part
and two of the second, to be added.

This works for learners whose steps depend on the example, the label and the hyper-parameters, but
not on the size of the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.copies import (
    add_rows,
    close_copies,
    coefficient,
    copy_part,
    finish_step,
    take_products,
)
from omtl.kernel.inlining import chosen, inlined
from omtl.kernel.many_vectors import zero_vectors
from omtl.kernel.rules import Shape
from omtl.kernel.vectors import Norms, RoundSum
from omtl.util.errors import UserError

Step = Callable[..., tuple[float, float]]

N_TASKS = "n_tasks"
"""What a step function may take besides hyper-parameters."""


def shareable(
    weights: tuple[Callable, Callable] | None = None, unless: str = "", **parts: Step
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
        for step in parts.values():
            check_step(kind, step)
        kind.shared_parts, kind.shared_weights, kind.not_shared = parts, weights, unless
        return kind

    return declare


def check_step(kind: Any, step: Step) -> None:
    """Raise a UserError unless a step function takes only what it can be given."""
    known = (*kind._fields, N_TASKS)
    for name, parameter in signature(step).parameters.items():
        if name not in known or parameter.kind is not Parameter.POSITIONAL_OR_KEYWORD:
            raise UserError(
                f"the step function {step.__name__} of {kind.__name__} takes {parameter}: it can "
                f"take, by name, only the hyper-parameters that it reads ({', '.join(known[:-1])}) "
                f"and {N_TASKS}"
            )


@inlined
def unscaled():
    """Return 1 and 1, the step of a part that is the sum of all y x."""
    return 1.0, 1.0


def can_share(learner: Any) -> bool:
    """Return whether a learner shares parts with others of its kind."""
    if not hasattr(learner, "shared_parts"):
        return False
    return not (learner.not_shared and getattr(learner, learner.not_shared))


def parts_of(learner: Any) -> tuple[tuple[float, ...], ...]:
    """Return the hyper-parameters that each part's step takes."""
    return tuple(
        tuple(getattr(learner, name) for name in signature(step).parameters if name != N_TASKS)
        for step in learner.shared_parts.values()
    )


class Pool(NamedTuple):
    """Copies of parts: one vector per copy instead of one per task, and a round's numbers.

    `rate` and `divisor` are the steps of the copies of the first part, `factors`, of shape (4,
    n_points), the results of `weights` for the points.
    """

    parts: tuple[Any, ...]
    rate: np.ndarray
    divisor: np.ndarray
    factors: np.ndarray


def new_pool(
    learner: Any, shape: Shape, n_own_features: int, n_shared: int, n_own: int, n_points: int
) -> Pool:
    """Return copies of zero parts.

    Parameters
    ----------
    learner : NamedTuple
    shape : Shape
    n_own_features : int
        Number of features of a part of one task.
    n_shared, n_own : int
        Number of copies of the part of all tasks, and of each other part.
    n_points : int
    """
    state = learner.new_state(shape)
    one = shape._replace(n_tasks=n_own, n_features=n_own_features)
    m = shape.n_tasks
    common = RoundSum(
        zero_vectors(n_shared, shape.n_features, shape.sparse),
        np.ones((n_shared, 1)),
        np.zeros((n_shared, m)),
        np.zeros((n_shared, m), dtype=np.int64),
    )
    others: list[Any] = [
        type(getattr(state, name))
        .zeros(one)
        ._replace(vectors=zero_vectors(n_own, n_own_features, shape.sparse))
        for name in list(learner.shared_parts)[1:]
    ]
    return Pool((common, *others), np.zeros(n_shared), np.ones(n_shared), np.zeros((4, n_points)))


def state_of_point(learner: Any, state: Any, pool: Pool, t: int, of: np.ndarray) -> Any:
    """Return a point's state after `t` rounds, except for the vectors.

    Parameters
    ----------
    learner, state
        The learner of the point, and a new state of it.
    pool : Pool
    t : int
    of : ndarray of shape (n_parts, n_tasks)
        The point's copy of each part of each task.
    """

    def taken(value: Any, copies: np.ndarray) -> Any:
        if isinstance(value, np.ndarray):
            return value[copies] if value.ndim == 1 and value.size > 1 else value
        return type(value)(*(taken(each, copies) for each in value))

    names = list(learner.shared_parts)[1:]
    own = {
        name: taken(part, copies)
        for name, part, copies in zip(names, pool.parts[1:], of[1:], strict=True)
    }
    rounds = {"rounds": np.array([float(t)])} if "rounds" in state._fields else {}
    return state._replace(**own, **rounds)


def clear(pool: Pool, part: int, first: int, last: int) -> None:
    """Make copies of a part zero again."""
    fresh = {"scale": 1.0}

    def reset(arrays: Any) -> None:
        for name, array in zip(arrays._fields, arrays, strict=True):
            if isinstance(array, Norms):
                reset(array)
            elif name not in ("product", "rows", "example"):
                array[first:last] = fresh.get(name, 0.0)

    reset(pool.parts[part])


# From a part's index to the part, and from arrays of hyper-parameters to a point's learner.


def of_part(operation: Callable, first: int = 0) -> Callable:
    """Return an operation on all parts and the index of one, from `first` on."""

    def call(parts: Any, part: int, *rest: Any) -> Any:
        return operation(parts[part], *rest)

    def form(n: int, otherwise: Callable | None) -> Callable:
        def this(parts, part, *rest):  # noqa: ARG001
            return operation(parts[n], *rest)

        if otherwise is None:
            return this
        others = inlined(otherwise)

        def this_or_others(parts, part, *rest):
            if part == n:
                return operation(parts[n], *rest)
            return others(parts, part, *rest)

        return this_or_others

    def choose(parts: Any, *_: Any) -> Callable:
        chain = None
        for n in reversed(range(first, len(parts))):
            chain = form(n, chain)
        assert chain is not None
        return chain

    return chosen(call, choose)


take_products_of = of_part(take_products)
coefficient_of = of_part(coefficient, 1)
add_rows_to = of_part(add_rows, 1)
finish_step_of = of_part(finish_step, 1)
close_copies_of = of_part(close_copies)
copy_part_of = of_part(copy_part)


def at(points: Any, p: int) -> Any:
    """Return the learner of point `p`; `points` has arrays instead of hyper-parameters."""
    return type(points)(*(values[p] for values in points))


def _at(points: Any, p: Any) -> Callable:  # noqa: ARG001
    kind = points.instance_class

    def values(last: int) -> Callable:
        if last == 0:
            return lambda points, p: (points[0][p],)
        before = inlined(values(last - 1))
        return lambda points, p: before(points, p) + (points[last][p],)  # noqa: RUF005

    taken = inlined(values(len(kind._fields) - 1))
    return lambda points, p: kind(*taken(points, p))


chosen(at, _at)


def step_of(points: Any, part: int, p: int, n_tasks: int) -> tuple[float, float]:
    """Return the step of a part with the hyper-parameters of point `p`."""
    step = list(points.shared_parts.values())[part]
    given = points._asdict()
    return step(*(n_tasks if of == N_TASKS else given[of][p] for of in signature(step).parameters))


def _arguments(kind: Any, names: list[str]) -> Callable:
    """Return a function that collects a point's values of these names."""
    if not names:
        return lambda points, p, n_tasks: ()  # noqa: ARG005
    before = inlined(_arguments(kind, names[:-1]))
    if names[-1] == N_TASKS:
        return lambda points, p, n_tasks: before(points, p, n_tasks) + (n_tasks,)  # noqa: RUF005
    last = kind._fields.index(names[-1])
    return lambda points, p, n_tasks: before(points, p, n_tasks) + (points[last][p],)  # noqa: RUF005


def _step_of(points: Any, *_: Any) -> Callable:
    kind = points.instance_class
    steps = [inlined(step) for step in kind.shared_parts.values()]
    takes = [inlined(_arguments(kind, [*signature(one).parameters])) for one in steps]

    def form(n: int) -> Callable:
        step, arguments = steps[n], takes[n]
        if n + 1 == len(steps):
            return lambda points, part, p, m: step(*arguments(points, p, m))  # noqa: ARG005
        others = inlined(form(n + 1))

        def this(points, part, p, m):
            return step(*arguments(points, p, m)) if part == n else others(points, part, p, m)

        return this

    return form(0)


chosen(step_of, _step_of)


def begin_round(points: Any, factors: np.ndarray, t: int) -> None:
    """Store the result of `weights`, if given, for each point after `t` rounds."""
    weights = type(points).shared_weights
    if weights:
        _note_factors(weights[0])(points, factors, t)


def _note_factors(of_round: Callable) -> Callable:
    def note(points, factors, t):
        for p in range(points[0].size):
            r, s, u, v = of_round(at(points, p), float(t))
            factors[0, p], factors[1, p], factors[2, p], factors[3, p] = r, s, u, v

    return note


def _nothing(points, factors, t):
    pass


def _begin_round(points: Any, *_: Any) -> Callable:
    weights = points.instance_class.shared_weights
    return _note_factors(weights[0]) if weights else _nothing


chosen(begin_round, _begin_round)


def scores(
    points: Any, pool: Pool, products: np.ndarray, of: np.ndarray, k: int, out: np.ndarray
) -> None:
    """Write the score of each point on an example of task `k` to `out`.

    Parameters
    ----------
    points, pool
    products : ndarray of shape (n_parts, n_copies)
        Products of each copy with the row.
    of : ndarray of shape (n_parts, n_tasks, n_points)
        The copies that the points use.
    k : int
        The task.
    out : ndarray of shape (n_points,)
    """
    _scores(type(points))(points, pool, products, of, k, out)


def _scores(kind: Any) -> Callable:
    def up_to(last: int) -> Callable:
        if last == 0:
            return lambda products, of, k, p: products[0, of[0, 0, p]]  # noqa: ARG005
        before = inlined(up_to(last - 1))
        return lambda products, of, k, p: (
            before(products, of, k, p) + products[last, of[last, k, p]]
        )

    total = inlined(up_to(len(kind.shared_parts) - 1))

    def sums(points, pool, products, of, k, out):  # noqa: ARG001
        for p in range(out.size):
            out[p] = total(products, of, k, p)

    if not kind.shared_weights:
        return sums
    weigh = kind.shared_weights[1]

    def weighed_sums(points, pool, products, of, k, out):  # noqa: ARG001
        norms, factors = pool.parts[1].norm, pool.factors
        for p in range(out.size):
            c = of[1, k, p]
            of_round = (factors[0, p], factors[1, p], factors[2, p], factors[3, p])
            common, own, more = weigh(of_round, norms[c])
            out[p] = common * products[0, of[0, 0, p]] + (own + more) * products[1, c]

    return weighed_sums


chosen(scores, lambda points, *_: _scores(points.instance_class))
