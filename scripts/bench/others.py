"""Other programs with the same algorithms: NumPy, river, scikit-learn, Vowpal Wabbit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import vowpalwabbit
from river import linear_model, optim
from sklearn.linear_model import SGDClassifier

from omtl.data.streams import Tasks
from omtl.reference.transcriptions import rounds_of, transcription_of
from scripts.bench.ours import ETA, Play
from scripts.bench.turns import Contender

HUGE = 1e300
"""Stands for C = ∞ where a library takes finite numbers only."""


def in_numpy(ready: Play) -> Contender:
    """Return the plain NumPy transcription of a learner."""
    examples = ready.examples
    tasks = Tasks(examples.rows.X, examples.y, examples.task, ())
    rounds, labels = rounds_of(tasks, ready.stream), examples.y[ready.stream.example]

    def call() -> int:
        steps = transcription_of(ready.learner)(ready.learner, rounds, ready.shape)
        return sum(not y * step.score > 0.0 for y, step in zip(labels, steps, strict=True))

    return Contender("NumPy", ready.size, call, expected=ready.mistakes())


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

SKLEARN: dict[str, dict[str, Any]] = {
    "PA": {"loss": "hinge", "learning_rate": "pa1", "eta0": HUGE},
    "PA-I": {"loss": "hinge", "learning_rate": "pa1", "eta0": 0.5},
    "OGD": {"loss": "hinge", "learning_rate": "constant", "eta0": ETA},
    "PM": {"loss": "perceptron", "learning_rate": "constant", "eta0": ETA},
}


def as_dicts(X: np.ndarray) -> list[dict[Any, float]]:
    """Return rows as river takes them."""
    return [dict(enumerate(row)) for row in X.tolist()]


def river_play(rows: list[dict[Any, float]], labels: list[bool], model: Any) -> int:
    """Let a model of river predict, then learn, one example after the other."""
    wrong = 0
    for x, label in zip(rows, labels, strict=True):
        wrong += model.predict_one(x) != label
        model.learn_one(x, label)
    return wrong


def sklearn_play(X: np.ndarray, y: np.ndarray, model: SGDClassifier) -> int:
    """Let a model of scikit-learn predict, then learn, one example after the other."""
    wrong = 0
    for i in range(y.size):
        x, label = X[i : i + 1], y[i : i + 1]
        wrong += not label[0] * model.decision_function(x)[0] > 0.0
        model.partial_fit(x, label)
    return wrong


def vowpal_wabbit(X: np.ndarray, y: np.ndarray) -> Contender:
    """Return the learning of parsed examples by Vowpal Wabbit's documented method.

    It has no passive-aggressive learner: it descends the gradient of the hinge loss, which is a
    product and a step too, in numbers of 32 bits.
    """
    bits = max(10, int(np.ceil(np.log2(X.shape[1]))) + 1)

    def setup() -> tuple[Any, list[Any]]:
        model = vowpalwabbit.Workspace(
            f"--sgd --loss_function hinge --learning_rate {ETA} --power_t 0 --noconstant "
            f"--bit_precision {bits} --quiet --no_stdin"
        )
        lines = [
            f"{int(label)} | " + " ".join(f"{k}:{value:.9g}" for k, value in enumerate(row))
            for label, row in zip(y, X.tolist(), strict=True)
        ]
        return model, [model.parse(line) for line in lines]

    def call(model: Any, examples: list[Any]) -> None:
        for example in examples:
            model.learn(example)
            model.finish_example(example)
        model.finish()

    return Contender("Vowpal Wabbit", y.size, call, setup)


def in_libraries(name: str, ready: Play) -> list[Contender]:
    """Return the libraries that have a learner's algorithm, on the dense stream of a play."""
    order, expected = ready.stream.example, ready.mistakes()
    X, y = ready.examples.rows.X[order], ready.examples.y[order]
    found = []
    if name in RIVER:
        play = partial(river_play, as_dicts(X), (y > 0.0).tolist())
        found.append(Contender("river", y.size, play, lambda: (RIVER[name](),), expected))
    if name in SKLEARN:

        def setup() -> tuple[SGDClassifier]:
            model = SGDClassifier(penalty=None, fit_intercept=False, **SKLEARN[name])
            zeros = np.zeros((1, X.shape[1]))  # an example that sets up the weights
            return (model.partial_fit(zeros, y[:1], classes=[-1.0, 1.0]),)

        play = partial(sklearn_play, X, y)
        found.append(Contender("scikit-learn", y.size, play, setup, expected))
    if name in ("PA", "OGD"):
        found.append(vowpal_wabbit(X, y))
    return found
