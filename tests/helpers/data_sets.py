"""What the tests of data sets share."""

from __future__ import annotations

import pytest

import data_fetchers
from data_fetchers.fetch import DataMissing
from omtl.data.streams import Tasks


def real(name: str, **options: object) -> Tasks:
    """Load a real data set; skip the test where its files are not available."""
    try:
        return data_fetchers.load(name, **options)
    except DataMissing as fault:
        pytest.skip(str(fault))
