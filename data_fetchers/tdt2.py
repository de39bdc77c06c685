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

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from data_fetchers._checks import chosen, expect_counts
from data_fetchers._matlab import matlab
from data_fetchers._sampling import in_tasks
from data_fetchers._words import weighted
from data_fetchers.fetch import RemoteFile, fetch, pinned
from omtl.data.streams import Tasks
from omtl.util.errors import UserError
from omtl.util.seeds import generator

NAME = "tdt2"
LICENCE = "unstated"
CITATION = """\
@article{cai2005document,
  author = {Cai, Deng and He, Xiaofei and Han, Jiawei},
  title = {Document Clustering Using Locality Preserving Indexing},
  journal = {IEEE Transactions on Knowledge and Data Engineering},
  volume = {17},
  number = {12},
  pages = {1624--1637},
  year = {2005}
}
"""

FILES: tuple[RemoteFile, ...] = (
    RemoteFile(
        "TDT2.mat",
        "077a9f839f7a56efe797c54de7a351f2a46e69161387aef76526aafe7d872576",
        2_694_157,
        (
            pinned(
                "jiangelle/Mat-data-time", "1125d509f310a11cdcc690e4d2c669ed453bb568", "TDT2.mat"
            ),
        ),
    ),
)

VALUES = ("count", "presence", "tfidf")
NEGATIVES = ("all", "balanced")
COUNTS = {"documents": 9394, "terms": 36_771, "nonzeros": 1_224_135, "days": 178}
DOCUMENTS_BY_CATEGORY = (
    *(1844, 1828, 1222, 811, 441, 407, 272, 238, 226, 167),
    *(160, 145, 141, 140, 131, 123, 123, 120, 104, 98),
    *(76, 74, 72, 71, 66, 65, 63, 58, 56, 52),
)
"""Number of documents in each category, from category 1 on."""


@dataclass(frozen=True)
class Documents:
    """Parsed documents, one per row of the file.

    Parameters
    ----------
    X : csr_array of shape (n_documents, n_terms), float64
        Number of occurrences of each term in each document, with sorted indices.
    category : ndarray of shape (n_documents,), int64
        The category of each document, from 1.
    day : ndarray of shape (n_documents,), int64
        The day of each document in 1998, as month · 100 + day.
    """

    X: sparse.csr_array
    category: np.ndarray
    day: np.ndarray


def parse(content: bytes) -> Documents:
    """Read the documents.

    Parameters
    ----------
    content : bytes
        The MATLAB file's: a matrix ``fea``, its last two columns the category and the day.

    Returns
    -------
    Documents
        The documents in the file's order.

    Raises
    ------
    UserError
        If the content has another format.
    """
    with matlab(NAME, content, "a matrix 'fea' of terms, category and day") as held:
        fea = sparse.csc_array(held["fea"], dtype=np.float64)
        X, appended = fea[:, :-2], fea[:, -2:].toarray().astype(np.int64)
        category, day = appended[:, 0], appended[:, 1]
    return Documents(X.tocsr(), category, day)


def one_against_all(
    category: np.ndarray,
    one: int,
    negatives: str = "all",
    sample_seed: int = 0,
    per_task: int | None = None,
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
    per_task : int, optional
        Maximum number of these examples, sampled without replacement: half of them positive if the
        negatives are balanced, any share otherwise; default: all.
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


@dataclass(frozen=True)
class Options:
    """The options of the data set.

    Parameters
    ----------
    categories : int, optional
        Number of categories that are tasks, the largest ones; default: all 30. Documents of the
        others are still negatives.
    negatives, sample_seed, per_task
        As in `one_against_all`.
    value : {"count", "presence", "tfidf"}
        Whether an entry is the number of occurrences of a term, or 1, or (1 + log count) ·
        log(N/n), where n of all N documents have the term. The last one follows Deng Cai's own
        script, except for its final normalisation of each document.
    """

    categories: int | None = None
    negatives: str = "all"
    sample_seed: int = 0
    value: str = "count"
    per_task: int | None = None


def load(options: Options, *, home: Path | None = None) -> Tasks:
    """Download the file if necessary, and make a task of each category.

    Parameters
    ----------
    options : Options
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.

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
    chosen(NAME, "negatives", [options.negatives], NEGATIVES)
    chosen(NAME, "value", [options.value], VALUES)
    n_all = len(DOCUMENTS_BY_CATEGORY)
    n_tasks = n_all if options.categories is None else options.categories
    if not 1 <= n_tasks <= n_all:
        raise UserError(f"{NAME}: categories must be 1 to {n_all}, not {options.categories}.")
    if options.per_task is not None and options.per_task < 2:
        raise UserError(f"{NAME}: per_task must be at least 2, not {options.per_task}.")

    documents = parse(fetch(NAME, FILES[0], home=home).read_bytes())
    by_category = enumerate(DOCUMENTS_BY_CATEGORY, start=1)
    expect_counts(NAME, COUNTS | _of_categories(by_category), _counts(documents))

    ones = range(1, n_tasks + 1)
    how = options.negatives, options.sample_seed, options.per_task
    rows = [one_against_all(documents.category, one, *how) for one in ones]
    order, task = in_tasks(rows)
    y = np.where(documents.category[order] == task + 1, 1.0, -1.0)
    X = weighted(documents.X, options.value)[order]
    return Tasks(X, y, task, tuple(f"category {one}" for one in ones))


def _counts(documents: Documents) -> dict[str, int]:
    numbers, sizes = np.unique(documents.category, return_counts=True)
    return {
        "documents": documents.X.shape[0],
        "terms": documents.X.shape[1],
        "nonzeros": documents.X.nnz,
        "days": len(np.unique(documents.day)),
    } | _of_categories(zip(numbers, sizes, strict=True))


def _of_categories(sizes: Iterable[tuple[int, int]]) -> dict[str, int]:
    return {f"documents of category {one}": int(n) for one, n in sizes}
