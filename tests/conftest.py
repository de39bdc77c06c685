"""What all tests share."""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from unittest.mock import ANY, Mock

import loopback  # noqa: F401 - closes the network
import pytest
from archive_server import plain_surroundings, server  # noqa: F401 - fixtures
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does, before NumPy

import data_fetchers
from data_fetchers import _catalogue
from data_fetchers.fetch import DataMissing, RemoteFile
from omtl.commands._main import main
from omtl.compute.store import Store
from omtl.data.streams import Tasks
from omtl.kernel import smooth_hinge
from omtl.util.ending import DONE

settings.register_profile("omtl", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("omtl")


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
    """Return a function that gives a data set other files, with whatever counts."""

    def put(module: ModuleType, contents: Mapping[str, bytes]) -> None:
        monkeypatch.setattr(_catalogue, "expected_counts", lambda _: Mock(get=lambda *_: ANY))
        files = []
        for path, content in contents.items():
            target = home / data_fetchers.folder_of(module) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            files.append(RemoteFile(path, hashlib.sha256(content).hexdigest(), len(content), ()))
        monkeypatch.setattr(module, "FILES", tuple(files))

    return put


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Tasks]]:
    """Return a function that loads real data, or skips the test where their files are not to hand.

    They are fetched anew where there is a mirror; elsewhere those fetched before are used.
    """

    def real(name: str, **options: object) -> Tasks:
        try:
            return data_fetchers.load(name, **options)
        except DataMissing as fault:
            pytest.skip(str(fault))

    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("OMTL_DATA_MIRROR"):
            patch.setenv("OMTL_DATA", str(tmp_path_factory.mktemp("data")))
        else:
            patch.setenv("OMTL_OFFLINE", "1")
        yield real


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that lets one of all processes of a run make a folder, and returns it."""

    def once(name: str, make: Callable[[Path], object]) -> Path:
        base = tmp_path_factory.getbasetemp()
        folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                make(folder)
        return folder

    return once


@pytest.fixture(scope="session")
def site(once: Callable[..., Path]) -> Path:
    """Return the folder of a site made from the results in this checkout."""
    return once("site", lambda folder: main(["report", "--to", str(folder)]))


@pytest.fixture
def told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Return a function that runs a command with a home of its own and returns what it prints."""
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMTL_OFFLINE", "1")
    monkeypatch.setattr(sys, "argv", ["omtl"])

    def told(*words: str, status: int = DONE) -> str:
        assert main(words) == status
        return capsys.readouterr().out

    return told


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rules, and the minimiser of batch learners, run in plain Python."""
    monkeypatch.setattr("omtl.sklearn.stream.COMPILED", False)
    for module in ("omtl.kernel.loop", "omtl.protocols.heldout"):
        monkeypatch.setattr(f"{module}.is_compiled", lambda _: False)
    monkeypatch.setattr(smooth_hinge, "_newton", smooth_hinge._newton.function)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the repository's own files by their folder."""
    for item in items:
        if item.path.parent.name == "repository":
            item.add_marker(pytest.mark.repository)
