"""The first e-mails of each inbox of `data_fetchers.spam`, instead of a uniform sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from data_fetchers import spam
from data_fetchers._sampling import first
from data_fetchers.spam import CITATION, FILES, LICENCE
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME = "spam_first"
FOLDER = "spam"

__all__ = ["CITATION", "FILES", "FOLDER", "LICENCE", "NAME", "load"]


def load(
    *,
    home: Path | None = None,
    users: Sequence[str] | None = None,
    value: str = "count",
    per_task: int = 200,
    sample_seed: None = None,
) -> Tasks:
    """Download the file if necessary, and make a task of each inbox.

    Parameters
    ----------
    home, users, value
        As of `data_fetchers.spam.load`.
    per_task : int
        Number of examples to keep per task: the first of the file.
    sample_seed : None
        Nothing is drawn here; the option is that of `data_fetchers.spam.load`.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    if sample_seed is not None:
        raise UserError(f"{NAME}: sample_seed={sample_seed}: nothing is drawn; set it to null")
    return first(NAME, spam.load(home=home, users=users, value=value), per_task)
