"""Files are written whole, or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from omtl.util.errors import WriteError
from omtl.util.files import IN_WORK, append, write_whole


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


def test_locks_are_asked_for_as_network_disks_want_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NFS locks only files that are open for writing; what was left over is removed there too."""
    honest = fcntl.flock

    def lock(file: Any, operation: int) -> None:
        handle = file if isinstance(file, int) else file.fileno()
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        honest(handle, operation)

    monkeypatch.setattr(fcntl, "flock", lock)
    (tmp_path / f"{IN_WORK}one").write_text("half")
    write_whole(tmp_path / "whole", "text")
    append(tmp_path / "log.csv", "1\n", "head\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.csv", "whole"]


def test_rows_are_added_where_there_are_no_locks_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full leaves no part of a row."""
    path = tmp_path / "log.csv"
    monkeypatch.setattr(fcntl, "flock", _failing(errno.ENOLCK))
    append(path, "1\n", "head\n")
    append(path, "2\n", "head\n")
    monkeypatch.setattr(os, "fsync", _failing(errno.ENOSPC))
    with pytest.raises(WriteError, match=r"log\.csv cannot be written"):
        append(path, "3\n", "head\n")
    assert path.read_text() == "head\n1\n2\n"


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
