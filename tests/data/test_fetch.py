"""Fetching files: whole, out of archives, and what the user is told."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest
from archive_server import BODY, Reply, Server, files_in, member, remote, tar

from data_fetchers import fetch as fetching
from data_fetchers.fetch import Archive, DataMissing, fetch
from omtl.util.errors import UserError

pytestmark = pytest.mark.usefixtures("plain_surroundings")


def test_a_fetched_file_is_verified_in_its_place_and_not_asked_for_again(
    server: Server, tmp_path: Path
) -> None:
    file = remote(server.serve("/file", Reply()))
    path = fetch("set", file, home=tmp_path)
    assert path == tmp_path / "set/folder/file.txt"
    assert path.read_bytes() == BODY
    assert fetch("set", file, home=tmp_path) == path
    assert server.asked("/file") == [None]
    assert files_in(tmp_path) == ["set/folder/file.txt"]


@pytest.mark.parametrize("wrong", [b"short", BODY[::-1]], ids=["size", "hash"])
def test_a_wrong_local_file_is_replaced_with_a_notice(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, wrong: bytes
) -> None:
    target = tmp_path / "set/folder/file.txt"
    target.parent.mkdir(parents=True)
    target.write_bytes(wrong)
    fetch("set", remote(server.serve("/file", Reply())), home=tmp_path)
    assert target.read_bytes() == BODY
    assert str(target) in caplog.text


def test_a_wrong_local_file_stays_but_is_not_trusted_when_there_is_no_other(
    tmp_path: Path,
) -> None:
    target = tmp_path / "set/folder/file.txt"
    target.parent.mkdir(parents=True)
    target.write_bytes(b"by hand")
    with pytest.raises(DataMissing, match=r"file\.txt: 7 bytes"):
        fetch("set", remote(), home=tmp_path)
    assert target.read_bytes() == b"by hand"


def test_a_gzip_put_by_hand_beside_the_target_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "set/folder"
    folder.mkdir(parents=True)
    (folder / "file.txt.gz").write_bytes(gzip.compress(BODY))
    assert fetch("set", remote(), home=tmp_path).read_bytes() == BODY


def test_only_the_member_is_read_from_an_archive(server: Server, tmp_path: Path) -> None:
    packed = tar(
        member("../../escaped", b"!"),
        member("/absolute", b"!"),
        member("data/file.txt", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("data/file.txt", b"", type=tarfile.LNKTYPE, linkname="../../escaped"),
        member("data/file.txt", b"", type=tarfile.DIRTYPE),
        member("data/file.txt", b"", type=tarfile.FIFOTYPE),
        member("data/file.txt"),
        member("after", b"!"),
    )
    file = remote(Archive(server.serve("/a.tar.gz", Reply(packed)), "data/file.txt"))
    home = tmp_path / "some/deep/home"
    assert fetch("set", file, home=home).read_bytes() == BODY
    assert files_in(tmp_path) == ["some/deep/home/set/folder/file.txt"]


def lying(size: int) -> bytes:
    """Return an archive whose member has another size than it says."""
    info = tarfile.TarInfo("file.txt")
    info.size = size
    return gzip.compress(info.tobuf() + BODY + bytes(1024))


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (tar(member("other.txt")), "no file file.txt in the archive"),
        (tar(member("file.txt", BODY[::-1])), "sha256"),
        (tar(member("file.txt", BODY + BODY)), f"more than {len(BODY)} bytes"),
        (tar(member("before", bytes(3_000_000)), member("file.txt")), "bytes to read through"),
        (tar(member("file.txt"))[:-200], "broken archive"),
        (gzip.compress(b"no tar" * 1000), "broken archive"),
        (b"no gzip", "broken archive"),
        (lying(len(BODY) // 2), "only"),
        (lying(1 << 40), "broken archive"),
    ],
    ids=["lacking", "hash", "long", "bomb", "truncated", "no-tar", "no-gzip", "less", "more"],
)
def test_a_bad_archive_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bytes, why: str
) -> None:
    monkeypatch.setattr(fetching, "MAX_ARCHIVE_BYTES", 2_000_000)
    file = remote(Archive(server.serve("/a.tar.gz", Reply(packed)), "file.txt"))
    with pytest.raises(DataMissing, match=why):
        fetch("set", file, home=tmp_path)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("dataset", "path"),
    [
        ("set", "../file"),
        ("set", "/etc/file"),
        ("set", "folder\\..\\file"),
        ("set", "C:file"),
        ("set", ""),
        ("..", "file"),
        ("/set", "file"),
        ("set/other", "file"),
    ],
)
def test_a_path_that_leaves_its_folder_is_refused(tmp_path: Path, dataset: str, path: str) -> None:
    with pytest.raises(UserError, match="would leave its folder"):
        fetch(dataset, remote(path=path), home=tmp_path / "home")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("obstacle", ["home is a file", "target is a folder"])
def test_a_place_that_cannot_be_written_is_named(
    server: Server, tmp_path: Path, obstacle: str
) -> None:
    home = tmp_path / "home"
    if obstacle == "home is a file":
        home.write_text("")
    else:
        (home / "set/folder/file.txt").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot be read or written") as raised:
        fetch("set", remote(server.serve("/file", Reply())), home=home)
    assert str(home / "set/folder/file.txt") in str(raised.value)
    assert not list(tmp_path.rglob("*.part"))
