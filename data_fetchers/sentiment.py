"""Amazon reviews of four kinds of products, labelled by sentiment.

The multi-domain sentiment data set of Blitzer, Dredze and Pereira (2007), in its authors' processed
form (``processed_acl``): 2,000 labelled reviews of each of books, DVDs, electronics and kitchen
goods, half of them positive. A task is a domain. A line is a review: ``feature:count`` for each of
its unigrams and bigrams, the two words of a bigram joined by ``_``, and ``#label#:positive`` or
``#label#:negative`` at the end.

Licence: unstated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import sparse

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import Review, canonical, checked_choices, lines_of, review_tasks
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME, LICENCE, CITATION, FILES = catalogued("sentiment", "blitzer2007biographies")
# The archive is the canonical origin, but reading a file in it means reading everything before it,
# mostly the unlabelled reviews; so the public copy comes first, with the archive as a fallback.

DOMAINS = ("books", "dvd", "electronics", "kitchen")
NUMBERINGS = ("shared", "by_domain")
LABELS = {"negative": -1.0, "positive": 1.0}


def parse(text: str) -> list[Review]:
    """Return the features and the label of each review of a ``.review`` file."""
    reviews: list[Review] = []
    for line in lines_of(text):
        *pairs, last = line.split(" ")
        counts: defaultdict[str, int] = defaultdict(int)
        for pair in pairs:
            feature, count = pair.rsplit(":", 1)
            counts[feature] += int(count)
        reviews.append((counts, LABELS[last.removeprefix("#label#:")]))
    return reviews


def load(
    *,
    domains: Sequence[str] | None = None,
    value: str = "count",
    min_reviews: int = 1,
    ngrams: int | Collection[int] = (1, 2),
    numbering: str = "shared",
) -> Tasks:
    """Download the files if necessary, and make a task of each domain.

    Parameters
    ----------
    domains : sequence of str, optional
        The domains, in the tasks' order; else all, in the order of ``DOMAINS``.
    value : {"count", "presence", "frequency", "tfidf"}
        The entries, as in `data_fetchers._shared.weighted`.
    min_reviews : int
        Keep features that occur in at least this many reviews of these domains.
    ngrams : int or collection of int
        The lengths of the features to keep, in words: 1 for unigrams, 2 for bigrams, or both.
    numbering : {"shared", "by_domain"}
        Whether a column is the same feature in all domains, or each domain numbers its own features
        from 0 in order of first appearance, so that a column means a different feature in each.

    Returns
    -------
    Tasks
        X : csr_array of shape (8000, 473856) for all domains and features, a column for each kept
        feature, sorted by name unless each domain numbers its own. The rows of a task are its
        negative reviews and then its positive ones, as the files have them.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    names = checked_choices(NAME, "domains", domains, DOMAINS)
    checked_choices(NAME, "numbering", [numbering], NUMBERINGS)
    if min_reviews < 1:
        raise UserError(f"{NAME}: min_reviews must be 1 or more, not {min_reviews}.")

    reviews = {
        name: parse(b"".join(fetched(NAME, FILES, f"*/{name}/*")).decode()) for name in names
    }
    tasks = review_tasks(NAME, reviews, value, ngrams)
    X = sparse.csr_array(tasks.X)
    n_reviews = np.bincount(X.indices, minlength=X.shape[1])
    X = canonical(X[:, np.flatnonzero(n_reviews >= min_reviews)])
    if numbering == "by_domain":
        X = _renumbered(X, np.flatnonzero(np.diff(tasks.task)) + 1)
    return replace(tasks, X=X)


def _renumbered(X: sparse.csr_array, starts: np.ndarray) -> sparse.csr_array:
    """Return the rows, with each part's columns numbered in order of first appearance.

    Parameters
    ----------
    X : csr_array
    starts : ndarray of int
        The first row of each part but the first.
    """
    parts = np.split(X.indices, X.indptr[starts])
    indices = np.concatenate([pd.factorize(own)[0] for own in parts])
    shape = (X.shape[0], int(indices.max(initial=-1)) + 1)
    return canonical(sparse.csr_array((X.data, indices, X.indptr), shape=shape))
