"""Spam in 15 users' inboxes.

Task B of the ECML/PKDD 2006 discovery challenge: the labelled evaluation e-mails of 15 users, 400
each, half of them spam, as counts of words over one dictionary of 152,543. A task is an inbox; its
name is the challenge's, u00 to u14. Column j is the challenge's word number j + 1.

The file is a public MATLAB copy of all 15 inboxes. All its e-mails and labels equal those of the
challenge's own files in another public repository.

Licence: unstated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from data_fetchers._checks import chosen, expect_counts
from data_fetchers._matlab import matlab, signed_cells
from data_fetchers._sampling import in_tasks, sampled
from data_fetchers.fetch import RemoteFile, fetch, pinned
from omtl.data.streams import Tasks

NAME = "spam"
LICENCE = "unstated"
CITATION = """\
@inproceedings{bickel2006ecml,
  author = {Bickel, Steffen},
  title = {{ECML-PKDD} Discovery Challenge 2006 Overview},
  booktitle = {Proceedings of the ECML-PKDD Discovery Challenge Workshop},
  pages = {1--9},
  year = {2006}
}
"""

FILES: tuple[RemoteFile, ...] = (
    RemoteFile(
        "emails.mat",
        "0f661cd1ad2d1cc54065c4526721a7b5f4374f7e08b3471509c04bc79fae0cce",
        2_042_021,
        (
            pinned(
                "JingxiXu/humble-peer-amtl",
                "d26ca787a4b5139653304f6e8a4e5df50f0d2b10",
                "emails.mat",
            ),
        ),
    ),
)

VALUES = ("count", "presence", "frequency")
EMAILS_AND_SPAM = (400, 200)
"""Number of e-mails per inbox, and number of these that are spam."""
NONZEROS = (
    *(64_116, 70_993, 79_747, 54_422, 39_293, 89_458, 53_040, 67_957),
    *(60_417, 61_244, 52_848, 61_104, 53_730, 68_005, 46_510),
)
"""Number of nonzeros of each inbox, from u00 on."""
COUNTS = {"words": 152_543, "words that occur": 37_120}


def user_name(number: int) -> str:
    """Return the challenge's name of an inbox: 'u00' for 0."""
    return f"u{number:02}"


@dataclass(frozen=True)
class Emails:
    """Parsed e-mails, in the order of their inboxes.

    Parameters
    ----------
    X : csr_array of shape (n_emails, n_words), float64
        Number of occurrences of each word in each e-mail, with sorted indices.
    y : ndarray of shape (n_emails,), float64
        +1 for spam, -1 for other e-mails.
    user : ndarray of shape (n_emails,), int64
        The inbox of each e-mail, from 0.
    """

    X: sparse.csr_array
    y: np.ndarray
    user: np.ndarray


def parse(content: bytes) -> Emails:
    """Read the inboxes.

    Parameters
    ----------
    content : bytes
        The MATLAB file's: cells ``X`` and ``Y``, one per inbox; a label is 0, or 1 for spam.

    Raises
    ------
    UserError
        If the content has another format.
    """
    with matlab(NAME, content, "cells 'X' and 'Y', one an inbox") as held:
        inboxes = [sparse.csr_array(cell, dtype=np.float64) for cell in held["X"].ravel()]
        y, user = signed_cells(inboxes, held["Y"], "an inbox", "e-mails")
        X = sparse.vstack(inboxes, format="csr")
    return Emails(X, y, user)


def load(
    *,
    home: Path | None = None,
    users: Sequence[str] | None = None,
    value: str = "count",
    per_task: int | None = None,
    sample_seed: int = 0,
) -> Tasks:
    """Download the file if necessary, and make a task of each inbox.

    Parameters
    ----------
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.
    users : sequence of str, optional
        The inboxes in the tasks' order, named as by `user_name`; default: all 15.
    value : {"count", "presence", "frequency"}
        Whether an entry is the number of occurrences in the e-mail, 1, or the word's share of the
        e-mail's words.
    per_task : int, optional
        Number of examples to keep per task, drawn uniformly without replacement; default: all.
    sample_seed : int
        Decides the draw.

    Returns
    -------
    Tasks
        X : csr_array of shape (n_emails, 152543). The rows of a task are in the file's order.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    number = {user_name(user): user for user in range(len(NONZEROS))}
    names = chosen(NAME, "users", number if users is None else users, number)
    chosen(NAME, "value", [value], VALUES)

    emails = parse(fetch(NAME, FILES[0], home=home).read_bytes())
    expect_counts(NAME, _expected(), _counts(emails))

    rows = [np.flatnonzero(emails.user == number[name]) for name in names]
    order, task = in_tasks(rows)
    X = emails.X[order]
    if value == "presence":
        X.data = np.ones_like(X.data)
    elif value == "frequency":
        X.data = X.data / np.repeat(X.sum(axis=1), np.diff(X.indptr))
    return sampled(NAME, Tasks(X, emails.y[order], task, names), per_task, sample_seed)


def _expected() -> dict[str, int]:
    counts = dict(COUNTS)
    for user, nonzeros in enumerate(NONZEROS):
        name = user_name(user)
        counts[f"{name}: e-mails"], counts[f"{name}: spam"] = EMAILS_AND_SPAM
        counts[f"{name}: nonzeros"] = nonzeros
    return counts


def _counts(emails: Emails) -> dict[str, int]:
    counts = {"words": emails.X.shape[1], "words that occur": len(np.unique(emails.X.indices))}
    for user in np.unique(emails.user):
        here = emails.user == user
        name = user_name(int(user))
        counts[f"{name}: e-mails"] = int(np.sum(here))
        counts[f"{name}: spam"] = int(np.sum(here & (emails.y > 0)))
        counts[f"{name}: nonzeros"] = int(np.diff(emails.X.indptr)[here].sum())
    return counts
