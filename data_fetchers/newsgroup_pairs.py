"""Ten tasks: separate one newsgroup's messages from another's (OMTL paper, section 5.1).

The paper takes its ten tasks from Raina, Ng and Koller (2006), with 11,269 training and 7,505 test
messages: all of the version of 20 Newsgroups that is split by date. It does not say which
newsgroups are paired. These are LIBSVM's 15,935 messages of the same 20 newsgroups
(`data_fetchers.news20`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from data_fetchers._checks import chosen
from data_fetchers.news20 import CITATION, FILES, LICENCE, NEWSGROUPS, messages
from omtl.data.streams import Tasks

NAME = "newsgroup_pairs"
FOLDER = "news20"
PAIRINGS = {"far": (0, 10), "near": (0, 1)}

__all__ = ["CITATION", "FILES", "FOLDER", "LICENCE", "NAME", "load"]


def load(*, home: Path | None = None, pairing: str = "far") -> Tasks:
    """Download the file if necessary, and make a task of each pair.

    Parameters
    ----------
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.
    pairing : {"far", "near"}
        Whether newsgroup k, in LIBSVM's numbering, is paired with k + 10, or the first with the
        second, the third with the fourth, and so on.

    Returns
    -------
    Tasks
        X : csr_array of shape (15935, 62061), counts of words. +1 is the first of a pair.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    chosen(NAME, "pairing", [pairing], PAIRINGS)
    found = messages(home)
    number = found.label - 1
    if pairing == "far":
        task, first = number % 10, number < 10
        pairs = [(k, k + 10) for k in range(10)]
    else:
        task, first = number // 2, number % 2 == 0
        pairs = [(2 * k, 2 * k + 1) for k in range(10)]
    names = tuple(f"{NEWSGROUPS[a]} / {NEWSGROUPS[b]}" for a, b in pairs)
    return Tasks(found.X, np.where(first, 1.0, -1.0), task, names)
