"""Amazon reviews of four kinds of products, labelled by sentiment.

The multi-domain sentiment data set of Blitzer, Dredze and Pereira (2007), in its authors' processed
form (``processed_acl``): 2,000 labelled reviews of each of books, DVDs, electronics and kitchen
goods, half of them positive. A task is a domain. A line is a review: ``feature:count`` for each of
its unigrams and bigrams, the two words of a bigram joined by ``_``, and ``#label#:positive`` or
``#label#:negative`` at the end.

Licence: unstated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from data_fetchers._checks import by_name, chosen, expect_counts
from data_fetchers._files import listed
from data_fetchers._sampling import in_tasks
from data_fetchers._words import VALUES, lengths, lines, weighted
from data_fetchers.fetch import Archive, RemoteFile, fetch, pinned
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME = "sentiment"
LICENCE = "unstated"
CITATION = """\
@inproceedings{blitzer2007biographies,
  author = {Blitzer, John and Dredze, Mark and Pereira, Fernando},
  title = {Biographies, {Bollywood}, Boom-boxes and Blenders: Domain Adaptation for Sentiment
           Classification},
  booktitle = {Proceedings of the 45th Annual Meeting of the Association of Computational
               Linguistics},
  pages = {440--447},
  year = {2007}
}
"""

# The archive is the canonical origin, but reading a file in it means reading everything before it,
# mostly the unlabelled reviews; so the public copy comes first, with the archive as a fallback.
_ARCHIVE = "https://www.cs.jhu.edu/~mdredze/datasets/sentiment/processed_acl.tar.gz"
_COMMIT = "9ec5348a0cd608863ef3bf9ee5d1c4c57baf81c8"
FILES: tuple[RemoteFile, ...] = listed(
    NAME,
    lambda path: pinned("RyosukeOzaki/Logistic-Regression", _COMMIT, path),
    lambda path: Archive(_ARCHIVE, path),
)

DOMAINS = ("books", "dvd", "electronics", "kitchen")
NUMBERINGS = ("shared", "by_domain")
LABELS = {"negative": -1.0, "positive": 1.0}
COUNTS = {
    "books: positive": 1000,
    "books: negative": 1000,
    "books: features": 195_887,
    "dvd: positive": 1000,
    "dvd: negative": 1000,
    "dvd: features": 188_778,
    "electronics: positive": 1000,
    "electronics: negative": 1000,
    "electronics: features": 111_407,
    "kitchen: positive": 1000,
    "kitchen: negative": 1000,
    "kitchen: features": 93_474,
    "unigrams": 57_163,
    "bigrams": 416_693,
    "features in 2 or more reviews": 115_700,
}
"""Expected counts over the four domains."""


@dataclass(frozen=True)
class Reviews:
    """Parsed reviews.

    Parameters
    ----------
    X : csr_array of shape (n_reviews, n_features), float64
        Number of occurrences of each feature in each review, with sorted indices.
    y : ndarray of shape (n_reviews,), float64
        Labels, -1 or +1.
    text : ndarray of shape (n_reviews,), int64
        The index of each review's text.
    features : tuple of str
        The columns' names, sorted.
    """

    X: sparse.csr_array
    y: np.ndarray
    text: np.ndarray
    features: tuple[str, ...]

    def words(self) -> np.ndarray:
        """Return the number of words of each feature, 1 or 2, shape (n_features,).

        A feature with a ``_`` is a bigram. A few dozen have more than one, from words with a ``_``
        of their own (``firmware_v3.0_20``); a unigram with a ``_`` is indistinguishable from a
        bigram.
        """
        return 1 + np.array(["_" in feature for feature in self.features], dtype=np.int64)


def parse(texts: Iterable[str]) -> Reviews:
    """Read reviews, one per line.

    Parameters
    ----------
    texts : iterable of str
        Contents of ``.review`` files.

    Returns
    -------
    Reviews
        The reviews in the texts' order, over the features of all of them.

    Raises
    ------
    UserError
        If a line has another format.
    """
    columns: dict[str, int] = {}
    entries: list[int] = []
    counts: list[int] = []
    ends = [0]
    labels: list[float] = []
    sources: list[int] = []
    for number, text in enumerate(texts):
        for at, line in lines(text):
            *pairs, last = line.split(" ")
            try:
                for pair in pairs:
                    feature, count = pair.rsplit(":", 1)
                    entries.append(columns.setdefault(feature, len(columns)))
                    counts.append(int(count))
                labels.append(LABELS[last.removeprefix("#label#:")])
            except (ValueError, KeyError) as fault:
                raise UserError(
                    f"{NAME}: line {at} of file {number + 1} is not 'feature:count ... "
                    f"#label#:positive' or '... negative': {line[:60]!r}."
                ) from fault
            ends.append(len(entries))
            sources.append(number)
    features = tuple(sorted(columns))
    rank = np.empty(len(columns), dtype=np.int32)
    rank[[columns[feature] for feature in features]] = np.arange(len(columns), dtype=np.int32)
    X = sparse.csr_array(
        (np.array(counts, dtype=np.float64), rank[entries], np.array(ends, dtype=np.int32)),
        shape=(len(labels), len(features)),
    )
    X.sum_duplicates()
    return Reviews(X, np.array(labels), np.array(sources, dtype=np.int64), features)


@dataclass(frozen=True)
class Options:
    """The options of the data set.

    Parameters
    ----------
    domains : sequence of str, optional
        The domains, in the tasks' order; else all, in the order of ``DOMAINS``.
    value : {"count", "presence"}
        Whether an entry is the number of occurrences in the review, or 1.
    min_reviews : int
        Keep features that occur in at least this many reviews of these domains.
    ngrams : int or collection of int
        The lengths of the features to keep, in words: 1 for unigrams, 2 for bigrams, or both.
    numbering : {"shared", "by_domain"}
        Whether a column is the same feature in all domains, or each domain numbers its own features
        from 0 in order of first appearance, so that a column means a different feature in each.
    """

    domains: Sequence[str] | None = None
    value: str = "count"
    min_reviews: int = 1
    ngrams: int | Collection[int] = (1, 2)
    numbering: str = "shared"


def load(options: Options, *, home: Path | None = None) -> Tasks:
    """Download the files if necessary, and make a task of each domain.

    Parameters
    ----------
    options : Options
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.

    Returns
    -------
    Tasks
        X : csr_array of shape (n_reviews, n_features), a column for each kept feature, sorted by
        name unless each domain numbers its own. The rows of a task are its negative reviews and
        then its positive ones, as the files have them.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    names = chosen(NAME, "domains", options.domains, DOMAINS)
    chosen(NAME, "value", [options.value], VALUES)
    chosen(NAME, "numbering", [options.numbering], NUMBERINGS)
    kept = lengths(NAME, options.ngrams)
    if options.min_reviews < 1:
        raise UserError(f"{NAME}: min_reviews must be 1 or more, not {options.min_reviews}.")

    paths = [fetch(NAME, file, home=home) for file in FILES]
    reviews = parse(path.read_bytes().decode() for path in paths)
    domain = np.array([path.parent.name for path in paths])[reviews.text]
    words = reviews.words()
    expect_counts(NAME, COUNTS, _counts(reviews, domain, words))

    order, task = in_tasks([np.flatnonzero(domain == name) for name in names])
    X = reviews.X[order]
    n_reviews = np.bincount(X.indices, minlength=X.shape[1])
    X = X[:, np.flatnonzero((n_reviews >= options.min_reviews) & np.isin(words, kept))]
    X = weighted(X, options.value)
    X.sort_indices()
    if options.numbering == "by_domain":
        X = _renumbered(X, np.flatnonzero(np.diff(task)) + 1)
    return Tasks(X, reviews.y[order], task, names)


def _renumbered(X: sparse.csr_array, starts: np.ndarray) -> sparse.csr_array:
    """Return the rows, with each part's columns numbered in order of first appearance.

    Parameters
    ----------
    X : csr_array
    starts : ndarray of int
        The first row of each part but the first.
    """
    numbers = []
    for own in np.split(X.indices, X.indptr[starts]):
        _, first, same = np.unique(own, return_index=True, return_inverse=True)
        numbers.append(np.argsort(np.argsort(first))[same].astype(np.int32))
    indices = np.concatenate(numbers)
    shape = (X.shape[0], int(indices.max(initial=-1)) + 1)
    renumbered = sparse.csr_array((X.data, indices, X.indptr), shape=shape)
    renumbered.sort_indices()
    return renumbered


def _counts(reviews: Reviews, domain: np.ndarray, words: np.ndarray) -> dict[str, int]:
    of_domain = {}
    for name in DOMAINS:
        here = domain == name
        n_positive = np.sum(reviews.y[here] > 0)
        n_features = len(np.unique(reviews.X[here].indices))
        of_domain[name] = (n_positive, np.sum(here) - n_positive, n_features)
    n_reviews = np.bincount(reviews.X.indices, minlength=len(words))
    return by_name(of_domain, "positive", "negative", "features") | {
        "unigrams": int(np.sum(words == 1)),
        "bigrams": int(np.sum(words == 2)),
        "features in 2 or more reviews": int(np.sum(n_reviews >= 2)),
    }
