"""Runs that are broken go on where they were; `make faults` breaks them at 200 moments."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from miniature import small

from omtl.compute import engine
from omtl.compute.store import Store
from omtl.experiment.playing import compute
from omtl.util.errors import WriteError
from omtl.util.files import IN_WORK, write_whole
from scripts.faults import trials as faults
from scripts.faults.kinds import FAULTS, TooLateError
from scripts.faults.runs import UNITS, place_in

MOMENTS = 10
# many processes, which other tests run beside
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SERIAL = {"name": "serial", "backend": "sequential", "jobs": 1}


@pytest.fixture(scope="module")
def ground() -> Iterator[faults.Ground]:
    """Give processes that have the package loaded, and an undisturbed run.

    They are begun as in the background, where Ctrl-C is ignored.
    """
    earlier = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with faults.ground() as on:
            signal.signal(signal.SIGINT, earlier)
            yield on
    finally:
        signal.signal(signal.SIGINT, earlier)


def test_runs_broken_at_random_moments_go_on(ground: faults.Ground) -> None:
    """Each kind of fault: the same bytes in the end, and nothing that was stored computed again."""
    told: list[str] = []
    trials = faults.suite(ground, MOMENTS, seed=1, tell=told.append)
    assert not told
    assert {trial.kind for trial in trials} == set(FAULTS)
    assert any(0 < trial.kept < UNITS for trial in trials)


def test_a_fault_that_never_comes_in_time_is_told(
    ground: faults.Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suite whose runs have always ended before does not try for ever."""

    def too_late(*_: Any) -> faults.Trial:
        raise TooLateError

    monkeypatch.setattr(faults, "attempt", too_late)
    monkeypatch.setattr(faults, "TRIES", 2)
    told: list[str] = []
    trials = faults.suite(ground, MOMENTS, seed=1, tell=told.append)
    assert len(told) == len(trials) == MOMENTS
    assert all(trial.fault == "2 runs had all ended before it came" for trial in trials)


def test_two_runs_at_once_and_a_damaged_unit(ground: faults.Ground) -> None:
    """Both runs succeed with the same bytes; a changed byte is told, set aside and mended."""
    told: list[str] = []
    trials = faults.others(ground, 2, seed=1, tell=told.append)
    assert not told
    assert len(trials) == 4


def test_a_run_that_ends_otherwise_is_noticed(ground: faults.Ground) -> None:
    """The suite can fail: a table of other bytes than the undisturbed one is told."""
    other = {name: content + b" " for name, content in ground.calm.results.items()}
    calm = replace(ground.calm, results=other, seconds=1e-3)
    with place_in(ground.folder, ground.servers[0]) as place:
        trial = faults.attempt("SIGKILL", place, random.Random(0), calm)
    assert trial.fault == "went on to other bytes"


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    """A file in work that nobody works on goes with the next write; another's stays."""
    abandoned, in_work = tmp_path / f"{IN_WORK}one", tmp_path / f"{IN_WORK}two"
    abandoned.write_text("half")
    with in_work.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write_whole(tmp_path / "whole", "text")
        assert sorted(tmp_path.iterdir()) == [in_work, tmp_path / "whole"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_is_written_where_there_are_no_locks(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on file systems of clusters; what may be another's work is left there."""
    other = tmp_path / f"{IN_WORK}one"
    other.write_text("half")
    monkeypatch.setattr(fcntl, "flock", _failing(number))
    write_whole(tmp_path / "whole", "text")
    assert (tmp_path / "whole").read_text() == "text"
    assert sorted(tmp_path.iterdir()) == [other, tmp_path / "whole"]


def test_a_lock_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file in work, and none open."""
    monkeypatch.setattr(fcntl, "flock", _failing(errno.EIO))
    opened = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(WriteError, match="whole cannot be written"):
        write_whole(tmp_path / "whole", "text")
    assert list(tmp_path.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == opened


def _failing(number: int) -> Any:
    """Return a call that fails with this number of an error."""

    def fail(*_: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Where, why, and what to do; what was there stays, and nothing is left over."""
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(WriteError, match=r"folder/x cannot be written \(.*\); make room"):
        write_whole(tmp_path / "folder" / "x", "text")
    (tmp_path / "here" / "inside").mkdir(parents=True)
    with pytest.raises(WriteError, match="here cannot be written"):
        write_whole(tmp_path / "here", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "here"]


def test_a_full_disk_under_a_unit_ends_the_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other unit would fare better, so none is tried; what was stored is kept."""
    units, played = small("pm").repeats(0, 4), []

    def fill(unit: Any) -> Any:
        played.append(unit)
        if len(played) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", "/some/cache")
        return compute(unit)

    monkeypatch.setattr(engine, "compute", fill)
    with pytest.raises(WriteError, match="/some/cache cannot be written"):
        engine.run(units, store, SERIAL, quiet=True)
    assert [store.has(unit) for unit in units] == [True, False, False, False]
