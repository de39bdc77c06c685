"""Training, test and validation parts of many tasks, and areas under ROC curves on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from omtl.data.streams import Tasks, in_given_order
from omtl.util.errors import UserError, choose

SAMPLINGS = ("plain", "stratified", "balanced")
"""The ways to draw training examples."""


def _positives(n_train: int, n_positive: int, n_negative: int, sampling: str) -> int:
    """Return the number of positive training examples of a task."""
    if sampling == "stratified":
        wanted = int(np.rint(n_train * n_positive / (n_positive + n_negative)))
    else:
        few = min(n_train // 2, n_positive // 2, n_negative // 2)
        wanted = few if n_positive <= n_negative else n_train - few
    # Rounding must not require more of a class than exist.
    return min(max(wanted, n_train - n_negative), n_positive)


def _spread(y: np.ndarray, n: int, sampling: str, rng: np.random.Generator) -> np.ndarray:
    """Return an order whose first n examples have the labels that the sampling requires."""
    positive, negative = (rng.permutation(np.flatnonzero(y == label)) for label in (1.0, -1.0))
    first = _positives(n, positive.size, negative.size, sampling)
    return np.concatenate(
        [positive[:first], negative[: n - first], positive[first:], negative[n - first :]]
    )


def split(
    tasks: Tasks, n_train: int, sampling: str, rng: np.random.Generator, asked: str = "n_train"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test examples: `n_train` of each task, and all others.

    Parameters
    ----------
    tasks : Tasks
    n_train : int
        Number of training examples of each task.
    sampling : {"plain", "stratified", "balanced"}
        Whether a task's training examples are drawn without regard to labels, have the task's share
        of positives, rounded, or are half positive and half negative; a class of fewer than
        `n_train` examples then gives half of them, and the other class the rest.
    rng : numpy.random.Generator
    asked : str
        The protocol's setting that gives the number, for the message.

    Returns
    -------
    tuple of (ndarray, ndarray)
        Indices of examples, int64, each part in the order of the tasks.

    Raises
    ------
    UserError
        If a task has too few examples to leave any for the test, or the sampling is not known.
    """
    choose("protocol.sampling", sampling, SAMPLINGS)
    train, test = [], []
    for name, own in zip(tasks.names, in_given_order(tasks), strict=True):
        if own.size <= n_train:
            raise UserError(
                f"task {name!r} has {own.size} examples, of which protocol.{asked}={n_train} "
                "leaves none for the test; ask for fewer"
            )
        y = tasks.y[own]
        order = (
            rng.permutation(own.size) if sampling == "plain" else _spread(y, n_train, sampling, rng)
        )
        train.append(own[order[:n_train]])
        test.append(own[order[n_train:]])
    return np.concatenate(train), np.concatenate(test)


def folds(
    tasks: Tasks, train: np.ndarray, n_folds: int, sampling: str, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the parts of a cross-validation: each task's examples are divided among the folds.

    Parameters
    ----------
    tasks : Tasks
    train : ndarray of int64
        Indices of the examples to divide.
    n_folds : int
        Number of folds.
    sampling : {"plain", "stratified", "balanced"}
        Unless it is "plain", each task's positives and negatives are divided separately, so that
        the folds have equal numbers of each, give or take one.
    rng : numpy.random.Generator

    Returns
    -------
    list of tuple of (ndarray, ndarray)
        For each fold, the training examples and the held-out ones.

    Raises
    ------
    UserError
        If there are fewer than two folds, or more folds than a task has examples.
    """
    counts = np.bincount(tasks.task[train], minlength=len(tasks.names))
    if not 2 <= n_folds <= counts.min():
        raise UserError(
            f"protocol.folds={n_folds} must be at least 2 and at most the {counts.min()} training "
            "examples of the smallest task"
        )
    fold = np.empty(train.size, dtype=np.int64)
    for k in range(len(tasks.names)):
        own = np.flatnonzero(tasks.task[train] == k)
        order = own[rng.permutation(own.size)]
        if sampling != "plain":
            order = order[np.argsort(tasks.y[train[order]], kind="stable")]
        fold[order] = np.arange(own.size) % n_folds
    return [(train[fold != f], train[fold == f]) for f in range(n_folds)]


def split_and_folds(
    tasks: Tasks, protocol: Mapping[str, Any], rng: Callable[..., np.random.Generator]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the split of a repeat, and the parts of its cross-validation if there is one.

    Parameters
    ----------
    tasks : Tasks
    protocol : mapping
        With `n_train` and `sampling` of `split`, and the number of `folds`, 0 for none.
    rng : callable
        As in `omtl.protocols.setting.Setting`.
    """
    sampling, n_folds = protocol["sampling"], protocol["folds"]
    train, test = split(tasks, protocol["n_train"], sampling, rng("split"))
    parts = [(train, test)]
    if n_folds:
        parts += folds(tasks, train, n_folds, sampling, rng("folds"))
    return parts


def areas(scores: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int) -> np.ndarray:
    """Return the area under the ROC curve of each task, shape (n_tasks,).

    It is the share of pairs of a positive and a negative whose scores are in the right order, with
    ties counting half. A task with a single class gives nan.

    Parameters
    ----------
    scores, y, task : ndarray of shape (n_examples,)
        Scores, which must be finite; labels, -1 or +1; tasks, from 0.
    n_tasks : int
        Number of tasks.
    """
    found = np.full(n_tasks, np.nan)
    for k in range(n_tasks):
        own, is_positive = scores[task == k], y[task == k] > 0.0
        positives, negatives = own[is_positive], np.sort(own[~is_positive])
        if pairs := positives.size * negatives.size:
            below, at_most = (
                np.searchsorted(negatives, positives, side).sum() for side in ("left", "right")
            )
            found[k] = (below + at_most) / 2 / pairs
    return found
