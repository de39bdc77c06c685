"""What all tests share."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from data_fetchers.fetch import RemoteFile
from omtl.harness.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return an empty store of the test's own."""
    return Store(tmp_path / "store")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of data sets, cut off from any other source."""
    monkeypatch.setenv("OMTL_OFFLINE", "1")
    monkeypatch.setenv("OMTL_DATA", str(tmp_path))
    monkeypatch.delenv("OMTL_DATA_MIRROR", raising=False)
    return tmp_path


@pytest.fixture
def put(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that gives a data set other files."""

    def put(module: ModuleType, contents: Mapping[str, bytes]) -> None:
        files = []
        for path, content in contents.items():
            target = home / module.NAME / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            files.append(RemoteFile(path, hashlib.sha256(content).hexdigest(), len(content), ()))
        monkeypatch.setattr(module, "FILES", tuple(files))

    return put


@pytest.fixture(scope="module")
def real_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path | None]:
    """Give a folder for real files where there is a mirror; elsewhere what was fetched before."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("OMTL_DATA_MIRROR"):
            yield tmp_path_factory.mktemp("data")
        else:
            patch.setenv("OMTL_OFFLINE", "1")
            yield None
