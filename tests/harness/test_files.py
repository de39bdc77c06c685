"""Files are written whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from omtl.commands import _main
from omtl.util.errors import WriteError
from omtl.util.files import write_whole
from omtl.util.status import WRONG_USE


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


def test_a_home_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the folder is there and the one for Hydra's runs cannot be made."""
    (tmp_path / "runs").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("OMTL_HOME", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["omtl"])
    assert _main.main(["run", "algorithm=pa", "repeats=1"]) == WRONG_USE
    assert str(tmp_path / "runs") in capsys.readouterr().err
