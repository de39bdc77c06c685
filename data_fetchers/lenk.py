"""How likely each of 180 persons is to buy 20 personal computers.

The survey of Lenk, DeSarbo, Green and Young (1996): a person rates 20 descriptions of a computer
from 0 to 10, and a task is a person. A description has 13 attributes of two levels, coded -1 and
+1, and a constant 1. The file is that of many papers on multi-task learning; it has 16 computers
per person for training and 4 for testing, which are combined here, in this order.

Targets are real numbers, so ``load`` returns `RealTasks`.

Licence: unstated.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from data_fetchers._checks import chosen, expect_counts
from data_fetchers._matlab import matlab
from data_fetchers.fetch import RemoteFile, fetch, pinned
from omtl.data.streams import RealTasks

NAME = "lenk"
LICENCE = "unstated"
CITATION = """\
@article{lenk1996hierarchical,
  author = {Lenk, Peter J. and DeSarbo, Wayne S. and Green, Paul E. and Young, Martin R.},
  title = {Hierarchical {Bayes} Conjoint Analysis},
  journal = {Marketing Science},
  volume = {15},
  number = {2},
  pages = {173--191},
  year = {1996}
}
"""
FILES: tuple[RemoteFile, ...] = (
    RemoteFile(
        "lenk_data.mat",
        "e6cc1029fa15ba8135dfca0f6a4bfa75599b4d43fe77224ce6b07bf9cdeb3e0b",
        10_469,
        (
            pinned(
                "dstamos/Parameter-free-MTL",
                "75e27e04682b7ccb3870191d1650dc639f9dec60",
                "data/lenk_data.mat",
            ),
        ),
    ),
)

N_PERSONS, N_FEATURES = 180, 13
PARTS = {"Traindata": 16, "Testdata": 4}
"""The file's tables, and the number of computers per person in each."""


def parse(content: bytes) -> np.ndarray:
    """Return attributes, constant and rating, shape (n_persons, 20, 15).

    Raises
    ------
    UserError
        If the content has another format.
    """
    with matlab(NAME, content, f"tables {' and '.join(PARTS)}") as held:
        parts = [
            np.asarray(held[part], dtype=np.float64).reshape(-1, each, N_FEATURES + 2)
            for part, each in PARTS.items()
        ]
        return np.concatenate(parts, axis=1)


def load(*, home: Path | None = None, n_features: int = N_FEATURES) -> RealTasks:
    """Download the file if necessary, and make a task of each person.

    Parameters
    ----------
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.
    n_features : {13, 14}
        The attributes alone, or with the constant.

    Returns
    -------
    RealTasks
        X : ndarray of shape (3600, 13), or 14 columns; y: ratings.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        There are other numbers of features, or the parsed counts are not as expected.
    """
    chosen(NAME, "n_features", [n_features], (N_FEATURES, N_FEATURES + 1))
    table = parse(fetch(NAME, FILES[0], home=home).read_bytes())
    expect_counts(NAME, {"persons": N_PERSONS}, {"persons": len(table)})
    rows = table.reshape(-1, N_FEATURES + 2)
    X = np.ascontiguousarray(rows[:, :n_features])
    task = np.repeat(np.arange(N_PERSONS), sum(PARTS.values()))
    names = tuple(f"person {k + 1}" for k in range(N_PERSONS))
    return RealTasks(X, rows[:, -1].copy(), task, names)
