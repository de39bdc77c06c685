"""What the tests of data sets share."""

from __future__ import annotations

from pathlib import Path

import pytest

import data_fetchers
from data_fetchers.fetch import DataMissing
from omtl.data.streams import Tasks


def real(name: str, real_home: Path | None, **options: object) -> Tasks:
    """Load a real data set; skip the test where its files are not available."""
    try:
        return data_fetchers.load(name, home=real_home, **options)
    except DataMissing as fault:
        pytest.skip(str(fault))
