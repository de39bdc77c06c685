"""MATLAB files, which several data sets are published in."""

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
    """Give a file's variables; refuse, in one sentence, what is not of its format.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    content : bytes
    has : str
        What the file must have, for the message.

    Raises
    ------
    UserError
        The content, or what is made of it within the context, is not as it must be.
    """
    try:
        yield loadmat(io.BytesIO(content))
    except (KeyError, ValueError, IndexError, TypeError, MatReadError) as fault:
        raise UserError(f"{where}: the file must be a MATLAB file with {has}: {fault}.") from fault


def signed_cells(
    examples: list[Any], labels: np.ndarray, of: str, what: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the label, −1 or +1, of each example of all cells, and its cell's number from 0.

    Parameters
    ----------
    examples : list of matrices
        One for each cell.
    labels : ndarray of object
        Cells of labels, each 0 or 1.
    of, what : str
        What a cell is, and what its examples are, for the message.

    Raises
    ------
    ValueError
        The numbers of examples and labels differ, or a label is another one.
    """
    cells = [cell.ravel() for cell in labels.ravel()]
    sizes = [cell.shape[0] for cell in examples]
    if sizes != [len(cell) for cell in cells]:
        raise ValueError(f"{of} has more labels than {what}, or fewer")
    label = np.concatenate(cells)
    if not np.isin(label, (0, 1)).all():
        raise ValueError("a label is neither 0 nor 1")
    return np.where(label == 1, 1.0, -1.0), np.repeat(np.arange(len(sizes)), sizes)
