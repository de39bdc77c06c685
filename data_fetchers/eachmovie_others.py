"""Film ratings of users of `data_fetchers.eachmovie` who rated more films than its tasks' users.

A task is one of 30 users drawn from the 1,781 with more than 200 ratings; its examples are 200 of
that user's films, also drawn. Features are the ratings of all other users with 200 or more.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from data_fetchers._checks import chosen, expect_counts
from data_fetchers.eachmovie import (
    CITATION,
    FILES,
    HIGHEST,
    LICENCE,
    N_USERS,
    RATED,
    joined,
    parse,
    tasks_of,
)
from data_fetchers.fetch import fetch
from omtl.data.streams import Tasks
from omtl.util.seeds import generator

NAME = "eachmovie_others"
FOLDER = "eachmovie"
COUNTS = {"users": 5055, "films": 1619, "users with more than 200 ratings": 1781}

__all__ = ["CITATION", "FILES", "FOLDER", "LICENCE", "NAME", "load"]


def load(*, home: Path | None = None, sample_seed: int = 0, like_from: int = 4) -> Tasks:
    """Download the files if necessary, and make a task of each of 30 users.

    Parameters
    ----------
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.
    sample_seed : int
        Seed for the choice of the users and of their films.
    like_from : int
        The lowest rating with the label +1, 2 to 6.

    Returns
    -------
    Tasks
        X : ndarray of shape (6000, 1783), a column for each other user with 200 ratings or more; a
        missing rating is 0. Users and films are in the files' order.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        An option is wrong, the package rdata is not installed, or the parsed counts are not as
        expected.
    """
    chosen(NAME, "like_from", [like_from], range(2, HIGHEST + 1))
    ratings = joined([parse(fetch(FOLDER, file, home=home).read_bytes()) for file in FILES])
    score = ratings.score
    n_rated = np.count_nonzero(score, axis=1)
    many = np.flatnonzero(n_rated > RATED)
    found = dict(zip(COUNTS, (*score.shape, many.size), strict=True))
    expect_counts(NAME, COUNTS, found)

    rng = generator(sample_seed, of="users", dataset=NAME)
    users = np.sort(rng.choice(many, size=N_USERS, replace=False))
    films = [
        np.sort(rng.choice(np.flatnonzero(score[user]), size=RATED, replace=False))
        for user in users
    ]
    return tasks_of(ratings, users, films, like_from)
