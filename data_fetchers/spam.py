"""Spam in 15 users' inboxes.

Task B of the ECML/PKDD 2006 discovery challenge: the labelled evaluation e-mails of 15 users, 400
each, half of them spam, as counts of words over one dictionary of 152,543. A task is an inbox; its
name is the challenge's, u00 to u14. Column j is the challenge's word number j + 1.

The file is a public MATLAB copy of all 15 inboxes. All its e-mails and labels equal those of the
challenge's own files in another public repository, from which those of task A are: three inboxes of
2,500 e-mails, over a larger dictionary of their own.

Licence: unstated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import (
    check_counts,
    checked_choices,
    joined_cells,
    matlab,
    sampled,
    selected,
    sizes,
    svmlight,
    weighted,
)
from omtl.data.streams import Tasks

NAME, LICENCE, CITATION, FILES = catalogued("spam", "bickel2006ecml")


def parse(content: bytes) -> Tasks:
    """Return all inboxes as tasks.

    Parameters
    ----------
    content : bytes
        The MATLAB file's: cells ``X`` and ``Y``, one per inbox; a label is 0, or 1 for spam.
    """
    held = matlab(content)
    inboxes = [sparse.csr_array(cell, dtype=np.float64) for cell in held["X"].ravel()]
    label, task = joined_cells(held["Y"])
    names = tuple(f"u{k:02}" for k in range(len(inboxes)))
    return Tasks(sparse.vstack(inboxes, "csr"), np.where(label == 1, 1.0, -1.0), task, names)


def parse_inboxes(contents: Sequence[bytes]) -> Tasks:
    """Return the inboxes of task A as tasks.

    Parameters
    ----------
    contents : sequence of bytes
        A file for each inbox: lines of a label, -1 or 1 for spam, and counts as ``word:count``.
    """
    X, label = svmlight(b"\n".join(contents))
    task = np.repeat(np.arange(len(contents)), [len(content.splitlines()) for content in contents])
    return Tasks(X, label, task, tuple(f"u{k:02}" for k in range(len(contents))))


def load(
    *,
    challenge: str = "task_b",
    users: Sequence[str] | None = None,
    value: str = "count",
    per_task: int | None = None,
    sample_seed: int | None = 0,
) -> Tasks:
    """Download the file if necessary, and make a task of each inbox.

    Parameters
    ----------
    challenge : {"task_b", "task_a"}
        Which inboxes: the 15 of task B, or the three of task A.
    users : sequence of str, optional
        The inboxes in the tasks' order, named u00 to u14, or u02; default: all.
    value : {"count", "presence", "frequency", "tfidf"}
        The entries, as in `data_fetchers._shared.weighted`.
    per_task : int, optional
        Number of examples to keep per task, drawn uniformly without replacement; default: all.
    sample_seed : int, optional
        Decides the draw; null for the first examples instead of a draw.

    Returns
    -------
    Tasks
        X : csr_array of shape (n_emails, 152543), or (n_emails, 106780) for task A. The rows of a
        task are in the file's order.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    checked_choices(NAME, "challenge", [challenge], ("task_b", "task_a"))
    if challenge == "task_b":
        where, emails = NAME, parse(fetched(NAME, FILES, "*.mat")[0])
    else:
        where, emails = f"{NAME}, task A", parse_inboxes(fetched(NAME, FILES, "task_a*"))
    X = sparse.csr_array(emails.X)
    words = {"words": X.shape[1], "words that occur": len(np.unique(X.indices)), "nonzeros": X.nnz}
    check_counts(where, words | sizes(emails, "e-mails", "spam"))
    inboxes = selected(emails, checked_choices(NAME, "users", users, emails.names))
    inboxes = replace(inboxes, X=weighted(NAME, sparse.csr_array(inboxes.X), value))
    return sampled(NAME, inboxes, per_task, sample_seed)
