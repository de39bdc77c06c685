"""Spoken letters of the alphabet, in five groups of speakers.

ISOLET (Fanty and Cole, 1990): 150 speakers said each of the 26 letters twice; 7,797 of the 7,800
recordings are available, with 617 acoustic features between -1 and 1. A task is one of the five
groups of 30 speakers, and an example's class is its letter. The recordings of groups 1 to 4 are
sorted by letter, so a speaker cannot be told within a group.

This set has classes rather than labels of -1 and +1, because similarities are learnt from it, so
``load`` returns `Classes`.

Licence: unstated where the files are from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import sparse

from data_fetchers._checks import by_name, chosen, expect_counts
from data_fetchers._files import listed
from data_fetchers._matlab import matlab
from data_fetchers._reduction import components as on_components
from data_fetchers.fetch import RemoteFile, fetch, pinned
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME = "isolet"
LICENCE = "unstated"
CITATION = """\
@inproceedings{fanty1990spoken,
  author = {Fanty, Mark and Cole, Ronald},
  title = {Spoken Letter Recognition},
  booktitle = {Advances in Neural Information Processing Systems 3},
  pages = {220--226},
  year = {1990}
}
"""

_COMMIT = "b9d4e8eb7f6d7b5ccc62f9e638bdaef798b62e5e"
FILES: tuple[RemoteFile, ...] = listed(
    NAME, lambda path: pinned("ma-xu/L21FS", _COMMIT, f"data/{path}")
)

GROUPS = tuple(file.path.removesuffix(".mat").lower() for file in FILES)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
N_FEATURES = 617
PER_LETTER = 60
"""Number of recordings of each letter in each group, if none is missing."""
MISSING = {("isolet4", "F"): 2, ("isolet5", "M"): 1}
"""Number of missing recordings, by place."""


@dataclass(frozen=True)
class Classes:
    """Examples of many tasks, with classes.

    This is not `omtl.data.streams.Tasks` with the class as y: y is -1 or +1, and a learner that
    multiplies it with a score would silently accept any other number.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_examples, n_features), float64
        One example per row.
    label : ndarray of shape (n_examples,), int64
        The class of each example, with the same meaning in all tasks.
    task : ndarray of shape (n_examples,), int64
        The task of each example, from 0 to ``len(names) - 1``.
    names : tuple of str
        The tasks' names, by index.
    """

    X: np.ndarray | sparse.csr_array
    label: np.ndarray
    task: np.ndarray
    names: tuple[str, ...]

    @cached_property
    def sha256(self) -> str:
        """Hash of a learner's input: rows, classes, tasks."""
        return Tasks(self.X, self.label, self.task, self.names).sha256

    @property
    def y(self) -> np.ndarray:
        """Raise a UserError, because there are classes instead."""
        raise UserError(
            f"The tasks {', '.join(self.names)} have classes instead of labels of -1 and +1: "
            "choose another data set, or a learner of similarities."
        )


def parse(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read one group.

    Parameters
    ----------
    content : bytes
        The MATLAB file's: a matrix ``fea``, and in ``gnd`` the letter's number of each row.

    Returns
    -------
    X : ndarray of shape (n_recordings, n_features), float64
        The recordings in the file's order.
    label : ndarray of shape (n_recordings,), int64
        Their letters: 1 for A to 26 for Z.

    Raises
    ------
    UserError
        If the content has another format.
    """
    with matlab(NAME, content, "matrices 'fea' and 'gnd'") as held:
        X = np.ascontiguousarray(held["fea"], dtype=np.float64)
        label = held["gnd"].ravel().astype(np.int64)
        if len(X) != len(label):
            raise ValueError(f"{len(X)} recordings have {len(label)} letters")
        if not np.isin(label, np.arange(1, len(LETTERS) + 1)).all():
            raise ValueError(f"a letter is not from 1 to {len(LETTERS)}")
    return X, label


def load(
    *,
    home: Path | None = None,
    groups: Sequence[str] | None = None,
    letters: str | None = None,
    components: int | None = None,
) -> Classes:
    """Download the files if necessary, and make a task of each group.

    Parameters
    ----------
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.
    groups : sequence of str, optional
        The groups, in the tasks' order; else all, in the order of ``GROUPS``.
    letters : str, optional
        The letters to include; default: all.
    components : int, optional
        Number of principal axes of the included recordings to project onto; default: the 617
        features.

    Returns
    -------
    Classes
        X : ndarray of shape (n_recordings, 617 or `components`). The label is 1 for A to 26 for Z.
        The rows of a task are in its file's order.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        A group or letter is unknown, there are not so many axes, or the parsed counts are not as
        expected.
    """
    names = chosen(NAME, "groups", groups, GROUPS)
    spoken = chosen(NAME, "letters", letters, tuple(LETTERS))

    parsed = [parse(fetch(NAME, file, home=home).read_bytes()) for file in FILES]
    recordings = dict(zip(GROUPS, parsed, strict=True))
    expected = {
        group: (N_FEATURES, *(PER_LETTER - MISSING.get((group, letter), 0) for letter in LETTERS))
        for group in GROUPS
    }
    found = {
        group: (X.shape[1], *np.bincount(label, minlength=len(LETTERS) + 1)[1:])
        for group, (X, label) in recordings.items()
    }
    counted = ("features", *LETTERS)
    expect_counts(NAME, by_name(expected, *counted), by_name(found, *counted))

    own_X, own_label = zip(*(recordings[name] for name in names), strict=True)
    X, label = np.concatenate(own_X), np.concatenate(own_label)
    task = np.repeat(np.arange(len(names)), [len(own) for own in own_X])
    taken = np.isin(label, [LETTERS.index(letter) + 1 for letter in spoken])
    X, label, task = X[taken], label[taken], task[taken]
    if components is not None:
        X = on_components(NAME, X, components)
    return Classes(X, label, task, names)
