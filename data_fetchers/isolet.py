"""Spoken letters of the alphabet, in five groups of speakers.

ISOLET (Fanty and Cole, 1990): 150 speakers said each of the 26 letters twice; 7,797 of the 7,800
recordings are available, with 617 acoustic features between -1 and 1. A task is one of the five
groups of 30 speakers, and an example's class is its letter. The recordings of groups 1 to 4 are
sorted by letter, so a speaker cannot be told within a group.

This set has classes rather than labels of -1 and +1, because similarities are learnt from it, so
``load`` returns `omtl.data.streams.Classes`.

Licence: unstated where the files are from.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import check_counts, checked_choices, in_tasks, matlab, on_components
from omtl.data.streams import Classes
from omtl.util.errors import UserError

NAME, LICENCE, CITATION, FILES = catalogued("isolet", "fanty1990spoken")

GROUPS = tuple(Path(file.path).stem.lower() for file in FILES)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


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
    """
    held = matlab(content)
    X = np.ascontiguousarray(held["fea"], dtype=np.float64)
    return X, held["gnd"].ravel().astype(np.int64)


def load(
    *,
    groups: Sequence[str] | None = None,
    letters: str | None = None,
    letters_each: int | None = None,
    letters_draw: int = 0,
    components: int | None = None,
) -> Classes:
    """Download the files if necessary, and make a task of each group.

    Parameters
    ----------
    groups : sequence of str, optional
        The groups, in the tasks' order; else all, in the order of ``GROUPS``.
    letters : str, optional
        The letters to include; default: all.
    letters_each : int, optional
        Include only this many of these letters in each task, drawn for each task alone.
    letters_draw : int
        Which draw of them: 0, 1, ...; each is the same at every call.
    components : int, optional
        Number of principal axes of the included recordings to project onto; default: the 617
        features.

    Returns
    -------
    Classes
        X : ndarray of shape (7797, 617) for all recordings and features. The label is 1 for A to 26
        for Z. The rows of a task are in its file's order.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        A group or letter is unknown, there are not so many axes, or the parsed counts are not as
        expected.
    """
    names = checked_choices(NAME, "groups", groups, GROUPS)
    spoken = checked_choices(NAME, "letters", letters, LETTERS)

    parsed = [parse(content) for content in fetched(NAME, FILES)]
    for group, (X, label) in zip(GROUPS, parsed, strict=True):
        found = {f"{group}: {letter}": np.sum(label == k) for k, letter in enumerate(LETTERS, 1)}
        check_counts(NAME, {f"{group}: features": X.shape[1]} | found)

    whole_label, group_of = in_tasks([label for _, label in parsed])
    is_spoken = np.isin(whole_label, [LETTERS.index(letter) + 1 for letter in spoken])
    rows = [np.flatnonzero(is_spoken & (group_of == GROUPS.index(name))) for name in names]
    if letters_each is not None:
        of_each = [np.unique(whole_label[own]) for own in rows]
        most = min(map(len, of_each))
        if not 1 <= letters_each <= most:
            raise UserError(f"{NAME}: letters_each={letters_each} must be between 1 and {most}.")
        rng = np.random.default_rng(letters_draw)
        drawn = [rng.permutation(known)[:letters_each] for known in of_each]
        rows = [own[np.isin(whole_label[own], kept)] for own, kept in zip(rows, drawn, strict=True)]
    order, task = in_tasks(rows)
    X = np.concatenate([X for X, _ in parsed])[order]
    if components is not None:
        X = on_components(NAME, X, components)
    return Classes(X, whole_label[order], task, names)
