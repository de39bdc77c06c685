"""Ranking examples by their similarity to a query: exact top k, and its quality.

With r_j = 1 if the example at rank j has the query's class, and 0 otherwise:

- AP@k, as the OMTRSL paper calls it, is the precision at k: the mean over all queries of
  (r_1 + … + r_k) / k;
- mAP@k is the mean over all queries of Σ_{j ≤ k} r_j (r_1 + … + r_j) / j, divided by a normaliser:
  the smaller of k and the number of relevant examples (``relevant``), or k (``length``).

An example is relevant if it has the query's class and may be ranked. Ranks without an example count
as misses. In ties, the first example has the better rank. What is not a number comes last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from omtl.util.errors import choose

QUERIES_AT_ONCE = 1024
"""Number of rows of similarities ranked together, which limits the memory."""

LOWEST = np.finfo(np.float64).min
"""What is not a number is ranked as this: before the query, which is not ranked at all."""

NORMALISERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "relevant": np.minimum,
    "length": lambda k, relevant: k,  # noqa: ARG005
}
"""Maps ranks k and numbers of relevant examples to the normaliser of mAP@k."""


class Quality(NamedTuple):
    """Precision and mean average precision at 1 to n_ranks, each of shape (n_ranks,)."""

    precision: np.ndarray
    average_precision: np.ndarray


def quality(
    similarities: Callable[[slice], np.ndarray],
    label: np.ndarray,
    n_ranks: int,
    with_query: bool = False,
    normaliser: str = "relevant",
) -> Quality:
    """Return the quality of rankings by similarity, with each example as a query.

    Parameters
    ----------
    similarities : callable
        From a slice of the examples to their similarities to all, shape (n_queries, n_examples).
    label : ndarray of shape (n_examples,)
        Classes.
    n_ranks : int
    with_query : bool
        Whether the query is among the ranked examples.
    normaliser : {"relevant", "length"}

    Raises
    ------
    UserError
        If the normaliser is unknown.
    """
    choose("protocol.normaliser", normaliser, NORMALISERS)
    n = label.size
    of_class = dict(zip(*np.unique(label, return_counts=True), strict=True))
    ranks = np.arange(1, n_ranks + 1)
    hits, sums = np.zeros(n_ranks), np.zeros(n_ranks)
    for start in range(0, n, QUERIES_AT_ONCE):
        part = slice(start, min(start + QUERIES_AT_ONCE, n))
        values = np.nan_to_num(similarities(part), nan=LOWEST, posinf=np.inf, neginf=LOWEST)
        if not with_query:
            values[np.arange(part.stop - part.start), np.arange(part.start, part.stop)] = -np.inf
        ranked = min(n_ranks, n if with_query else n - 1)
        right = np.zeros((len(values), n_ranks))
        best = np.argsort(-values, axis=1, kind="stable")[:, :ranked]
        right[:, :ranked] = label[best] == label[part, None]
        relevant = np.array([of_class[c] - (not with_query) for c in label[part]])[:, None]
        found = np.cumsum(right, axis=1)
        share = np.maximum(NORMALISERS[normaliser](ranks, relevant), 1)
        hits += found.sum(axis=0)
        sums += (np.cumsum(right * found / ranks, axis=1) / share).sum(axis=0)
    return Quality(hits / (n * ranks), sums / n)
