"""Film ratings: does a user like a film, given what the others thought of it?

EachMovie (DEC Systems Research Center, 1995-97), only this part of which is available: all
1,009,402 ratings, from 1 to 6, of 1,619 films by the 5,055 users who apparently rated more than 120
of the whole set's 1,628. A task is a user who rated exactly 200 films. An example is one of these
films, its features are other users' ratings of it, and its label is whether the user likes it.

There are 32 users with exactly 200 ratings and 1,813 with 200 or more. With 30 of the former as
tasks, 1,783 others remain. These are exactly the numbers of the ROM paper ("30 users who view
exactly 200 movies and then 1783 users who viewed the same 200 movies"), so we take its features to
be the ratings of all other users with 200 or more. The sentence cannot be meant literally: at most
6 others have rated all of a task's films. So many ratings of a film are missing; a missing rating
is 0. The paper does not say which 30 of the 32 were drawn, nor from which rating on a film counts
as liked.

The option `users` makes tasks of users with more than 200 ratings instead: 30 of 1,781, each with
200 films drawn from that user's.

The ratings come as two R files, a random split of one matrix; here they are joined again. The
package rdata reads R files.

Licence: unstated.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import check_counts, checked_choices, in_tasks
from omtl.data.streams import Tasks
from omtl.util.seeds import generator

NAME, LICENCE, CITATION, FILES = catalogued("eachmovie", "mcjones1997eachmovie")

RATED = 200
"""Number of films rated by a task's user, and minimum for other users whose ratings count."""
N_USERS = 30
"""Number of users that are tasks."""
HIGHEST = 6
LIKES = (*range(2, HIGHEST + 1), "user_mean", "user_median")
FEATURES = ("rating", "centred", "like")
USERS = {"exactly": "eachmovie", "more": "eachmovie_others"}
"""Whether a task's user rated exactly 200 films or more, and the name of the draw of users."""


def parse(content: bytes) -> pd.DataFrame:
    """Read a matrix of ratings.

    Parameters
    ----------
    content : bytes
        The R file: one matrix with the users' numbers as row names and the films' as column names,
        NA for missing ratings.

    Returns
    -------
    DataFrame of int8
        Ratings, 1 to 6, or 0 if missing: a row for each user, a column for each film, both called
        by EachMovie's numbers.
    """
    import rdata  # imports xarray, which takes a second, so only on demand

    (matrix,) = rdata.read_rda(io.BytesIO(content)).values()
    users, films = (matrix.coords[axis].values.tolist() for axis in matrix.dims)
    score = np.nan_to_num(np.asarray(matrix.values, dtype=np.float64))
    return pd.DataFrame(score.astype(np.int8), users, films)


def liked(scores: np.ndarray, like_from: int | str) -> np.ndarray:
    """Return which of a user's ratings mean that the user likes the film.

    Parameters
    ----------
    scores : ndarray of shape (n_films,)
        One user's ratings, none missing.
    like_from : int or {"user_mean", "user_median"}
        The lowest such rating, or "mean" or "median" of the user's ratings.
    """
    own: dict[int | str, Any] = {"user_mean": np.mean(scores), "user_median": np.median(scores)}
    return scores >= own.get(like_from, like_from)


def _values(scores: np.ndarray, features: str, like_from: int | str) -> np.ndarray:
    """Return the features from other users' ratings, shape (n_users, n_films)."""
    values = scores.astype(np.float64)
    for user, given in zip(values, scores > 0, strict=True):
        if features == "centred":
            user[given] -= user[given].mean()
        elif features == "like":
            user[given] = np.where(liked(user[given], like_from), 1.0, -1.0)
    return values


def load(
    *,
    users: str = "exactly",
    sample_seed: int = 0,
    like_from: int | str = 4,
    features: str = "rating",
) -> Tasks:
    """Download the files if necessary, and make a task of each of 30 users.

    Parameters
    ----------
    users : {"exactly", "more"}
        Whether the tasks' users rated exactly 200 films or more.
    sample_seed : int
        Seed for the choice of 30 users, and of 200 films of each.
    like_from : int or {"user_mean", "user_median"}
        The label is +1 if the task's user gave the film at least this rating (2 to 6), or at least
        the mean or the median of the user's own 200.
    features : {"rating", "centred", "like"}
        A feature is another user's rating of the film, the rating minus the mean of that user's
        ratings, or whether that user likes the film (+1) or not (−1), by the same rule as labels. A
        missing rating is always 0.

    Returns
    -------
    Tasks
        X : ndarray of shape (6000, 1783), a column for each other user with 200 ratings or more.
        Users and films are in the files' order.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    checked_choices(NAME, "users", [users], USERS)
    checked_choices(NAME, "features", [features], FEATURES)
    checked_choices(NAME, "like_from", [like_from], LIKES)

    parts = [parse(content) for content in fetched(NAME, FILES)]
    ratings = parts[0] + parts[1]
    check_counts(NAME, _counts(ratings, parts))

    score = ratings.to_numpy()
    n_rated = np.count_nonzero(score, axis=1)
    pool = np.flatnonzero(n_rated == RATED if users == "exactly" else n_rated > RATED)
    rng = generator(sample_seed, of="users", dataset=USERS[users])
    raters = np.sort(rng.choice(pool, size=N_USERS, replace=False))
    films = [
        np.sort(rng.choice(np.flatnonzero(score[user]), size=RATED, replace=False))
        for user in raters
    ]
    others = np.setdiff1d(np.flatnonzero(n_rated >= RATED), raters)
    likes = [liked(score[user, own], like_from) for user, own in zip(raters, films, strict=True)]
    film, task = in_tasks(films)
    return Tasks(
        _values(score[others], features, like_from).T[film],
        np.where(np.concatenate(likes), 1.0, -1.0),
        task,
        tuple(f"user {user}" for user in ratings.index[raters]),
    )


def _counts(ratings: pd.DataFrame, parts: Sequence[pd.DataFrame]) -> dict[str, int]:
    n_rated = np.count_nonzero(ratings, axis=1)
    counts = {
        "users": len(ratings.index),
        "films": len(ratings.columns),
        "ratings": int(n_rated.sum()),
        f"users with {RATED} ratings": int(np.sum(n_rated == RATED)),
        f"users with {RATED} ratings or more": int(np.sum(n_rated >= RATED)),
    }
    for file, part in zip(FILES, parts, strict=True):
        counts[f"ratings in {file.path}"] = int(np.count_nonzero(part))
    for score in range(1, HIGHEST + 1):
        counts[f"ratings of {score}"] = int(np.count_nonzero(ratings == score))
    return counts
