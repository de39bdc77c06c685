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
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from data_fetchers._checks import by_name, chosen, expect_counts
from data_fetchers._matlab import joined_cells, matlab, signed
from data_fetchers._sampling import sampled, selected, sizes
from data_fetchers._words import weighted
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
COUNTED = ("e-mails", "spam", "nonzeros")
COUNTS = {"words": 152_543, "words that occur": 37_120}


def user_name(number: int) -> str:
    """Return the challenge's name of an inbox: 'u00' for 0."""
    return f"u{number:02}"


def parse(content: bytes) -> Tasks:
    """Return all inboxes as tasks.

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
        label, task = joined_cells(inboxes, held["Y"], "an inbox", "e-mails")
        X = sparse.vstack(inboxes, format="csr")
        return Tasks(X, signed(label), task, tuple(map(user_name, range(len(inboxes)))))


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
    names = chosen(NAME, "users", users, tuple(map(user_name, range(len(NONZEROS)))))
    chosen(NAME, "value", [value], VALUES)

    emails = parse(fetch(NAME, FILES[0], home=home).read_bytes())
    expected = {user_name(k): (*EMAILS_AND_SPAM, n) for k, n in enumerate(NONZEROS)}
    expect_counts(NAME, COUNTS | by_name(expected, *COUNTED), _counts(emails))

    inboxes = selected(emails, names)
    inboxes = replace(inboxes, X=weighted(sparse.csr_array(inboxes.X), value))
    return sampled(NAME, inboxes, per_task, sample_seed)


def _counts(emails: Tasks) -> dict[str, int]:
    X = sparse.csr_array(emails.X)
    nonzeros = np.bincount(emails.task, np.diff(X.indptr))
    rows = ((*pair, n) for pair, n in zip(sizes(emails), nonzeros, strict=True))
    words = {"words": X.shape[1], "words that occur": len(np.unique(X.indices))}
    return words | by_name(dict(zip(emails.names, rows, strict=True)), *COUNTED)
