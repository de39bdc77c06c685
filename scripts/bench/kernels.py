"""Every kernel at one size, beside its NumPy forms and the rivals that there are."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from omtl.data.rows import SparseRows
from omtl.data.triplets import BLOCK, Triplets
from omtl.kernel.similarities import Similarities
from omtl.learners.similarity import OMTRSL, OSTRSL, SimilarityLearner
from scripts.bench import limits, numpy_forms, ours, rivals, streams
from scripts.bench.effort import Effort
from scripts.bench.measure import Benchmark, Contender, Go, once
from scripts.bench.numpy_forms import affordable, transcription
from scripts.bench.ours import KERNELS, MULTI, SINGLE, Kernel, Play, rows_of

FEATURES = 100
TASKS = 9


def benchmark(name: str, layout: str, ready: Play, contenders: tuple[Contender, ...]) -> Benchmark:
    """Return the benchmark of contenders on the stream of a play."""
    shape, rows = ready.shape, ready.examples.rows
    nonzeros = shape.n_features
    if isinstance(rows, SparseRows):
        nonzeros = round(np.diff(rows.indptr)[ready.stream.example].mean())
    return Benchmark(name, layout, contenders, shape.n_tasks, shape.n_features, nonzeros)


def played(name: str, ready: Play, compiled: bool = True) -> Contender:
    """Return our learner as a contender."""
    start = partial(partial, ours.mistakes, ready, compiled)
    return Contender(name, ready.size, start, ours.mistakes(ready))


def fitting(ready: Play, seconds: float, start: Callable[[Play], Contender], most: int) -> Play:
    """Return as much of a play's beginning as a slow contender takes in about so much time."""
    few = ready.of_at_most(min(most, 2 * ready.shape.n_tasks))
    each = max(once(start(few)), 1e-6) / few.size
    return ready.of_at_most(max(few.size, min(most, int(seconds / each))))


def in_numpy(ready: Play) -> Contender:
    """Return the plain NumPy transcription as a contender."""
    return Contender("NumPy", ready.size, transcription(ready), ours.mistakes(ready))


def slow_forms(ready: Play, effort: Effort) -> list[Contender]:
    """Return the forms of a learner in Python: its transcription, and its own rules as they are."""
    uncompiled = partial(played, "uncompiled", compiled=False)
    forms = [in_numpy, uncompiled] if affordable(ready) else [uncompiled]
    return [form(fitting(ready, 10.0 * effort.call, form, effort.slow)) for form in forms]


def limit_of(kernel: Kernel, ready: Play) -> Contender:
    """Return the bare loop of as many products and steps as a contender."""
    places, trace = ours.places_of(kernel, ready.shape.n_tasks), ours.trace_of(ready)
    start = partial(limits.bare_loop, ready, places, trace)
    passes = ours.passes_of(places, trace, ready)
    return Contender("limit", ready.size, start, passes=passes)


def counterpart_of(kernel: Kernel, ready: Play) -> Contender:
    """Return the single-task counterpart on the same stream as a contender."""
    single = KERNELS[kernel.counterpart]
    other = ready.by(single.learner)
    places = ours.places_of(single, ready.shape.n_tasks)
    passes = ours.passes_of(places, ours.trace_of(other), other)
    start = partial(partial, ours.mistakes, other)
    return Contender("single-task", ready.size, start, passes=passes)


MORE = 8
"""How many times more examples Vowpal Wabbit gets than the slow contenders."""

VOWPAL_WABBIT = {"PA": False, "OGD": True}
"""Kernels that Vowpal Wabbit is timed beside, and whether its algorithm is the same."""


def elsewhere(name: str, ready: Play, effort: Effort, folder: Path) -> list[Contender]:
    """Return the rivals of a kernel of one task, and its tuned loop, on the first examples."""
    few = ready.of_at_most(effort.slow)
    X, y = rows_of(few)
    expected = ours.mistakes(few)
    found = rivals.in_python(name, X, y, expected, ours.mistakes_of_signs(few))
    if name in VOWPAL_WABBIT:
        # Its pace is of another order, and is to be that of reading memory as ours is.
        fitting_size = min(MORE * few.size, effort.parsed * y.size // max(1, X.size))
        more = ready.of_at_most(max(few.size, fitting_size))
        known = ours.mistakes_of_signs(more) if VOWPAL_WABBIT[name] else None
        place = Path(tempfile.mkdtemp(dir=folder))
        found += rivals.vowpal_wabbit(*rows_of(more), place, known)
    if name in numpy_forms.TUNED and isinstance(X, np.ndarray):
        start = partial(partial, numpy_forms.TUNED[name], X, y)
        found.append(Contender("NumPy, tuned", few.size, start, expected))
    return found


def cut(ready: Play, effort: Effort) -> Play:
    """Return as much of a play's beginning as ours takes in about one call's time."""
    ours.trace_of(ready.first(1))  # compiles
    part = ready.first(1)
    while part.size < ready.size:
        seconds = once(Contender("", part.size, partial(partial, ours.mistakes, part)))
        if seconds >= 0.5 * effort.call:
            break
        part = ready.of_at_most(min(10 * part.size, int(part.size * effort.call / seconds)))
    return part


def plays(
    kernels: dict[str, Kernel], X: streams.Rows, y: np.ndarray, effort: Effort, n_tasks: int = TASKS
) -> Iterator[tuple[str, Play]]:
    """Yield the kernels that a run of this effort times, each with its play of the data."""
    for name, kernel in kernels.items():
        if not effort.kernels or name in effort.kernels:
            yield name, cut(ours.ready(kernel, X, y, 1 if name in SINGLE else n_tasks), effort)


def beside_limit(name: str, layout: str, ready: Play, others: list[Contender]) -> Benchmark:
    """Return the benchmark of a kernel beside its limit, others, and its counterpart."""
    kernel = KERNELS[name]
    limit = limit_of(kernel, ready)
    first = played("ours", ready)._replace(passes=limit.passes)
    single = [counterpart_of(kernel, ready)] if name in MULTI else []
    return benchmark(name, layout, ready, (first, limit, *others, *single))


def benchmarks(effort: Effort, folder: Path) -> Iterator[Benchmark]:
    """Yield each kernel on dense rows beside its NumPy forms, rivals and counterpart."""
    d = min(FEATURES, max(effort.dense))
    X, y = streams.dense_data(effort.numbers // d, d)
    for name, ready in plays(KERNELS, X, y, effort):
        rivals_of_it = elsewhere(name, ready, effort, folder) if name in SINGLE else []
        yield beside_limit(name, "dense", ready, [*slow_forms(ready, effort), *rivals_of_it])
    for name, ready in plays(ours.others(), X, y, effort):
        contenders = (played("ours", ready), *slow_forms(ready, effort))
        yield benchmark(name, "dense", ready, contenders)
    yield from similarity_benchmarks(effort, (d,), slow=True)


# Similarities, learnt from triplets in blocks

SIMILARITIES: dict[str, SimilarityLearner] = {
    "OMTRSL": OMTRSL(C=0.1, b=1.0),
    "OSTRSL": OSTRSL(C=0.1),
}
ROWS = 500


def learn_similarities(
    learner: SimilarityLearner, X: np.ndarray, triplets: Triplets, n_tasks: int
) -> Go:
    """Return the learning from triplets with matrices that have been created and written to."""
    state = Similarities(learner.policy(n_tasks), X, n_tasks)
    state.own.fill(0.0)
    state.shared.fill(0.0)

    def go() -> int:
        wrong = 0
        for start in range(0, triplets.y.size, BLOCK):  # as they are drawn
            part = Triplets(*(array[start : start + BLOCK] for array in triplets))
            taken = state.learn(part, np.zeros(part.y.size))
            wrong += int(np.count_nonzero(~(part.y * taken.scores > 0.0)))
        return wrong

    return go


def rank_one_steps(learner: str, X: np.ndarray, triplets: Triplets) -> Go:
    """Return BLAS's rank-1 updates of the matrices that a learner keeps, and nothing else.

    Each triplet updates its task's matrix, and of OMTRSL the one of all tasks too.
    """
    left = X[triplets.query]
    right = X[triplets.first] - X[triplets.second]
    n_own, n_shared = {"OSTRSL": (TASKS, 0), "OMTRSL": (TASKS, 1)}[learner]
    own, shared = (
        [np.zeros((X.shape[1],) * 2, order="F") for _ in range(n)] for n in (n_own, n_shared)
    )

    def go() -> None:
        for k, a, b in zip(triplets.task, left, right, strict=True):
            for matrix in (*own[k : k + 1], *shared):
                limits.rank_one(matrix, a, b)

    return go


def similarity_benchmarks(
    effort: Effort, widths: tuple[int, ...], slow: bool
) -> Iterator[Benchmark]:
    """Yield the learners of similarities beside BLAS's rank-1 updates."""
    for d in widths:
        X, _ = streams.dense_data(ROWS, d)
        n = max(BLOCK // 8, int(min(4 * BLOCK, effort.numbers * 20 / d**2)))
        given = streams.triplets(n, ROWS, TASKS)
        few = Triplets(*(array[: max(5, effort.slow * 10 // d)] for array in given))
        for name, learner in SIMILARITIES.items():
            start = partial(learn_similarities, learner, X, given, TASKS)
            others = [Contender("limit", n, partial(rank_one_steps, name, X, given))]
            if slow:
                expected = learn_similarities(learner, X, few, TASKS)()
                slowly = partial(numpy_forms.similarities, learner, X, few, TASKS)
                others.append(Contender("NumPy", few.y.size, slowly, expected))
            first = Contender("ours", n, start, start()())
            yield Benchmark(name, "triplets", (first, *others), TASKS, d, d * d)
