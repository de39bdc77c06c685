"""Files are written whole or not at all; what a process keeps of its host."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import time
import tracemalloc
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from environments import python
from miniature import small, with_options
from threadpoolctl import threadpool_info

from omtl.compute import batches, engine
from omtl.compute.store import Store
from omtl.experiment.playing import compute
from omtl.experiment.specs import ParallelSpec
from omtl.experiment.unit import Result, Unit
from omtl.util.ending import INTERRUPTED, SIGNALS, TERMINATED, ended
from omtl.util.errors import WriteError
from omtl.util.files import IN_WORK, append, write_whole
from omtl.util.paths import ROOT, home_folder


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


def test_a_home_may_be_named_from_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no shell reads the variable, as in a file of a container."""
    monkeypatch.setenv("OMTL_HOME", "~/kept")
    assert home_folder() == Path.home() / "kept"
    assert Store.default().folder == Path.home() / "kept" / "store"


def test_what_a_killed_process_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in work that nobody works on goes with the next write; another's stays.

    Locks are asked for as network disks want them: NFS locks only files that are open for writing.
    """
    honest = fcntl.flock

    def lock(file: Any, operation: int) -> None:
        handle = file if isinstance(file, int) else file.fileno()
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        honest(handle, operation)

    monkeypatch.setattr(fcntl, "flock", lock)
    (tmp_path / f"{IN_WORK}one").write_text("half")
    with (tmp_path / f"{IN_WORK}two").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write_whole(tmp_path / "whole", "text")
        append(tmp_path / "log.csv", "1\n", "head\n")
        assert {path.name for path in tmp_path.iterdir()} == {f"{IN_WORK}two", "log.csv", "whole"}


def test_rows_are_added_where_there_are_no_locks_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full leaves no part of a row."""
    path = tmp_path / "log.csv"
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "no locks")))
    append(path, "1\n", "head\n")
    append(path, "2\n", "head\n")
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "no space")))
    with pytest.raises(WriteError, match=r"log\.csv cannot be written"):
        append(path, "3\n", "head\n")
    assert path.read_text() == "head\n1\n2\n"


def test_what_cannot_be_written_leaves_nothing_over(tmp_path: Path) -> None:
    """Below a file, or in place of a folder."""
    (tmp_path / "folder").write_text("a file")
    (tmp_path / "here" / "inside").mkdir(parents=True)
    for name in ("folder/x", "here"):
        with pytest.raises(WriteError, match=rf"{name} cannot be written"):
            write_whole(tmp_path / name, "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "here"]


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)]
)
def test_a_stop_leaves_the_callers_handlers(number: int, status: int) -> None:
    """After it, Ctrl-C and SIGTERM do what they did before, a second time too."""
    left = signal.signal(signal.SIGINT, signal.default_int_handler)  # as another test left it
    earlier = [signal.getsignal(one) for one in SIGNALS]

    def job() -> int:
        os.kill(os.getpid(), number)
        time.sleep(10.0)  # which the signal ends
        return 0

    try:
        for _ in range(2):
            assert ended(job) == status
            assert [signal.getsignal(one) for one in SIGNALS] == earlier
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler if left is None else left)


SEEN = """
import json, os, sys
import numba, numpy, sklearn, threadpoolctl

def seen():
    threads = {each["filepath"]: each["num_threads"] for each in threadpoolctl.threadpool_info()}
    return dict(os.environ), list(sys.path), numba.config.CACHE_DIR, threads

before = seen()
import omtl, omtl.river
after = seen()
print(before[:-1] == after[:-1] and before[-1].items() <= after[-1].items())
"""


def test_an_import_changes_nothing_in_the_host(tmp_path: Path) -> None:
    """Neither its environment, nor its path, threads, or where numba keeps its functions.

    Not even in a folder that is laid out as one of a user's own.
    """
    (tmp_path / "algorithm").mkdir()
    (tmp_path / "algorithm" / "mine.yaml").write_text("name: mine\n")
    (tmp_path / "look.py").write_text(SEEN)
    kept = {"PYTHONPATH": str(ROOT), "OMTL_HOME": str(tmp_path / "home"), "PATH": "/usr/bin"}
    assert python("look.py", cwd=tmp_path, env=kept).stdout == "True\n"


def test_units_have_one_thread_each(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """While they run; afterwards the process has what it had."""

    def threads() -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    def compute_and_look(unit: Unit) -> Result:
        meanwhile.extend(threads())
        return compute(unit)

    meanwhile: list[int] = []
    monkeypatch.setattr(batches, "compute", compute_and_look)
    how = ParallelSpec(name="threads", backend="threading", jobs=2)
    engine.run_units(small("pm").repeats(9, 1), store, how, quiet=True)  # loads all libraries
    before = threads()
    assert engine.run_units(small("pm").repeats(0, 4), store, how, quiet=True).computed == 4
    assert set(meanwhile) == {1}
    assert threads() == before


SIZES = {"n_tasks": 10, "n_examples": 200, "n_features": 300}
DATA_BYTES = 8 * 10 * 200 * 300


def unit_of(algorithm: str, n_points: int) -> Unit:
    """Return a unit on data that are large beside a learner's state, loaded and compiled."""
    experiment = with_options(small(algorithm), **SIZES)
    unit = experiment.only(list(range(n_points))).unit(seed=0, repeat=0)
    compute(unit)
    return unit


@pytest.mark.parametrize("algorithm", ["pm", "coml", "dom1"])
def test_a_unit_holds_the_data_once(algorithm: str) -> None:
    """However many points its grid has: neither a copy a point, nor the states of all points."""
    peaks = []
    for n_points in (1, len(small(algorithm).points)):
        unit = unit_of(algorithm, n_points)
        tracemalloc.start()
        compute(unit)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert DATA_BYTES < peaks[0] < 1.4 * DATA_BYTES
    assert peaks[1] < 1.4 * DATA_BYTES


def test_a_large_data_set_is_played_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the same bits, and without a copy."""
    unit = unit_of("coml", 2)
    ordered = compute(unit)
    monkeypatch.setattr("omtl.data.preparation.LARGE", DATA_BYTES // 2)
    tracemalloc.start()
    unordered = compute(unit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.4 * DATA_BYTES
    for name, array in ordered.arrays.items():
        np.testing.assert_array_equal(unordered.arrays[name], array)
