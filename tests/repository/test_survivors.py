"""Quick tests of what only long runs used to notice: each is a mutant that had survived."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_server import Reply, Server, member, remote, tar
from miniature import SERIAL, small

from data_fetchers.fetch import (
    Archive,
    fetch,
)
from omtl.compute import engine
from omtl.compute.store import Store
from omtl.data.rows import rows_of
from omtl.experiment import loading
from omtl.experiment.unit import setting_of
from omtl.kernel.rules import Event, Shape
from omtl.learners.perceptron import Perceptron
from omtl.util import files
from omtl.util.errors import UserError, WriteError
from omtl.util.files import write_whole


def test_a_file_is_never_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there stays where the move fails; what is moved is on the disk, for all to read."""
    path, synced = tmp_path / "file", []
    write_whole(path, "old")
    assert path.stat().st_mode & 0o777 == 0o644
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size))

    def fails(*_: Any) -> None:
        assert synced == [len("new")]
        raise OSError(5, "no")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(WriteError):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_file_in_work_that_was_taken_for_left_over_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may remove it between its making and its lock."""
    honest, removed = files._lock, []

    def late(handle: int) -> None:
        if not removed:
            removed.extend(tmp_path.glob(f"{files.IN_WORK}*"))
            removed[0].unlink()
        honest(handle)

    monkeypatch.setattr(files, "_lock", late)
    write_whole(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"
    assert removed


def test_why_units_are_lacking_is_the_first_failure() -> None:
    """Or how many are stored, where none has failed."""
    units = small("pm").repeats(0, 3)
    failed = {units[1].key: engine.Failure("it broke")}
    assert engine.why_lacking(units, 1, failed) == "it broke"
    assert engine.why_lacking(units, 1, {}) == "1 of 3 repeats are stored"


def test_data_in_memory_are_told_apart_by_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that has changed is read again."""
    dataset = {"name": "mine", "module": "table_file", "normalise": "none", "bias": False}
    dataset["options"] = {"path": str(tmp_path / "a.csv")}
    found = []
    for value in (1, 2):
        (tmp_path / "a.csv").write_text(f"label,task,x\n1,a,{value}\n-1,a,0\n")
        monkeypatch.setattr(loading, "files_of", lambda _, value=value: {"a": str(value)})
        found.append(loading.load_prepared(dataset, 0, 0).tasks.X[0, 0])
    assert found == [1.0, 2.0]


def test_repeats_are_shuffled_otherwise() -> None:
    """And the same repeat always the same."""
    orders = [setting_of(small("pm").unit(0, r)).stream.example.tobytes() for r in (0, 1, 0)]
    assert orders[0] != orders[1]
    assert orders[0] == orders[2]


def test_a_perceptron_learns_at_its_margin() -> None:
    """Where y w·x is the margin, as at first where both are 0."""
    rows = rows_of(np.ones((1, 2)))
    learner = Perceptron(1.0)
    state = learner.new_state(Shape(1, 2, np.eye(1)))
    assert learner.update(state, rows, Event(0, 0, 0, 0, 2.0), 1.0, 0.0)
    assert state.w.tolist() == [[1.0, 1.0]]


def test_servers_are_asked_for_plain_bytes(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An encoding of their choice would make positions those of other bytes."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    asked = []
    honest = server.RequestHandlerClass.do_GET  # type: ignore[attr-defined]

    def noting(handler: Any) -> None:
        asked.append(handler.headers["Accept-Encoding"])
        honest(handler)

    monkeypatch.setattr(server.RequestHandlerClass, "do_GET", noting)
    fetch("set", remote(server.serve("/file", Reply())), home=tmp_path)
    assert asked == ["identity"]


def test_members_that_are_passed_over_are_forgotten(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An archive of many members does not fill the memory."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    kept = []
    honest = tarfile.TarFile.next

    def noting(archive: Any) -> Any:
        kept.append(len(archive.members))
        return honest(archive)

    monkeypatch.setattr(tarfile.TarFile, "next", noting)
    packed = tar(*(member(f"m{i}", b"") for i in range(50)), member("file.txt"))
    fetch("set", remote(Archive(server.serve("/a", Reply(packed)), "file.txt")), home=tmp_path)
    assert max(kept) <= 1


def test_units_asked_for_twice_are_computed_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted where they are computed."""
    calls = []
    honest = engine.compute
    monkeypatch.setattr(engine, "compute", lambda unit: (calls.append(unit), honest(unit))[1])
    engine.run(small("pm").repeats(0, 2) * 3, store, SERIAL, quiet=True)
    assert len(calls) == 2


def test_a_data_set_that_is_not_there_is_told_once(tmp_path: Path) -> None:
    """Its units fail with its sentence."""
    dataset = {"name": "mine", "module": "table_file", "normalise": "none", "bias": False}
    with pytest.raises(UserError, match="there is no such file"):
        loading.load_prepared({**dataset, "options": {"path": str(tmp_path / "none.csv")}}, 0, 0)
