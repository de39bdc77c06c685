"""Training, test and validation parts of many tasks, and areas under ROC curves on them."""

from __future__ import annotations

import numpy as np

from omtl.errors import UserError
from omtl.streams import Tasks


def _spread(y: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return an order of which the first n have the shares of the labels of the whole, rounded."""
    parts = [rng.permutation(np.flatnonzero(y == label)) for label in (1.0, -1.0)]
    first = int(np.rint(n * parts[0].size / y.size))
    # Rounding must not ask for more negatives than there are.
    first = max(first, n - parts[1].size)
    return np.concatenate(
        [parts[0][:first], parts[1][: n - first], parts[0][first:], parts[1][n - first :]]
    )


def split(
    tasks: Tasks, n_train: int, stratified: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test examples: `n_train` of each task, and all others.

    Parameters
    ----------
    tasks : Tasks
    n_train : int
        Number of training examples of each task.
    stratified : bool
        Whether a task's training examples have its share of positives, rounded; else they are
        drawn without regard to labels.
    rng : numpy.random.Generator

    Returns
    -------
    tuple of (ndarray, ndarray)
        Numbers of examples, int64, each part in the order of the tasks.

    Raises
    ------
    UserError
        If a task has too few examples to leave any for the test, or `n_train` is not positive.
    """
    if n_train < 1:
        raise UserError(f"protocol.n_train={n_train} must be a positive number")
    train, test = [], []
    for k, name in enumerate(tasks.names):
        own = np.flatnonzero(tasks.task == k)
        if own.size <= n_train:
            raise UserError(
                f"task {name!r} has {own.size} examples, of which protocol.n_train={n_train} "
                "leaves none for the test; ask for fewer"
            )
        y = tasks.y[own]
        order = _spread(y, n_train, rng) if stratified else rng.permutation(own.size)
        train.append(own[order[:n_train]])
        test.append(own[order[n_train:]])
    return np.concatenate(train), np.concatenate(test)


def folds(
    tasks: Tasks, train: np.ndarray, n_folds: int, stratified: bool, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the parts of a cross-validation: each task's examples are dealt to the folds.

    Parameters
    ----------
    tasks : Tasks
    train : ndarray of int64
        Numbers of the examples to deal.
    n_folds : int
        Number of folds.
    stratified : bool
        Whether each task's positives and negatives are dealt apart, so that the folds have equal
        numbers of each, give or take one.
    rng : numpy.random.Generator

    Returns
    -------
    list of tuple of (ndarray, ndarray)
        For each fold, the examples that are learnt from, and those that it holds out.

    Raises
    ------
    UserError
        If there are not two folds, or more than a task has examples.
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
        if stratified:
            order = order[np.argsort(tasks.y[train[order]], kind="stable")]
        fold[order] = np.arange(own.size) % n_folds
    return [(train[fold != f], train[fold == f]) for f in range(n_folds)]


def areas(scores: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int) -> np.ndarray:
    """Return the area under the ROC curve of each task, shape (n_tasks,).

    It is the share of pairs of a positive and a negative that the scores have in the right order,
    a tie counting half, from the sum of the positives' ranks. A task of one class has none: nan.

    Parameters
    ----------
    scores, y, task : ndarray of shape (n_examples,)
        Scores, which must be finite; labels, -1 or +1; tasks, from 0.
    n_tasks : int
        Number of tasks.
    """
    order = np.lexsort((scores, task))
    score, of = scores[order], task[order]
    fresh = np.ones(order.size, dtype=bool)
    fresh[1:] = (score[1:] != score[:-1]) | (of[1:] != of[:-1])
    start = np.flatnonzero(fresh)
    stop = np.append(start[1:], order.size)
    rank = np.repeat((start + stop + 1) / 2.0, stop - start)  # from 1, ties averaged
    n_all = np.bincount(of, minlength=n_tasks)
    rank -= (np.cumsum(n_all) - n_all)[of]
    positive = y[order] > 0.0
    n_positive = np.bincount(of[positive], minlength=n_tasks)
    total = np.bincount(of[positive], weights=rank[positive], minlength=n_tasks)
    pairs = n_positive * (n_all - n_positive)
    right = total - n_positive * (n_positive + 1) / 2.0
    return np.where(pairs > 0, right / np.maximum(pairs, 1), np.nan)
