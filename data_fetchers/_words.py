"""Texts as counts of their words, weights of these counts, and reviews as tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from scipy import sparse

from data_fetchers._checks import by_name, chosen, expect_counts
from data_fetchers._sampling import sizes
from omtl.data.streams import Tasks

VALUES = ("count", "presence")


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers, from 1."""
    # Not splitlines: it also splits at characters that may occur within a line.
    return enumerate(text.removesuffix("\n").split("\n"), start=1)


def lengths(where: str, ngrams: int | Collection[int]) -> tuple[int, ...]:
    """Return the lengths of the features of texts, in words: 1, 2, or both.

    Raises
    ------
    UserError
        If there are others.
    """
    return chosen(where, "ngrams", [ngrams] if isinstance(ngrams, int) else ngrams, (1, 2))


def bag_of_words(texts: Sequence[Sequence[str]], ngrams: Sequence[int]) -> sparse.csr_array:
    """Return the counts of the words of tokenised texts.

    Parameters
    ----------
    texts : sequence of sequence of str
        The tokens of each text.
    ngrams : sequence of int
        The lengths of the features, in words.

    Returns
    -------
    csr_array of shape (n_texts, n_features)
        One column per feature, sorted by name.
    """
    counted = [
        Counter(
            "_".join(words)
            for length in ngrams
            for words in zip(*(text[start:] for start in range(length)), strict=False)
        )
        for text in texts
    ]
    column = {name: k for k, name in enumerate(sorted(set().union(*counted)))}
    X = sparse.csr_array(
        (
            np.array([n for one in counted for n in one.values()], dtype=np.float64),
            np.array([column[name] for one in counted for name in one], dtype=np.int32),
            np.cumsum([0, *map(len, counted)], dtype=np.int32),
        ),
        shape=(len(counted), len(column)),
    )
    X.sort_indices()
    return X


def weighted(counts: sparse.csr_array, value: str) -> sparse.csr_array:
    """Return the features of texts.

    Parameters
    ----------
    counts : csr_array of shape (n_texts, n_words), float64
        Number of occurrences of each word in each text.
    value : {"count", "presence", "frequency", "tfidf"}
        Whether an entry is that count, or 1, or the word's share of the text's words, or
        (1 + log count) · log(N/n), where n of the N texts have the word.
    """
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


def review_tasks(
    where: str,
    reviews: Mapping[str, Collection[tuple[str, float]]],
    expected: Mapping[str, tuple[int, int]],
    ngrams: Sequence[int],
    value: str,
) -> Tasks:
    """Return the tasks of tokenised reviews, after checking their numbers.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    reviews : mapping of str to collection of (str, float)
        The text and the label of each review of each task.
    expected : mapping of str to (int, int)
        Numbers of negative and positive reviews of each task, and of others.
    ngrams, value
        As in `bag_of_words` and `weighted`.

    Raises
    ------
    UserError
        If there are other numbers of reviews.
    """
    texts, labels = zip(*(one for own in reviews.values() for one in own), strict=True)
    task = np.repeat(np.arange(len(reviews)), [len(own) for own in reviews.values()])
    X = weighted(bag_of_words([text.split() for text in texts], ngrams), value)
    tasks = Tasks(X, np.array(labels), task, tuple(reviews))
    found = [(n - n_positive, n_positive) for n, n_positive in sizes(tasks)]
    expect_counts(
        where,
        by_name({name: expected[name] for name in reviews}, "negative", "positive"),
        by_name(dict(zip(reviews, found, strict=True)), "negative", "positive"),
    )
    return tasks
