"""Other programs with the same algorithms: NumPy, river, scikit-learn, Vowpal Wabbit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import vowpalwabbit
from river import linear_model, optim
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from omtl.reference import GivenExample, baselines, interaction, network
from omtl.reference.transcriptions import steps_of, transcriptions
from scripts.bench.ours import ETA, Play
from scripts.bench.streams import Rows
from scripts.bench.turns import Call, Contender

HUGE = 1e300
"""Stands for C = ∞ where a library takes finite numbers only."""

LARGEST_MATRIX = 4000
"""Maximum n_tasks · n_features for transcriptions that write out whole matrices."""


def in_numpy(ready: Play) -> Contender | None:
    """Return the plain NumPy transcription of a learner, or None if its matrices would be huge."""
    transcription = transcriptions().get(type(ready.learner))
    written_out = (interaction.__name__, network.__name__)
    whole = (baselines.adagrad, baselines.arow)
    if transcription is None:
        return None
    writes_matrices = transcription.__module__ in written_out or transcription in whole
    if writes_matrices and ready.shape.n_tasks * ready.shape.n_features > LARGEST_MATRIX:
        return None
    (X, y), stream = ready.rows(), ready.stream
    rows = X if isinstance(X, np.ndarray) else X.toarray()
    examples = zip(rows, y, ready.examples.task[stream.example], stream.node, strict=True)
    events = [
        GivenExample(x, float(label), int(task), int(node)) for x, label, task, node in examples
    ]
    rounds = [events[a:b] for a, b in zip(stream.start[:-1], stream.start[1:], strict=True)]

    def call() -> int:
        steps = steps_of(ready.learner, rounds, ready.shape)
        return sum(not label * step.score > 0.0 for label, step in zip(y, steps, strict=True))

    return Contender("NumPy", ready.size, lambda: call, ready.mistakes())


def pairs_of(X: Rows) -> list[list[tuple[int, float]]]:
    """Return the features of each row that are stored."""
    if isinstance(X, np.ndarray):
        return [list(enumerate(row)) for row in X.tolist()]
    return [
        list(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def _logistic(loss: Any, rate: Any) -> Any:
    return linear_model.LogisticRegression(optimizer=rate, loss=loss, intercept_lr=0.0)


RIVER: dict[str, Callable[[], Any]] = {
    "PA": lambda: linear_model.PAClassifier(mode=0, learn_intercept=False),
    "PA-I": lambda: linear_model.PAClassifier(C=0.5, mode=1, learn_intercept=False),
    "OGD": lambda: _logistic(optim.losses.Hinge(), optim.SGD(ETA)),
    "PM": lambda: _logistic(optim.losses.Hinge(threshold=0.0), optim.SGD(ETA)),
    "GD": lambda: _logistic(
        optim.losses.Hinge(), optim.SGD(optim.schedulers.InverseScaling(1.0, power=0.5))
    ),
    "AdaGrad": lambda: _logistic(optim.losses.Hinge(), optim.AdaGrad(ETA)),
}


def river_play(model: Any, rows: list[dict[Any, float]], labels: list[bool]) -> int:
    """Let a model of river predict, then learn, one example after the other."""
    wrong = 0
    for x, label in zip(rows, labels, strict=True):
        wrong += model.predict_one(x) != label
        model.learn_one(x, label)
    return wrong


SKLEARN: dict[str, dict[str, Any]] = {
    "PA": {"loss": "hinge", "learning_rate": "pa1", "eta0": HUGE},
    "PA-I": {"loss": "hinge", "learning_rate": "pa1", "eta0": 0.5},
    "OGD": {"loss": "hinge", "learning_rate": "constant", "eta0": ETA},
    "PM": {"loss": "perceptron", "learning_rate": "constant", "eta0": ETA},
}


def sklearn_start(options: dict[str, Any], X: Rows, y: np.ndarray) -> Call:
    """Return scikit-learn's play; an example of zeros sets up the weights before."""
    rows = [X[i : i + 1] for i in range(y.size)]
    labels = [y[i : i + 1] for i in range(y.size)]
    zeros = np.zeros((1, X.shape[1]))
    model = SGDClassifier(penalty=None, fit_intercept=False, **options)
    first = zeros if isinstance(X, np.ndarray) else sparse.csr_array(zeros)
    model.partial_fit(first, y[:1], classes=[-1.0, 1.0])

    def call() -> int:
        wrong = 0
        for x, label in zip(rows, labels, strict=True):
            wrong += not label[0] * model.decision_function(x)[0] > 0.0
            model.partial_fit(x, label)
        return wrong

    return call


def vowpal_wabbit(X: Rows, y: np.ndarray) -> Call:
    """Return the learning of parsed examples by Vowpal Wabbit's documented method.

    It has no passive-aggressive learner: it descends the gradient of the hinge loss, which is a
    product and a step too, in numbers of 32 bits.
    """
    bits = max(10, int(np.ceil(np.log2(X.shape[1]))) + 1)
    model = vowpalwabbit.Workspace(
        f"--sgd --loss_function hinge --learning_rate {ETA} --power_t 0 --noconstant "
        f"--bit_precision {bits} --quiet --no_stdin"
    )
    examples = [
        model.parse(f"{int(label)} | " + " ".join(f"{k}:{value:.9g}" for k, value in row))
        for label, row in zip(y, pairs_of(X), strict=True)
    ]

    def call() -> None:
        for example in examples:
            model.learn(example)
            model.finish_example(example)
        model.finish()

    return call


def in_libraries(name: str, ready: Play) -> list[Contender]:
    """Return the libraries that have a learner's algorithm, on the stream of a play of one task."""
    (X, y), expected = ready.rows(), ready.mistakes()
    found: list[Contender] = []
    if name in RIVER:
        rows, labels = [dict(row) for row in pairs_of(X)], (y > 0.0).tolist()

        def start() -> Call:
            return partial(river_play, RIVER[name](), rows, labels)

        found.append(Contender("river", y.size, start, expected))
    if name in SKLEARN:
        of_sklearn = partial(sklearn_start, SKLEARN[name], X, y)
        found.append(Contender("scikit-learn", y.size, of_sklearn, expected))
    if name in ("PA", "OGD"):
        found.append(Contender("Vowpal Wabbit", y.size, partial(vowpal_wabbit, X, y)))
    return found
