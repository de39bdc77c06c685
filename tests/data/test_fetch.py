"""Fetching files: every source, and every way in which one fails, on loopback."""

from __future__ import annotations

import gzip
import io
import os
import socket
import sys
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest
from archive_server import BODY, Reply, Server, member, remote, tar

from data_fetchers import _download
from data_fetchers import fetch as fetching
from data_fetchers.fetch import Archive, DataMissing, RemoteFile, fetch, pinned
from omtl.util.errors import UserError


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMTL_DATA", "OMTL_DATA_MIRROR", "OMTL_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(_download, "RETRY_DELAYS", (0.0, 0.01))
    monkeypatch.setattr(_download, "READ_TIMEOUT", 0.2)


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


# Whole downloads, and what is there already.


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


def test_an_empty_file_is_a_file(server: Server, tmp_path: Path) -> None:
    file = remote(server.serve("/file", Reply(b"")), body=b"")
    assert fetch("set", file, home=tmp_path).read_bytes() == b""


def test_home_is_from_the_environment(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = remote(server.serve("/file", Reply()))
    monkeypatch.setenv("OMTL_DATA", str(tmp_path / "data"))
    assert fetch("set", file) == tmp_path / "data/set/folder/file.txt"


def test_home_is_else_with_all_that_is_kept(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = remote(server.serve("/file", Reply()))
    monkeypatch.setattr(fetching, "kept", lambda: tmp_path)
    assert fetch("set", file) == tmp_path / "data/set/folder/file.txt"


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


def test_many_threads_fetch_the_same_file(server: Server, tmp_path: Path) -> None:
    file = remote(server.serve("/file", Reply()))
    together = threading.Barrier(6)

    def one(_: int) -> bytes:
        together.wait()
        return fetch("set", file, home=tmp_path).read_bytes()

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(one, range(6))) == {BODY}
    assert files_in(tmp_path) == ["set/folder/file.txt"]


def test_an_interrupted_download_leaves_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        assert len(files_in(tmp_path)) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(_download.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch("set", remote(server.serve("/file", Reply(cut=1000))), home=tmp_path)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("terminal", [False, True])
def test_the_bar_is_shown_on_a_terminal_only(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    shown = io.StringIO()
    shown.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", shown)
    fetch("set", remote(server.serve("/file", Reply())), home=tmp_path)
    assert ("folder/file.txt" in shown.getvalue()) == terminal


# Faults of a server.


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
    assert [path for path, _ in server.requests] == [
        "/nowhere",
        "/corrupt",
        "/short",
        "/long",
        "/good",
    ]
    assert files_in(tmp_path) == ["set/folder/file.txt"]


@pytest.mark.parametrize("status", [400, 403, 404, 410, 416])
def test_a_refusal_is_final(server: Server, tmp_path: Path, status: int) -> None:
    file = remote(server.serve("/file", Reply(b"", status), Reply()))
    with pytest.raises(DataMissing, match=rf"/file: {status} "):
        fetch("set", file, home=tmp_path)
    assert server.asked("/file") == [None]
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_passing_fault_is_tried_again(server: Server, tmp_path: Path, status: int) -> None:
    file = remote(server.serve("/file", Reply(b"", status), Reply()))
    assert fetch("set", file, home=tmp_path).read_bytes() == BODY
    assert server.asked("/file") == [None, None]


def test_a_lasting_fault_is_given_up(server: Server, tmp_path: Path) -> None:
    file = remote(server.serve("/file", Reply(b"", 503)))
    with pytest.raises(DataMissing, match=r"/file: 503 .* \(3 tries\)"):
        fetch("set", file, home=tmp_path)
    assert server.asked("/file") == [None] * 3


@pytest.mark.parametrize("cut", [0, 1, len(BODY) // 2, len(BODY) - 1])
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


def test_a_download_that_breaks_twice_is_resumed_twice(server: Server, tmp_path: Path) -> None:
    file = remote(server.serve("/file", Reply(cut=1000), Reply(cut=500), Reply()))
    assert fetch("set", file, home=tmp_path).read_bytes() == BODY
    assert server.asked("/file") == [None, "bytes=1000-", "bytes=1500-"]


def test_a_download_resumed_in_another_version_starts_afresh_once(
    server: Server, tmp_path: Path
) -> None:
    file = remote(server.serve("/file", Reply(BODY[::-1], cut=1000), Reply()))
    assert fetch("set", file, home=tmp_path).read_bytes() == BODY
    assert server.asked("/file") == [None, "bytes=1000-", None]


def test_it_starts_afresh_no_more_than_once(server: Server, tmp_path: Path) -> None:
    broken, other = Reply(cut=1000), Reply(BODY[::-1])
    file = remote(server.serve("/file", broken, other, broken, other))
    with pytest.raises(DataMissing, match="/file: sha256"):
        fetch("set", file, home=tmp_path)
    assert server.asked("/file") == [None, "bytes=1000-"] * 2


def test_an_answer_from_beyond_the_break_is_refused(server: Server, tmp_path: Path) -> None:
    beyond = Reply(BODY[2000:], 206, headers={"Content-Range": "bytes 2000-"})
    file = remote(server.serve("/file", Reply(cut=1000), beyond))
    with pytest.raises(DataMissing, match="from byte 2000 when asked for 1000"):
        fetch("set", file, home=tmp_path)


def test_a_server_that_shrinks_the_file_meanwhile_is_asked_afresh(
    server: Server, tmp_path: Path
) -> None:
    shrunk = Reply(BODY[:10], ranges=False)
    file = remote(server.serve("/file", Reply(cut=1000), shrunk, Reply()))
    assert fetch("set", file, home=tmp_path).read_bytes() == BODY


@pytest.mark.parametrize("cut", [0, 1000])
def test_a_stalled_server_times_out(server: Server, tmp_path: Path, cut: int) -> None:
    stalled = server.serve("/stalled", Reply(cut=cut, stall=True))
    file = remote(stalled, server.serve("/file", Reply()))
    assert fetch("set", file, home=tmp_path).read_bytes() == BODY
    assert len(server.asked("/stalled")) == 3


def test_a_server_that_is_not_there_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_download.time, "sleep", pytest.fail)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # without listening: connections are refused
        file = remote(f"http://127.0.0.1:{taken.getsockname()[1]}/file")
        with pytest.raises(DataMissing, match="cannot be reached"):
            fetch("set", file, home=tmp_path)


def test_a_redirect_to_a_local_file_is_not_followed(server: Server, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(BODY)
    away = Reply(b"", 302, headers={"Location": secret.as_uri()})
    with pytest.raises(DataMissing, match="InvalidSchema"):
        fetch("set", remote(server.serve("/file", away)), home=tmp_path / "home")


# Mirrors.


@pytest.mark.parametrize("gzipped", [False, True], ids=["raw", "gz"])
@pytest.mark.parametrize("kind", ["folder", "http"])
def test_a_mirror_goes_before_the_sources(
    server: Server, tmp_path: Path, gzipped: bool, kind: str
) -> None:
    name = "/set/folder/file.txt" + gzipped * ".gz"
    content = gzip.compress(BODY) if gzipped else BODY
    if kind == "http":
        server.serve(f"/mirror{name}", Reply(content))
        mirror = server.url("/mirror/")
    else:
        (tmp_path / "mirror/set/folder").mkdir(parents=True)
        Path(f"{tmp_path}/mirror{name}").write_bytes(content)
        mirror = str(tmp_path / "mirror")
    file = remote(server.serve("/file", Reply()))
    assert fetch("set", file, home=tmp_path / "home", mirror=mirror).read_bytes() == BODY
    assert server.asked("/file") == []


def test_the_argument_goes_before_the_environment(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMTL_DATA_MIRROR", server.url("/environment"))
    server.serve("/argument/set/folder/file.txt", Reply())
    fetch("set", remote(), home=tmp_path / "1", mirror=server.url("/argument"))
    assert server.asked("/environment/set/folder/file.txt") == []
    server.serve("/environment/set/folder/file.txt", Reply())
    fetch("set", remote(), home=tmp_path / "2")
    assert server.asked("/environment/set/folder/file.txt") == [None]


def test_a_wrong_mirror_is_passed_over(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "mirror/set/folder"
    folder.mkdir(parents=True)
    (folder / "file.txt").write_bytes(b"other bytes")
    (folder / "file.txt.gz").write_bytes(b"no gzip")
    file = remote(server.serve("/file", Reply()))
    path = fetch("set", file, home=tmp_path / "home", mirror=str(tmp_path / "mirror"))
    assert path.read_bytes() == BODY


@pytest.mark.parametrize("address", ["ftp://host/data", "file:///data", "s3://bucket"])
def test_another_kind_of_mirror_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(UserError, match="neither a folder nor an http") as raised:
        fetch("set", remote(), home=tmp_path, mirror=address)
    assert address in str(raised.value)
    assert not isinstance(raised.value, DataMissing)


def test_a_gzip_that_breaks_on_the_way_is_resumed(server: Server, tmp_path: Path) -> None:
    packed = gzip.compress(BODY, compresslevel=0)
    name = "/set/folder/file.txt.gz"
    server.serve(name, Reply(packed, cut=100_000), Reply(packed))
    assert fetch("set", remote(), home=tmp_path, mirror=server.url("")).read_bytes() == BODY
    assert server.asked(name) == [None, "bytes=100000-"]


def test_a_gzip_of_several_members_is_read_whole(tmp_path: Path) -> None:
    folder = tmp_path / "set/folder"
    folder.mkdir(parents=True)
    (folder / "file.txt.gz").write_bytes(gzip.compress(BODY[:999]) + gzip.compress(BODY[999:]))
    assert fetch("set", remote(), home=tmp_path).read_bytes() == BODY


ENDLESS_NAME = b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * (4 * len(BODY))


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (gzip.compress(bytes(30_000_000)), f"more than {len(BODY)} bytes"),
        (gzip.compress(BODY)[:-20], "broken archive"),
        (gzip.compress(BODY)[:-8] + bytes(8), "broken archive"),
        (gzip.compress(b"") * 50_000, "bytes to read through"),
        (ENDLESS_NAME, "bytes to read through"),
    ],
    ids=["bomb", "truncated", "checksum", "empty-members", "endless-header"],
)
def test_a_hostile_gzip_is_refused_and_not_written_out(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bytes, why: str
) -> None:
    sizes: list[int] = []
    fill = fetching._fill

    def watched(handle: IO[bytes], chunks: Iterator[bytes], file: RemoteFile) -> None:
        try:
            fill(handle, chunks, file)
        finally:
            handle.flush()
            sizes.append(os.fstat(handle.fileno()).st_size)

    monkeypatch.setattr(fetching, "_fill", watched)
    server.serve("/set/folder/file.txt.gz", Reply(packed))
    with pytest.raises(DataMissing, match=why):
        fetch("set", remote(), home=tmp_path, mirror=server.url(""))
    assert sizes
    assert max(sizes) <= len(BODY)
    assert files_in(tmp_path) == []


# Offline.


def test_offline_no_address_is_asked(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMTL_OFFLINE", "1")
    monkeypatch.setenv("OMTL_DATA_MIRROR", server.url("/mirror"))
    with pytest.raises(DataMissing, match="not tried, as OMTL_OFFLINE is set"):
        fetch("set", remote(server.serve("/file", Reply())), home=tmp_path)
    assert server.requests == []


def test_offline_a_folder_is_still_a_mirror(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMTL_OFFLINE", "1")
    (tmp_path / "mirror/set/folder").mkdir(parents=True)
    (tmp_path / "mirror/set/folder/file.txt").write_bytes(BODY)
    monkeypatch.setenv("OMTL_DATA_MIRROR", str(tmp_path / "mirror"))
    assert fetch("set", remote(), home=tmp_path / "home").read_bytes() == BODY


def test_zero_is_not_offline(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMTL_OFFLINE", "0")
    fetch("set", remote(server.serve("/file", Reply())), home=tmp_path)


# Archives.


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


def test_an_archive_that_breaks_on_the_way_is_resumed(server: Server, tmp_path: Path) -> None:
    packed = tar(member("before", os.urandom(300_000)), member("file.txt"))
    url = server.serve("/a.tar.gz", Reply(packed, cut=200_000), Reply(packed))
    assert fetch("set", remote(Archive(url, "file.txt")), home=tmp_path).read_bytes() == BODY
    assert server.asked("/a.tar.gz") == [None, "bytes=200000-"]


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


# What the user is told.


def test_the_message_says_what_was_tried_and_what_to_do(server: Server, tmp_path: Path) -> None:
    file = remote(
        server.url("/nowhere"),
        server.serve("/corrupt", Reply(b"other bytes")),
        Archive(server.url("/a.tar.gz"), "file.txt"),
    )
    mirror = str(tmp_path / "mirror")
    with pytest.raises(DataMissing) as raised:
        fetch("set", file, home=tmp_path, mirror=mirror)
    tried = (
        f"{mirror}/set/folder/file.txt: No such file or directory",
        f"{mirror}/set/folder/file.txt.gz: No such file or directory",
        f"{server.url('/nowhere')}: 404 Not Found",
        f"{server.url('/corrupt')}: only 11 bytes",
        f"{server.url('/a.tar.gz')} (file.txt): 404 Not Found",
    )
    assert str(raised.value) == (
        f"set: folder/file.txt ({len(BODY)} bytes, sha256 {file.sha256}) is missing; tried "
        f"{'; '.join(tried)}; put it by hand at {tmp_path}/set/folder/file.txt (or, gzipped, at "
        f"{tmp_path}/set/folder/file.txt.gz), or set OMTL_DATA_MIRROR to a folder or an http(s) "
        "address that has set/folder/file.txt (or set/folder/file.txt.gz)"
    )


@pytest.mark.parametrize(
    ("dataset", "path"),
    [
        ("set", "../file"),
        ("set", "folder/../../file"),
        ("set", "/etc/file"),
        ("set", "folder\\..\\file"),
        ("set", "C:file"),
        ("set", ""),
        ("set", "."),
        ("..", "file"),
        (".", "file"),
        ("", "file"),
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


def test_a_pinned_address_is_of_one_commit() -> None:
    assert (
        pinned("owner/name", "0123abcd", "a folder/file#1")
        == "https://raw.githubusercontent.com/owner/name/0123abcd/a%20folder/file%231"
    )


def test_a_download_that_is_closed_hangs_up() -> None:
    """Its connection is not left to the collector of rubbish."""
    hung_up = []
    stream = _download.Download("http://nowhere")
    stream._response = SimpleNamespace(close=lambda: hung_up.append(True))  # type: ignore[assignment]
    stream.close()
    assert hung_up == [True]
    assert stream._response is None


def test_a_fault_that_is_not_known_is_not_tried_again() -> None:
    """It is told by its kind and its words."""
    assert _download._diagnosis(ValueError("no such thing")) == ("ValueError: no such thing", False)
