"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from omtl.harness.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return an empty store of the test's own."""
    return Store(tmp_path / "store")
