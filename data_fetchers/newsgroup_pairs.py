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
PAIRINGS = {"far": np.arange(20).reshape(2, 10).T, "near": np.arange(20).reshape(10, 2)}
"""The newsgroups of each task, from 0."""

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
    pairs = PAIRINGS[pairing]
    task, side = np.divmod(np.argsort(pairs, axis=None)[found.label - 1], 2)
    names = tuple(f"{NEWSGROUPS[a]} / {NEWSGROUPS[b]}" for a, b in pairs)
    return Tasks(found.X, np.where(side == 0, 1.0, -1.0), task, names)
