"""Reviews of eight kinds of Amazon's products, including "other" (OMTL paper, section 5.1).

The paper's tasks are apparel, books, DVD, electronics, kitchen, music, video and other, with some
73,000 training reviews. These are the 52,447 reviews of `data_fetchers.sentiment25`; the task
"other" has all reviews outside the seven kinds.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from data_fetchers import sentiment25
from data_fetchers.sentiment25 import CITATION, FILES, LICENCE
from omtl.data.streams import Tasks

NAME = "sentiment8"
FOLDER = "sentiment25"
KINDS = ("apparel", "books", "dvd", "electronics", "kitchen_housewares", "music", "video")

__all__ = ["CITATION", "FILES", "FOLDER", "LICENCE", "NAME", "load"]


def load(*, home: Path | None = None, value: str = "count") -> Tasks:
    """Download the files if necessary, and make a task of each kind.

    Parameters
    ----------
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.
    value : {"count", "presence"}
        Whether an entry is the number of occurrences in the review, or 1.

    Returns
    -------
    Tasks
        X : csr_array of shape (n_reviews, n_words).

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    of_each = sentiment25.load(home=home, domains=tuple(sentiment25.REVIEWS), value=value)
    number = [KINDS.index(name) if name in KINDS else len(KINDS) for name in of_each.names]
    return replace(of_each, task=np.array(number)[of_each.task], names=(*KINDS, "other"))
