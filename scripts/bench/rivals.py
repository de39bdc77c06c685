"""The same algorithms in public libraries: river, scikit-learn, Vowpal Wabbit.

Vowpal Wabbit has no passive-aggressive learner: beside PA it descends the gradient of the hinge
loss, which is a product and a step too, and its mistakes are not compared. Its numbers have 32
bits. Its native path is its own program, reading a cache file of its own, for several passes; what
the first pass takes (starting, opening files) is measured too and taken off. Decoding the cache is
counted: the program has no way round it. It has a thread for decoding and one for learning, so the
processor's time is counted for the cost of a core, and elapsed time for what both cores give.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pylibvw
import vowpalwabbit
from river import linear_model, optim
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from scripts.bench.measure import Contender, Go, once
from scripts.bench.ours import ETA
from scripts.bench.streams import Rows

HUGE = 1e300
"""Stands for C = ∞ where a library takes finite numbers only."""


def pairs_of(X: Rows) -> list[list[tuple[int, float]]]:
    """Return the features of each row that are there."""
    if isinstance(X, np.ndarray):
        return [list(enumerate(row)) for row in X.tolist()]
    return [
        list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


# river


def river_play(model: Any, rows: list[dict[int, float]], labels: list[bool]) -> int:
    """Let a model of river predict, then learn, one example after the other."""
    wrong = 0
    for x, label in zip(rows, labels, strict=True):
        wrong += model.predict_one(x) != label
        model.learn_one(x, label)
    return wrong


RIVER: dict[str, Callable[[], Any]] = {
    "PA": lambda: linear_model.PAClassifier(mode=0, learn_intercept=False),
    "PA-I": lambda: linear_model.PAClassifier(C=0.5, mode=1, learn_intercept=False),
    "OGD": lambda: linear_model.LogisticRegression(
        optimizer=optim.SGD(ETA), loss=optim.losses.Hinge(), intercept_lr=0.0
    ),
    "PM": lambda: linear_model.LogisticRegression(
        optimizer=optim.SGD(ETA), loss=optim.losses.Hinge(threshold=0.0), intercept_lr=0.0
    ),
    "GD": lambda: linear_model.LogisticRegression(
        optimizer=optim.SGD(optim.schedulers.InverseScaling(1.0, power=0.5)),
        loss=optim.losses.Hinge(),
        intercept_lr=0.0,
    ),
    "AdaGrad": lambda: linear_model.LogisticRegression(
        optimizer=optim.AdaGrad(ETA), loss=optim.losses.Hinge(), intercept_lr=0.0
    ),
}


# scikit-learn


def sklearn_play(model: SGDClassifier, rows: list[Rows], y: list[np.ndarray]) -> int:
    """Let a model of scikit-learn predict, then learn, one example after the other."""
    wrong = 0
    for x, label in zip(rows, y, strict=True):
        wrong += not label[0] * model.decision_function(x)[0] > 0.0
        model.partial_fit(x, label)
    return wrong


SKLEARN: dict[str, dict[str, Any]] = {
    "PA": {"loss": "hinge", "learning_rate": "pa1", "eta0": HUGE},
    "PA-I": {"loss": "hinge", "learning_rate": "pa1", "eta0": 0.5},
    "OGD": {"loss": "hinge", "learning_rate": "constant", "eta0": ETA},
    "PM": {"loss": "perceptron", "learning_rate": "constant", "eta0": ETA},
}


def sklearn_start(options: dict[str, Any], X: Rows, y: np.ndarray) -> Callable[[], Go]:
    """Return what starts scikit-learn, where an example of zeros sets up the weights."""
    slices = [X[i : i + 1] for i in range(y.size)]
    labels = [y[i : i + 1] for i in range(y.size)]
    zeros = np.zeros((1, X.shape[1]))
    zeros = zeros if isinstance(X, np.ndarray) else sparse.csr_array(zeros)

    def start() -> Go:
        model = SGDClassifier(penalty=None, fit_intercept=False, **options)
        model.partial_fit(zeros, y[:1], classes=[-1.0, 1.0])
        return partial(sklearn_play, model, slices, labels)

    return start


# Vowpal Wabbit

PASSES = 10
"""Passes that the native path takes after its first."""


def vw_options(n_features: int) -> str:
    """Return the options of plain gradient descent on the hinge loss, no two features in a slot."""
    bits = max(10, int(np.ceil(np.log2(n_features))) + 1)
    rate = f"--sgd --loss_function hinge --learning_rate {ETA} --power_t 0 --noconstant"
    return f"{rate} --bit_precision {bits} --quiet"


def vw_text(X: Rows, y: np.ndarray) -> list[str]:
    """Return the examples in the text that Vowpal Wabbit reads."""
    return [
        f"{int(label)} | " + " ".join(f"{k}:{value:.9g}" for k, value in row)
        for label, row in zip(y, pairs_of(X), strict=True)
    ]


class VowpalWabbit:
    """Examples in all the ways that Vowpal Wabbit takes them.

    A parsed example takes tens of kilobytes, which the library gives back only when it is told to:
    `held` are those of the last call.
    """

    def __init__(self, X: Rows, y: np.ndarray, folder: Path) -> None:
        self.text, self.labels = vw_text(X, y), (y > 0.0).tolist()
        self.options, self.folder = vw_options(X.shape[1]), folder
        self.held: list[tuple[vowpalwabbit.Workspace, list[vowpalwabbit.Example]]] = []

    def __del__(self) -> None:
        """Give back the examples of the last call."""
        self.give_back()

    def give_back(self) -> None:
        """Let the library have its memory again."""
        while self.held:
            model, examples = self.held.pop()
            for example in examples:
                model.finish_example(example)
            model.finish()

    def parse(self) -> tuple[vowpalwabbit.Workspace, list[vowpalwabbit.Example]]:
        """Return a new model with all examples parsed, and give back those of the last."""
        self.give_back()
        model = self.new()
        self.held.append((model, [model.parse(line) for line in self.text]))
        return self.held[-1]

    def new(self) -> vowpalwabbit.Workspace:
        """Return a new model."""
        return vowpalwabbit.Workspace(self.options + " --no_stdin")

    def parsed(self) -> Go:
        """Return the learning of parsed examples by the documented method.

        A tie is answered with −1, as natively.
        """
        model, examples = self.parse()

        def go() -> int:
            wrong = 0
            for example, label in zip(examples, self.labels, strict=True):
                model.learn(example)
                wrong += (example.get_simplelabel_prediction() > 0.0) != label
            return wrong

        return go

    def inner(self) -> Go:
        """Return the learning of parsed examples by the library, with no Python in the loop."""
        model, examples = self.parse()

        def go() -> None:
            deque(map(partial(pylibvw.vw.learn, model), examples), maxlen=0)

        return go

    def from_text(self) -> Go:
        """Return the learning of examples as text, which are parsed on the way."""
        model = self.new()

        def go() -> None:
            for line in self.text:
                model.learn(line)

        return go

    def passes(self, more: int = 0) -> Go:
        """Return the native program's passes over its cache file: one, and so many more."""
        data, cache = self.folder / "examples.txt", self.folder / "examples.cache"
        names = f"--data {data} --cache_file {cache} --holdout_off"
        if not cache.exists():
            data.write_text("\n".join(self.text) + "\n", encoding="utf-8")
            vowpalwabbit.Workspace(f"{self.options} {names} --kill_cache").finish()

        def go() -> None:
            vowpalwabbit.Workspace(f"{self.options} {names} --passes {1 + more}").finish()

        return go

    def native_mistakes(self) -> int:
        """Return the mistakes of one native pass."""
        self.passes()
        names = f"--data {self.folder / 'examples.txt'} --binary"
        model = vowpalwabbit.Workspace(f"{self.options} {names}")
        wrong = round(model.get_sum_loss())
        model.finish()
        return wrong


def vowpal_wabbit(X: Rows, y: np.ndarray, folder: Path, expected: int | None) -> list[Contender]:
    """Return the ways of Vowpal Wabbit; `expected` are the mistakes of the same algorithm."""
    vw = VowpalWabbit(X, y, folder)
    if expected is not None:
        found, parsed = vw.native_mistakes(), vw.parsed()()
        if abs(found - parsed) > 1:
            raise RuntimeError(
                f"Vowpal Wabbit made {found} mistakes in its native path, {parsed} in Python's"
            )
    native = [
        Contender(
            f"Vowpal Wabbit, native, {what}",
            PASSES * y.size,
            partial(vw.passes, PASSES),
            clock=clock,
            beside=partial(once, Contender("one pass", y.size, vw.passes, clock=clock)),
        )
        for what, clock in (("core", time.process_time), ("elapsed", time.perf_counter))
    ]
    return [
        Contender("Vowpal Wabbit, Python", y.size, vw.parsed, expected),
        Contender("Vowpal Wabbit, Python, text", y.size, vw.from_text),
        Contender("Vowpal Wabbit, learning alone", y.size, vw.inner),
        *native,
    ]


def in_python(
    kernel: str, X: Rows, y: np.ndarray, expected: int, expected_of_signs: int
) -> list[Contender]:
    """Return river and scikit-learn, where they have the algorithm.

    Parameters
    ----------
    kernel : str
    X, y
        The examples, in the order in which they come.
    expected, expected_of_signs : int
        The mistakes of ours on these examples, as they are, and where a tie is answered with −1.
    """
    found: list[Contender] = []
    if kernel in RIVER:
        rows, labels = [dict(row) for row in pairs_of(X)], (y > 0.0).tolist()

        def start() -> Go:
            return partial(river_play, RIVER[kernel](), rows, labels)

        found.append(Contender("river", y.size, start, expected_of_signs))
    if kernel in SKLEARN:
        start_sklearn = sklearn_start(SKLEARN[kernel], X, y)
        found.append(Contender("scikit-learn", y.size, start_sklearn, expected))
    return found
