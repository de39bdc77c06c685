"""MATLAB files, the format of several data sets."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from omtl.util.errors import UserError


@contextmanager
def matlab(where: str, content: bytes, has: str) -> Iterator[dict[str, Any]]:
    """Provide a file's variables; refuse any other format with a clear message.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    content : bytes
    has : str
        What the file must contain, for the message.

    Raises
    ------
    UserError
        If the content, or its use within the context, is invalid.
    """
    try:
        yield loadmat(io.BytesIO(content))
    except (KeyError, ValueError, IndexError, TypeError, MatReadError) as fault:
        raise UserError(f"{where}: the file must be a MATLAB file with {has}: {fault}.") from fault


def joined_cells(
    examples: list[Any], labels: np.ndarray, of: str, what: str, called: str = "labels"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of all cells, and the index of each one's cell.

    Parameters
    ----------
    examples : list of matrices
        One for each cell.
    labels : ndarray of object
        Cells of labels.
    of, what, called : str
        The names of a cell, of its examples and of their labels, for the message.

    Raises
    ------
    ValueError
        If the numbers of examples and labels differ.
    """
    cells = [cell.ravel() for cell in labels.ravel()]
    sizes = [cell.shape[0] for cell in examples]
    if sizes != [len(cell) for cell in cells]:
        raise ValueError(f"{of} has more {called} than {what}, or fewer")
    return np.concatenate(cells), np.repeat(np.arange(len(sizes)), sizes)


def signed_labels(label: np.ndarray) -> np.ndarray:
    """Return labels 0 and 1 as −1 and +1.

    Raises
    ------
    ValueError
        If there are others.
    """
    if not np.isin(label, (0, 1)).all():
        raise ValueError("a label is neither 0 nor 1")
    return np.where(label == 1, 1.0, -1.0)
