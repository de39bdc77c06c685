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


def signed_cells(
    examples: list[Any], labels: np.ndarray, of: str, what: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the label, −1 or +1, of each example of all cells, and the index of its cell.

    Parameters
    ----------
    examples : list of matrices
        One for each cell.
    labels : ndarray of object
        Cells of labels, each 0 or 1.
    of, what : str
        The names of a cell and of its examples, for the message.

    Raises
    ------
    ValueError
        If the numbers of examples and labels differ, or a label is invalid.
    """
    cells = [cell.ravel() for cell in labels.ravel()]
    sizes = [cell.shape[0] for cell in examples]
    if sizes != [len(cell) for cell in cells]:
        raise ValueError(f"{of} has more labels than {what}, or fewer")
    label = np.concatenate(cells)
    if not np.isin(label, (0, 1)).all():
        raise ValueError("a label is neither 0 nor 1")
    return np.where(label == 1, 1.0, -1.0), np.repeat(np.arange(len(sizes)), sizes)
