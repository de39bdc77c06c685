"""Reviews of products as tasks: one reader for all collections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from data_fetchers._checks import check_counts, checked_choices
from data_fetchers._features import count_matrix, weighted
from data_fetchers._tasks import sizes
from omtl.data.streams import Tasks

Review = tuple[Counter[str], float]
"""How often each feature occurs, and the label."""


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
        As in `data_fetchers._features.weighted`.

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
