"""Small random problems on which learners are played beside their plain references."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Generator, Iterator
from itertools import cycle
from typing import Any

import numpy as np
from hypothesis import strategies as st
from profiles import thorough

import omtl.learners
from omtl.data.networks import mixing_matrix
from omtl.data.streams import Stream, Tasks, lifelong, rounds
from omtl.learners.dom import NS
from omtl.reference import ReferenceStep
from omtl.reference.problems import Case, PlayRecord, problem, recorded
from omtl.reference.transcriptions import rounds_of, transcription_of
from omtl.sklearn.parameters import declared_entries

TOLERANCE = 1e-8
"""Of scores, relative to the largest of the play; rounding adds up over factors of the weights."""

GROWN = 1e60
"""Scores larger than this, of learners whose steps grow without bound, are not compared."""

THOROUGH = thorough(20)


def steps_of(learner: Any, case: Case) -> Generator[ReferenceStep, None, Any]:
    """Return the steps of a learner's reference."""
    given = rounds_of(case.tasks, case.stream)
    return transcription_of(learner)(learner, given, case.shape)


def compare(learner: Any, case: Case, layout: str | None = None, plain: bool = True) -> Any:
    """Assert that all ways of playing a case agree with the oracle; return what that returns.

    They are compared up to the first decision that rounding could turn and has, perhaps (none in
    most cases).

    Parameters
    ----------
    learner : NamedTuple
    case : Case
    layout : {"dense", "sparse"}, optional
        The rows for which it is compiled; as `LAYOUTS` has it if left out.
    plain : bool
        Whether to compare the plain Python loop too, on both kinds of rows.
    """
    with np.errstate(all="ignore"):
        steps, value = finished(steps_of(learner, case))
    expected = np.array([step.score for step in steps])
    size = np.maximum.accumulate(np.maximum(1.0, np.abs(expected)))
    layout = layout or LAYOUTS[type(learner)]
    narrow = 1 in (len(case.tasks.names), case.tasks.X.shape[1])
    # Sparse rows' matrices of a single row or column have another type: it is not compiled too.
    ways = [] if narrow and layout == "sparse" else [(layout, True)]
    ways += [("dense", False), ("sparse", False)] if plain else []
    for way in ways:
        with np.errstate(all="ignore"):
            got = recorded(learner, in_layout(case, way[0]), way[1])
        for e, step in enumerate(steps):
            if not size[e] < GROWN:
                break
            close = abs(got.scores[e] - step.score) <= TOLERANCE * size[e]
            assert close, f"event {e}: score {got.scores[e]!r}, oracle {step.score!r} ({way})"
            same = got.scores[e] == step.score and got.fired[e] == step.fired
            if step.gap <= TOLERANCE * size[e] and not same:
                break
            if np.any(case.tasks.X[case.stream.example[e]]):  # empty rows: see their own test
                assert got.fired[e] == step.fired, f"event {e}: learns {got.fired[e]} ({way})"
    return value


@st.composite
def edges_of(draw: st.DrawFn, n_nodes: int) -> list[tuple[int, int]]:
    """Draw the edges of a connected network."""
    edges = [(i, draw(st.integers(0, i - 1))) for i in range(1, n_nodes)]
    pairs = st.tuples(st.integers(0, n_nodes - 1), st.integers(0, n_nodes - 1))
    return edges + [pair for pair in draw(st.lists(pairs, max_size=6)) if pair[0] != pair[1]]


@st.composite
def mixings(draw: st.DrawFn, n_nodes: int, lossless: bool | None) -> np.ndarray:
    """Draw the combination weights of a network.

    Parameters
    ----------
    draw : callable
    n_nodes : int
    lossless : bool, optional
        Whether combining must be invertible; left out, any network may come.
    """
    kind = draw(st.sampled_from(["full", "grid", "ring", "random"]))
    edges = draw(edges_of(n_nodes)) if kind == "random" else None
    weights = draw(st.sampled_from(["uniform", "metropolis"]))
    topology = "full" if kind == "random" else kind
    mixing = mixing_matrix(n_nodes, topology, edges, weights, draw(st.booleans()))
    if lossless and np.abs(np.linalg.eigvals(mixing)).min() < 1e-6:
        # Make combining lazier: the same network, no mode lost.
        mixing = 0.7 * np.eye(n_nodes) + 0.3 * mixing
    return mixing


@st.composite
def cases(
    draw: st.DrawFn,
    a_node_a_task: bool = False,
    at_most_one: bool = False,
    lossless: bool | None = None,
    empty_rows: bool = True,
) -> Case:
    """Draw a small problem.

    Parameters
    ----------
    draw : callable
    a_node_a_task : bool
        Whether there are as many nodes as tasks.
    at_most_one : bool
        Whether there are at least as many nodes as tasks.
    lossless : bool, optional
        As in `mixings`.
    empty_rows : bool
        Whether a row may be empty.
    """
    n_tasks = draw(st.integers(1, 5))
    n_features = draw(st.integers(1, 40))
    sizes = draw(st.lists(st.integers(0, 12), min_size=n_tasks, max_size=n_tasks))
    sizes[draw(st.integers(0, n_tasks - 1))] += 1
    seed = draw(st.integers(0, 2**32 - 1))
    density = draw(st.sampled_from([0.05, 0.3, 1.0]))
    size = draw(st.sampled_from([0.1, 1.0, 5.0]))
    n_nodes = n_tasks if a_node_a_task else draw(st.integers(n_tasks if at_most_one else 1, 6))
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = size * rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < density)
    if not empty_rows:
        X[np.arange(n), rng.integers(n_features, size=n)] += 1.0
    tasks = Tasks(
        X,
        rng.choice([-1.0, 1.0], size=n),
        rng.permutation(np.repeat(np.arange(n_tasks), sizes)),
        tuple(f"task {k}" for k in range(n_tasks)),
    )
    order, hands = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    stream = rounds(tasks, order, hands, n_nodes, draw(st.sampled_from([1, 3, 100])))
    return Case(tasks, stream, draw(mixings(n_nodes, lossless)))


def in_given_order(X: np.ndarray, y: np.ndarray, task: np.ndarray, at_once: int = 1) -> Case:
    """Return a problem whose examples come as they are given, so many in each round."""
    names = tuple(f"task {k}" for k in range(task.max() + 1))
    start = np.arange(0, y.size + 1, at_once)
    node = np.zeros(y.size, dtype=np.int64)
    stream = Stream(start, np.arange(y.size), node, np.arange(1, start.size))
    return Case(Tasks(X, y, task, names), stream, np.ones((1, 1)))


def random_tasks(rng: np.random.Generator, m: int, n: int, d: int, noise: float) -> Tasks:
    """Return tasks of linear labels, some of them flipped, of one example or more each."""
    task = np.concatenate([np.arange(m), rng.integers(0, m, m * (n - 1))])
    X = rng.standard_normal((task.size, d)) * rng.uniform(0.2, 3.0)
    U = rng.standard_normal(d) + rng.standard_normal((m, d))
    flip = np.where(rng.random(task.size) < noise, -1.0, 1.0)
    y = flip * np.where(np.einsum("ij,ij->i", X, U[task]) > 0.0, 1.0, -1.0)
    return Tasks(X, y, task, tuple(f"task {k}" for k in range(m)))


def learner_classes() -> list[type]:
    """Return every learner of the package: the tuples with `score` and `update` in its modules."""
    names = [info.name for info in pkgutil.walk_packages(omtl.learners.__path__, "omtl.learners.")]
    return [
        each
        for module in map(importlib.import_module, names)
        for each in vars(module).values()
        if inspect.isclass(each)
        and each.__module__ == module.__name__
        and issubclass(each, tuple)
        and {"_fields", "score", "update"} <= {*dir(each)}
    ]


def variants() -> Iterator[Any]:
    """Yield an instance of every learner without any of its switches, and with all.

    The references are compared in all combinations.
    """
    for each in learner_classes():
        switches = [name for name, one in each._field_defaults.items() if isinstance(one, bool)]
        needed = declared_entries()[each.__name__].defaults
        for on in {False, bool(switches)}:
            yield each(**needed, **dict.fromkeys(switches, on))


VARIANTS = list(variants())

LAYOUTS = dict(zip(learner_classes(), cycle(("dense", "sparse")), strict=False)) | {NS: "dense"}
"""For which rows each learner is compiled in most tests; the plain loop has both.

On sparse rows the code of NS is another where the network has one mode.
"""


def in_layout(case: Case, layout: str) -> Case:
    """Return a problem in dense or in sparse rows."""
    return case.sparse if layout == "sparse" else case


def played(learner: Any, case: Case) -> PlayRecord:
    """Return what a learner does, compiled, on the rows for which it is compiled anyway."""
    return recorded(learner, in_layout(case, LAYOUTS[type(learner)]))


def life(sizes: tuple[int, ...]) -> Case:
    """Return a fixed problem whose tasks come one after the other."""
    case = problem(sizes)
    return case._replace(stream=lifelong(case.tasks, np.random.default_rng(3)))


def finished(steps: Generator[ReferenceStep, None, Any]) -> tuple[list[ReferenceStep], Any]:
    """Return all steps of an oracle, and what it returns after them.

    Parameters
    ----------
    steps : generator of Step
    """
    taken = []
    while True:
        try:
            taken.append(next(steps))
        except StopIteration as end:
            return taken, end.value
