"""What data sets share: checks of options, readers of files, texts, and tasks of examples.

Files are verified by their hashes before they are read, and what is read by its counts, so that
readers need not check the form of a file.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from data_fetchers._catalogue import check_counts
from omtl.data.streams import RealTasks, Tasks, in_given_order
from omtl.util.errors import UserError

Choice = TypeVar("Choice")
SomeTasks = TypeVar("SomeTasks", bound=Tasks)


def checked_choices(
    where: str, what: str, given: Iterable[Choice] | None, known: Collection[Choice]
) -> tuple[Choice, ...]:
    """Return the given choices, after checking that they are known, distinct and not empty.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    what : str
        What is chosen, as a plural, for the message.
    given : iterable, optional
        The choices; default: all.
    known : collection
        The possible choices.

    Raises
    ------
    UserError
        If a choice is unknown or repeated, or there is none.
    """
    choices = tuple(known if given is None else given)
    unknown = [choice for choice in choices if choice not in known]
    if unknown or not choices or len(set(choices)) != len(choices):
        fault = f"{unknown[0]!r} is not among" if unknown else "choose one or more, each once, of"
        raise UserError(f"{where}: {what}: {fault} {', '.join(map(str, known))}.")
    return choices


def matlab(content: bytes) -> dict[str, Any]:
    """Return the variables of a MATLAB file."""
    from scipy.io import loadmat  # it loads slowly

    return loadmat(io.BytesIO(content))


def joined_cells(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of all cells of a MATLAB file, and the index of each one's cell."""
    return in_tasks([cell.ravel() for cell in cells.ravel()])


MEANS = ("all", "task")


def in_tasks(values: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of all tasks, one task after the other, and the task of each."""
    return np.concatenate(values), np.repeat(np.arange(len(values)), [*map(len, values)])


def selected(tasks: SomeTasks, names: Sequence[str]) -> SomeTasks:
    """Return the tasks with these names, in this order."""
    own = dict(zip(tasks.names, in_given_order(tasks), strict=True))
    order, task = in_tasks([own[name] for name in names])
    return replace(tasks.taken(order), task=task, names=tuple(names))


def sizes(tasks: Tasks, what: str = "examples", positive: str = "positive") -> dict[str, int]:
    """Return the number of each task's examples, and of those with label +1."""
    return {
        f"{name}: {kind}": int(count)
        for name, own in zip(tasks.names, in_given_order(tasks), strict=True)
        for kind, count in ((what, own.size), (positive, np.sum(tasks.y[own] > 0)))
    }


def sampled(
    where: str, tasks: Tasks, per_task: int | None, seed: int | None, positives: float | None = None
) -> Tasks:
    """Return the tasks with a fixed number of examples each.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    tasks : Tasks
    per_task : int, optional
        Number of examples to keep per task, in their order; default: all.
    seed : int, optional
        Seed of a draw without replacement, task by task; None for the first examples of each task.
    positives : float, optional
        Share of the kept examples with label +1, each class by itself; default: as they come.

    Raises
    ------
    UserError
        If a task has too few examples.
    """
    if per_task is None:
        return tasks
    rng = None if seed is None else np.random.default_rng(seed)
    kept = []
    for name, own in zip(tasks.names, in_given_order(tasks), strict=True):
        pools = [(own, per_task)]
        if positives is not None:
            n_positive, is_positive = round(positives * per_task), tasks.y[own] > 0
            pools = [(own[is_positive], n_positive), (own[~is_positive], per_task - n_positive)]
        for pool, wanted in pools:
            if not 0 <= wanted <= pool.size:
                raise UserError(
                    f"{where}: {name} has {pool.size} examples to take {wanted} from; set a "
                    "smaller per_task" + ("." if positives is None else ", or other positives.")
                )
        parts = [p[:n] if rng is None else rng.choice(p, n, replace=False) for p, n in pools]
        kept.append(np.sort(np.concatenate(parts)))
    return tasks.taken(np.concatenate(kept))


def above_mean(where: str, real: RealTasks, mean_of: str | None, n_tasks: int | None) -> Tasks:
    """Return the first tasks, with classes instead of targets if a mean is given.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    real : RealTasks
    mean_of : {"all", "task"}, optional
        The label is +1 if the target is above the mean of all targets or of the task's own;
        default: the targets stay.
    n_tasks : int, optional
        Number of tasks to keep, the first ones; default: all.

    Raises
    ------
    UserError
        If an option has another value.
    """
    if n_tasks is not None:
        checked_choices(where, "n_tasks", [n_tasks], range(1, len(real.names) + 1))
    kept = selected(real, real.names[:n_tasks])
    if mean_of is None:
        return kept
    checked_choices(where, "above_mean_of", [mean_of], MEANS)
    means = np.bincount(real.task, weights=real.y) / np.bincount(real.task)
    mean = real.y.mean() if mean_of == "all" else means[kept.task]
    return Tasks(kept.X, np.where(kept.y > mean, 1.0, -1.0), kept.task, kept.names)


Review = tuple[str | Mapping[str, int], float]
"""A tokenised text, or how often each of its features occurs, and the label."""

VALUES = ("count", "presence", "frequency", "tfidf")


def canonical(X: sparse.csr_matrix | sparse.csr_array) -> sparse.csr_array:
    """Return the rows with indices of 32 bits, ascending in each row."""
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    rows = sparse.csr_array((X.data, indices, indptr), shape=X.shape)
    rows.sort_indices()
    return rows


def weighted(where: str, counts: sparse.csr_array, value: str) -> sparse.csr_array:
    """Return the features of texts with other entries.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    counts : csr_array of shape (n_texts, n_words), float64
        Number of occurrences of each word in each text.
    value : {"count", "presence", "frequency", "tfidf"}
        Whether an entry is that count, or 1, or the word's share of the text's words, or
        (1 + log count) · log(N/n), where n of the N texts have the word.

    Raises
    ------
    UserError
        If `value` is none of these.
    """
    checked_choices(where, "value", [value], VALUES)
    data = counts.data
    if value == "presence":
        data = np.ones_like(data)
    elif value == "frequency":
        data = data / np.repeat(counts.sum(axis=1), np.diff(counts.indptr))
    elif value == "tfidf":
        n_texts = np.bincount(counts.indices, minlength=counts.shape[1])
        idf = np.log(counts.shape[0] / np.maximum(n_texts, 1))
        data = (1.0 + np.log(data)) * idf[counts.indices]
    return sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def most_common(where: str, X: sparse.csr_array, n: int) -> sparse.csr_array:
    """Return the `n` columns with the most nonzero rows, most common first; ties by index."""
    if n < 1:
        raise UserError(f"{where}: words={n} must be a positive number.")
    rows_with = np.bincount(X.indices, minlength=X.shape[1])
    return canonical(X[:, np.argsort(-rows_with, kind="stable")[:n]])


def on_components(where: str, X: np.ndarray | sparse.csr_array, n: int) -> np.ndarray:
    """Return the rows projected onto the first principal axes, shape (n_examples, n).

    The axes are those of the centred rows, but the projected rows are not centred. They are
    computed from the covariance matrix or the matrix of inner products, whichever is smaller.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    X : ndarray or csr_array of shape (n_examples, n_features)
    n : int
        Number of axes.

    Raises
    ------
    UserError
        If the rows do not vary along that many axes.
    """
    most = min(X.shape[0] - 1, X.shape[1])
    if not 1 <= n <= most:
        raise UserError(f"{where}: components={n} must be between 1 and {most}.")
    if X.shape[1] <= X.shape[0]:
        dense = X.toarray() if isinstance(X, sparse.csr_array) else X
        centred = dense - dense.mean(axis=0)
        _, axes = np.linalg.eigh(centred.T @ centred)
        return dense @ axes[:, ::-1][:, :n]
    products = X @ X.T
    inner = products.toarray() if isinstance(products, sparse.csr_array) else products
    onto_centred = inner - inner.mean(axis=1, keepdims=True)
    square, combinations = np.linalg.eigh(onto_centred - onto_centred.mean(axis=0))
    return onto_centred @ (combinations[:, ::-1][:, :n] / np.sqrt(square[::-1][:n]))


def svmlight(content: bytes) -> tuple[sparse.csr_array, np.ndarray]:
    """Return the rows and labels of a file in the form of svmlight, features numbered from 1."""
    from sklearn.datasets import load_svmlight_file  # it loads slowly

    X, label = load_svmlight_file(io.BytesIO(content), zero_based=False)
    return canonical(X), label


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not empty.

    `str.splitlines` would also split at characters that may occur within a line.
    """
    return [line for line in text.split("\n") if line]


def count_ngrams(text: str, lengths: Sequence[int]) -> Counter[str]:
    """Return how often each n-gram of a tokenised text occurs, its words joined by ``_``."""
    words, counts = text.split(), Counter[str]()
    for length in lengths:
        ngrams = zip(*(words[start:] for start in range(length)), strict=False)
        counts.update(map("_".join, ngrams))
    return counts


def rows_of_counts(counts: Sequence[Mapping[str, int]]) -> sparse.csr_array:
    """Return a row for each text: how often it has each feature of all, in the names' order."""
    column = {name: j for j, name in enumerate(sorted(set().union(*counts)))}
    indices = np.fromiter(map(column.__getitem__, chain.from_iterable(counts)), np.int64)
    data = np.fromiter(chain.from_iterable(one.values() for one in counts), np.float64)
    start = np.cumsum([0, *map(len, counts)])
    return canonical(sparse.csr_array((data, indices, start), shape=(len(counts), len(column))))


def review_tasks(
    where: str,
    reviews: Mapping[str, Sequence[Review]],
    value: str,
    ngrams: int | Collection[int],
) -> Tasks:
    """Return the tasks of reviews, after checking how many there are.

    Where a review's features are counted already, one with a ``_`` is a bigram. A few dozen have
    more than one, from words with a ``_`` of their own (``firmware_v3.0_20``); a unigram with a
    ``_`` is indistinguishable from a bigram.

    Parameters
    ----------
    where : str
        The data set's name.
    reviews : mapping of str to sequence of Review
        The reviews of each task.
    value : str
        As in `weighted`.
    ngrams : int or collection of int
        The lengths of the features, in words: 1, 2, or both.

    Raises
    ------
    UserError
        If there are other numbers of reviews than expected, or an option is wrong.
    """
    given = [ngrams] if isinstance(ngrams, int) else ngrams
    lengths = checked_choices(where, "ngrams", given, (1, 2))
    counts = [
        count_ngrams(text, lengths)
        if isinstance(text, str)
        else {name: n for name, n in text.items() if 1 + ("_" in name) in lengths}
        for own in reviews.values()
        for text, _ in own
    ]
    y, task = in_tasks([np.array([label for _, label in own]) for own in reviews.values()])
    tasks = Tasks(weighted(where, rows_of_counts(counts), value), y, task, tuple(reviews))
    check_counts(where, sizes(tasks, "reviews"))
    return tasks
