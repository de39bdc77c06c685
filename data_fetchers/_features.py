"""Texts: counts of words as matrices, their weights, fewer features; reviews as tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy import sparse

from data_fetchers._checks import check_counts, checked_choices
from data_fetchers._tasks import sizes
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

Review = tuple[Counter[str], float]
"""How often each feature occurs, and the label."""

VALUES = ("count", "presence", "frequency", "tfidf")


def canonical(X: sparse.csr_matrix) -> sparse.csr_array:
    """Return the rows with indices of 32 bits, ascending in each row."""
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    rows = sparse.csr_array((X.data, indices, indptr), shape=X.shape)
    rows.sort_indices()
    return rows


def count_matrix(texts: Sequence[Mapping[str, int]]) -> sparse.csr_array:
    """Return the features of texts as a matrix, one column per feature, sorted by name.

    Parameters
    ----------
    texts : sequence of mapping of str to int
        The number of occurrences of each of a text's features.

    Returns
    -------
    csr_array of shape (n_texts, n_features)
    """
    from sklearn.feature_extraction import DictVectorizer  # it loads slowly

    return canonical(DictVectorizer(dtype=np.float64).fit_transform(texts))


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
    kept = sparse.csr_array(X[:, np.argsort(-rows_with, kind="stable")[:n]])
    kept.sort_indices()
    return kept


def components(where: str, X: np.ndarray | sparse.csr_array, n: int) -> np.ndarray:
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


def ngram_lengths(where: str, ngrams: int | Collection[int]) -> tuple[int, ...]:
    """Return the lengths of the features, in words: 1, 2, or both.

    Raises
    ------
    UserError
        If there are others.
    """
    return checked_choices(where, "ngrams", [ngrams] if isinstance(ngrams, int) else ngrams, (1, 2))


def count_ngrams(text: str, lengths: Sequence[int]) -> Counter[str]:
    """Return how often each n-gram of a tokenised text occurs, its words joined by ``_``."""
    words = text.split()
    return Counter(
        "_".join(ngram)
        for length in lengths
        for ngram in zip(*(words[start:] for start in range(length)), strict=False)
    )


def review_tasks(where: str, reviews: Mapping[str, Sequence[Review]], value: str) -> Tasks:
    """Return the tasks of reviews, after checking how many there are.

    Parameters
    ----------
    where : str
        The data set's name.
    reviews : mapping of str to sequence of Review
        The reviews of each task.
    value : str
        As in `weighted`.

    Raises
    ------
    UserError
        If there are other numbers of reviews than expected, or `value` is unknown.
    """
    counts, labels = zip(*(review for own in reviews.values() for review in own), strict=True)
    task = np.repeat(np.arange(len(reviews)), [len(own) for own in reviews.values()])
    X = weighted(where, count_matrix(counts), value)
    tasks = Tasks(X, np.array(labels), task, tuple(reviews))
    check_counts(where, sizes(tasks, "reviews"))
    return tasks
