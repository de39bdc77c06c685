"""Fetching files: whole, out of archives, from servers with faults, mirrors, and none at all."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest
from archive_server import BODY, Reply, Server, files_in, member, remote, tar

from data_fetchers import _download
from data_fetchers import fetch as fetching
from data_fetchers.fetch import DataMissing, RemoteFile
from omtl.util.errors import UserError
from omtl.util.files import write_whole

pytestmark = pytest.mark.usefixtures("plain_surroundings")


def fetch(dataset: str, file: RemoteFile, *, home: Path, mirror: str | None = None) -> Path:
    """Return where a file is in a folder of data sets, with a mirror if one is given."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMTL_DATA", str(home))
        if mirror is not None:
            patch.setenv("OMTL_DATA_MIRROR", mirror)
        return fetching.fetch(dataset, file)


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
    write_whole(target, wrong)
    fetch("set", remote(server.serve("/file", Reply())), home=tmp_path)
    assert target.read_bytes() == BODY
    assert str(target) in caplog.text


def test_a_wrong_local_file_stays_but_is_not_trusted_when_there_is_no_other(tmp_path: Path) -> None:
    target = tmp_path / "set/folder/file.txt"
    write_whole(target, b"by hand")
    with pytest.raises(DataMissing, match=r"file\.txt: 7 bytes"):
        fetch("set", remote(), home=tmp_path)
    assert target.read_bytes() == b"by hand"


def test_a_gzip_put_by_hand_beside_the_target_is_used(tmp_path: Path) -> None:
    write_whole(tmp_path / "set/folder/file.txt.gz", gzip.compress(BODY))
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
    file = remote(f"{server.serve('/a.tar.gz', Reply(packed))}#data/file.txt")
    home = tmp_path / "some/deep/home"
    assert fetch("set", file, home=home).read_bytes() == BODY
    assert files_in(tmp_path) == ["some/deep/home/set/folder/file.txt"]


def lying(size: int) -> bytes:
    """Return an archive whose member has another size than it says."""
    info = tarfile.TarInfo("file.txt")
    info.size = size
    return gzip.compress(info.tobuf() + BODY + bytes(1024))


ENDLESS_NAME = b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * (4 * len(BODY))
TOO_MANY = f"more than {2 * len(BODY) + _download.CHUNK} bytes"

BAD = {
    "lacking": (tar(member("other.txt")), "no file file.txt in the archive"),
    "hash": (tar(member("file.txt", BODY[::-1])), "sha256"),
    "long": (tar(member("file.txt", BODY + BODY)), f"more than {len(BODY)} bytes"),
    "bomb": (tar(member("before", bytes(3_000_000)), member("file.txt")), "bytes to read through"),
    "truncated": (tar(member("file.txt"))[:-200], "broken archive"),
    "no tar": (gzip.compress(b"no tar" * 1000), "broken archive"),
    "no gzip": (b"no gzip", "broken archive"),
    "less": (lying(len(BODY) // 2), f"{len(BODY) // 2} bytes instead of {len(BODY)}"),
    "more": (lying(1 << 40), "broken archive"),
    "gzipped bomb": (gzip.compress(bytes(30_000_000)), f"more than {len(BODY)} bytes"),
    "gzipped and truncated": (gzip.compress(BODY)[:-20], "broken archive"),
    "gzipped with a wrong sum": (gzip.compress(BODY)[:-8] + bytes(8), "broken archive"),
    "gzipped in empty members": (gzip.compress(b"") * 50_000, TOO_MANY),
    "gzipped with an endless name": (ENDLESS_NAME, TOO_MANY),
}
"""What is no archive with the file, or no gzip of it, and why."""


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_archive_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(fetching, "MAX_ARCHIVE_BYTES", 2_000_000)
    packed, why = BAD[kind]
    archive = server.serve("/a.tar.gz", Reply(packed))
    server.serve("/set/folder/file.txt.gz", Reply(packed))
    sources, mirror = [f"{archive}#file.txt"], None
    if kind.startswith("gzipped"):
        sources, mirror = [], server.url("")
    with pytest.raises(DataMissing, match=why):
        fetch("set", remote(*sources), home=tmp_path, mirror=mirror)
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
    with pytest.raises(UserError, match=r"cannot be (read|written)") as raised:
        fetch("set", remote(server.serve("/file", Reply())), home=home)
    assert str(home / "set/folder/file.txt") in str(raised.value)
    assert not list(tmp_path.rglob("*.part"))


def test_sources_are_tried_in_order(server: Server, tmp_path: Path) -> None:
    sources = (
        server.url("/nowhere"),
        server.serve("/corrupt", Reply(BODY[:-1] + b"!")),
        server.serve("/short", Reply(BODY[:-1])),
        server.serve("/long", Reply(BODY + b"!")),
        server.serve("/good", Reply()),
        server.serve("/unneeded", Reply()),
    )
    assert fetch("set", remote(*sources), home=tmp_path).read_bytes() == BODY
    asked = [path for path, _ in server.requests]
    assert asked == ["/nowhere", "/corrupt", "/short", "/long", "/good"]
    assert files_in(tmp_path) == ["set/folder/file.txt"]


REFUSED, PASSING = (400, 404, 416), (429, 503)


@pytest.mark.parametrize("status", [*REFUSED, 503])
def test_a_refusal_is_final_and_a_lasting_fault_is_given_up(
    server: Server, tmp_path: Path, status: int
) -> None:
    told, tries = ("", 1) if status in REFUSED else (r".* \(3 tries\)", 3)
    file = remote(server.serve("/file", *[Reply(b"", status)] * tries, Reply()))
    with pytest.raises(DataMissing, match=rf"/file: {status} {told}"):
        fetch("set", file, home=tmp_path)
    assert server.asked("/file") == [None] * tries
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("fault", "asked"),
    [
        *((Reply(b"", status), [None, None]) for status in PASSING),
        (Reply(BODY[::-1], cut=1000), [None, "bytes=1000-", None]),
    ],
    ids=[*map(str, PASSING), "another-version"],
)
def test_a_passing_fault_is_tried_again(
    server: Server, tmp_path: Path, fault: Reply, asked: list[str | None]
) -> None:
    """And a download that would be resumed in another version starts afresh, once."""
    file = remote(server.serve("/file", fault, Reply()))
    assert fetch("set", file, home=tmp_path).read_bytes() == BODY
    assert server.asked("/file") == asked


@pytest.mark.parametrize("cut", [0, 1, len(BODY) - 1])
@pytest.mark.parametrize("ranges", [True, False], ids=["ranges", "no-ranges"])
@pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])
def test_a_broken_download_is_resumed(
    server: Server, tmp_path: Path, cut: int, ranges: bool, reset: bool
) -> None:
    file = remote(server.serve("/file", Reply(cut=cut, reset=reset), Reply(ranges=ranges)))
    assert fetch("set", file, home=tmp_path).read_bytes() == BODY
    first, second = server.asked("/file")
    assert first is None
    if not reset:  # which throws away what the client has not read yet
        assert second == (f"bytes={cut}-" if cut else None)


def test_a_stalled_server_times_out(server: Server, tmp_path: Path) -> None:
    stalled = server.serve("/stalled", Reply(cut=1000, stall=True))
    file = remote(stalled, server.serve("/file", Reply()))
    assert fetch("set", file, home=tmp_path).read_bytes() == BODY
    assert len(server.asked("/stalled")) == 3


def test_a_redirect_to_a_local_file_is_not_followed(server: Server, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(BODY)
    away = Reply(b"", 302, headers={"Location": secret.as_uri()})
    with pytest.raises(DataMissing, match="InvalidSchema"):
        fetch("set", remote(server.serve("/file", away)), home=tmp_path / "home")


@pytest.mark.parametrize(
    ("name", "content", "unneeded"),
    [
        ("file.txt", BODY, True),
        ("file.txt.gz", gzip.compress(BODY), True),
        ("file.txt", b"other bytes", False),
        ("file.txt.gz", b"no gzip", False),
    ],
)
@pytest.mark.parametrize("kind", ["folder", "http"])
def test_a_mirror_goes_before_the_sources_unless_it_is_wrong(
    server: Server, tmp_path: Path, kind: str, name: str, content: bytes, unneeded: bool
) -> None:
    server.serve(f"/mirror/set/folder/{name}", Reply(content))
    write_whole(tmp_path / "mirror/set/folder" / name, content)
    mirror = server.url("/mirror/") if kind == "http" else str(tmp_path / "mirror")
    file = remote(server.serve("/file", Reply()))
    assert fetch("set", file, home=tmp_path / "home", mirror=mirror).read_bytes() == BODY
    assert server.asked("/file") == [None] * (not unneeded)


@pytest.mark.parametrize("address", ["ftp://host/data", "file:///data", "s3://bucket"])
def test_another_kind_of_mirror_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(UserError, match="neither a folder nor an http") as raised:
        fetch("set", remote(), home=tmp_path, mirror=address)
    assert address in str(raised.value)
    assert not isinstance(raised.value, DataMissing)


def test_offline_no_address_is_asked(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMTL_OFFLINE", "1")
    monkeypatch.setenv("OMTL_DATA_MIRROR", server.url("/mirror"))
    with pytest.raises(DataMissing, match="not tried, as OMTL_OFFLINE is set"):
        fetch("set", remote(server.serve("/file", Reply())), home=tmp_path)
    assert server.requests == []
