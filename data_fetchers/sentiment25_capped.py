"""The reviews of `data_fetchers.sentiment25`, of each class of a domain no more than so many.

The labelled files of the collection hold at most 1,000 reviews of a class: those that
`data_fetchers.sentiment16` comes from have 900 negative and 1,000 positive ones of baby, and 1,000
of each of most domains. Here more of the negative ones are missing. Of 100 reviews that are drawn
of each domain 82 % are positive, and with at most 1,000 of a class 73 %.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from data_fetchers import sentiment25
from data_fetchers.sentiment25 import CITATION, FILES, LICENCE
from omtl.data.streams import Tasks, in_given_order

NAME = "sentiment25_capped"
FOLDER = "sentiment25"

__all__ = ["CITATION", "FILES", "FOLDER", "LICENCE", "NAME", "load"]


def load(
    *,
    home: Path | None = None,
    domains: Sequence[str] | None = None,
    value: str = "count",
    ngrams: int | Collection[int] = 1,
    most: int = 1000,
) -> Tasks:
    """Fetch the files if need be, and make a task of each domain.

    Parameters
    ----------
    home : Path, optional
        The folder of all data sets, as of `data_fetchers.fetch.fetch`.
    domains, value, ngrams
        As of `data_fetchers.sentiment25.load`.
    most : int
        So many reviews of a class of a domain are taken at most: its first ones.

    Returns
    -------
    Tasks
        X : csr_array of shape (n_reviews, n_features), with the features of all reviews.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        An option is wrong, or the files parse to other counts than they must.
    """
    tasks = sentiment25.load(home=home, domains=domains, value=value, ngrams=ngrams)
    of_class = [
        own[tasks.y[own] == label][:most] for own in in_given_order(tasks) for label in (-1.0, 1.0)
    ]
    return tasks.taken(np.sort(np.concatenate(of_class)))
