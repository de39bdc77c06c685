"""News stories of 1998 by the event they report: the NIST TDT2 corpus, one category against all.

Deng Cai's version: 9,394 documents, each in one of the 30 largest categories, with the number of
occurrences of 36,771 terms. Categories are numbered by size, starting with the largest. A task asks
whether a document is in a category. So a document is an example of several tasks, and its row is
repeated. With all other documents as negatives a task has 9,394 rows, and 30 tasks have 281,820
with 36.7 million nonzeros: 440 MB, 1.5 GB during preparation, and 440 MB more for each repeat
played at the same time.

The public copy used here has two more columns than Cai's: the category, and the day as month · 100
+ day. Cai's own address has the same documents in another file with another hash.

Licence: unstated; the corpus itself is the Linguistic Data Consortium's.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import check_counts, checked_choices, in_tasks, matlab, weighted
from omtl.data.streams import Tasks
from omtl.util.errors import UserError
from omtl.util.seeds import generator

NAME, LICENCE, CITATION, FILES = catalogued("tdt2", "cai2005document")

N_CATEGORIES = 30
NEGATIVES = ("all", "balanced")


def parse(content: bytes) -> tuple[sparse.csr_array, np.ndarray]:
    """Read the documents.

    Parameters
    ----------
    content : bytes
        The MATLAB file's: a matrix ``fea``, its last two columns the category and the day.

    Returns
    -------
    X : csr_array of shape (n_documents, n_terms), float64
        Number of occurrences of each term in each document, with sorted indices.
    category : ndarray of shape (n_documents,), int64
        The category of each document, from 1.
    """
    fea = sparse.csc_array(matlab(content)["fea"], dtype=np.float64)
    category = fea[:, -2:].toarray().astype(np.int64)[:, 0]
    return fea[:, :-2].tocsr(), category


def one_against_all(
    category: np.ndarray, one: int, negatives: str, sample_seed: int, per_task: int | None
) -> np.ndarray:
    """Return the rows of a category's task, in the file's order.

    Parameters
    ----------
    category : ndarray of shape (n_documents,), int64
        The category of each document.
    one : int
        The category whose documents are the positives.
    negatives : {"all", "balanced"}
        Whether all other documents are negatives, whatever their category, or as many as there are
        positives (all, if there are fewer), sampled without replacement.
    sample_seed : int
        Seed of the sample, separate for each category: the sample does not depend on the other
        tasks.
    per_task : int or None
        Maximum number of these examples, sampled without replacement: half of them positive if the
        negatives are balanced, any share otherwise; None for all.
    """
    positive = np.flatnonzero(category == one)
    negative = np.flatnonzero(category != one)
    if negatives == "balanced":
        rng = generator(sample_seed, of="negatives", dataset=NAME, category=one)
        negative = _some(negative, positive.size, rng)
    if per_task is not None:
        rng = generator(sample_seed, of="examples", dataset=NAME, category=one)
        if negatives == "balanced":
            positive = _some(positive, per_task - per_task // 2, rng)
            negative = _some(negative, per_task // 2, rng)
        else:
            return np.sort(_some(np.concatenate([positive, negative]), per_task, rng))
    return np.sort(np.concatenate([positive, negative]))


def _some(rows: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a sample of rows, all if there are no more than `size`."""
    return rng.choice(rows, size=min(size, rows.size), replace=False)


def load(
    *,
    categories: int | None = None,
    negatives: str = "all",
    sample_seed: int = 0,
    value: str = "count",
    per_task: int | None = None,
) -> Tasks:
    """Download the file if necessary, and make a task of each category.

    Parameters
    ----------
    categories : int, optional
        Number of categories that are tasks, the largest ones; default: all 30. Documents of the
        others are still negatives.
    negatives, sample_seed, per_task
        As in `one_against_all`.
    value : {"count", "presence", "frequency", "tfidf"}
        The entries, as in `data_fetchers._shared.weighted`. The last one follows Deng Cai's own
        script, except for its final normalisation of each document.

    Returns
    -------
    Tasks
        X : csr_array of shape (n_examples, 36771). The rows of a task are in the file's order, and
        a document's row occurs once in each of its tasks.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    checked_choices(NAME, "negatives", [negatives], NEGATIVES)
    n_tasks = N_CATEGORIES if categories is None else categories
    if not 1 <= n_tasks <= N_CATEGORIES:
        raise UserError(f"{NAME}: categories must be 1 to {N_CATEGORIES}, not {categories}.")
    if per_task is not None and per_task < 2:
        raise UserError(f"{NAME}: per_task must be at least 2, not {per_task}.")

    X, category = parse(fetched(NAME, FILES)[0])
    found = {"documents": X.shape[0], "terms": X.shape[1], "nonzeros": X.nnz}
    found |= {f"documents of category {k}": np.sum(category == k) for k in np.unique(category)}
    check_counts(NAME, found)

    ones = range(1, n_tasks + 1)
    rows = [one_against_all(category, one, negatives, sample_seed, per_task) for one in ones]
    order, task = in_tasks(rows)
    y = np.where(category[order] == task + 1, 1.0, -1.0)
    return Tasks(weighted(NAME, X, value)[order], y, task, tuple(f"category {k}" for k in ones))
