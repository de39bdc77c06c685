"""What the tests of data sets share."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

import data_fetchers
from data_fetchers.fetch import DataMissing
from omtl.data.streams import Tasks


def real(name: str, real_home: Path | None, **options: object) -> Tasks:
    """Load a real data set; skip the test where its files are not available."""
    try:
        return data_fetchers.load(name, home=real_home, **options)
    except DataMissing as fault:
        pytest.skip(str(fault))


def dense(tasks: Tasks) -> list[list[float]]:
    """Return sparse rows as lists, after checking that they are in canonical form."""
    assert isinstance(tasks.X, sparse.csr_array)
    assert tasks.X.has_canonical_format
    assert tasks.X.dtype == np.float64
    assert tasks.X.indices.dtype == tasks.X.indptr.dtype == np.int32
    return tasks.X.toarray().tolist()


def mat(**variables: object) -> bytes:
    """Return a MATLAB file of these variables."""
    file = io.BytesIO()
    savemat(file, variables)
    return file.getvalue()


def cells(*arrays: object) -> np.ndarray:
    """Return arrays as MATLAB's cells."""
    row = np.empty((1, len(arrays)), dtype=object)
    for at, array in enumerate(arrays):
        row[0, at] = array
    return row
