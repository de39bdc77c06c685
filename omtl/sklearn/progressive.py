"""Test, then train, one example at a time, as a generator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from omtl.sklearn.base import MultiTaskClassifier


class ProgressiveStep(NamedTuple):
    """The outcome for one example.

    Parameters
    ----------
    prediction : label or None
        The class predicted before seeing the label; None for a score of 0.
    truth : label
    cumulative_error : float
        Wrong predictions so far, per hundred. As in the harness, no prediction counts as wrong.
    """

    prediction: Any
    truth: Any
    cumulative_error: float


def progressive_validation(
    estimator: MultiTaskClassifier, stream: Iterable[tuple[Any, ...]]
) -> Iterator[ProgressiveStep]:
    """Let an estimator predict each example of a stream, then learn from it.

    The errors are those of the harness on the same stream. Nothing is read ahead: an example is
    taken from the stream when its step is requested.

    Parameters
    ----------
    estimator : MultiTaskClassifier
        One whose stream has begun (`begin`, `partial_fit`); it learns.
    stream : iterable of tuple
        The arguments of `learn_one`: (x, y), (x, y, task) or (x, y, task, node).

    Yields
    ------
    ProgressiveStep
        Prediction, truth and running cumulative error, by example.

    Raises
    ------
    ValueError
        If an example does not fit.
    NotFittedError
        If the stream has not begun.

    Examples
    --------
    >>> import numpy as np
    >>> from omtl.sklearn import Perceptron, progressive_validation
    >>> model = Perceptron().begin(n_features=1, classes=["ham", "spam"], tasks=["ann", "bob"])
    >>> x = np.array([1.0])
    >>> stream = [(x, "spam", "ann"), (x, "spam", "bob"), (x, "spam", "ann")]
    >>> [(step.prediction, step.truth) for step in progressive_validation(model, stream)]
    [(None, 'spam'), (None, 'spam'), ('spam', 'spam')]
    """
    wrong = 0
    for seen, (x, y, *where) in enumerate(stream, start=1):
        score = estimator.learn_one(x, y, *where)
        prediction = estimator._stream.labels[score > 0.0] if abs(score) > 0.0 else None
        wrong += prediction != y
        yield ProgressiveStep(prediction, y, 100.0 * wrong / seen)
