"""Fetch a data set's files: several sources in order, under one hash.

A file is known by the size and the sha256 of its raw bytes, so it does not matter who hands them
over: a mirror, the canonical address, a public copy, or a person who puts the file in its place.
Nothing is trusted before it is hashed, not even a file that is already there.

A download goes to a temporary file of its own beside its target and is moved there once it is
verified, so any number of processes may fetch the same file at once. A connection that breaks is
resumed within the call; the temporary file is removed when the call ends, however it ends, and
nothing is kept for a later run to resume.

The environment: ``OMTL_DATA`` is the folder of the files, ``OMTL_DATA_MIRROR`` a folder or an
http(s) address to try first, and ``OMTL_OFFLINE=1`` forbids the network.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import logging
import os
import re
import tarfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import requests
import urllib3
from tqdm import tqdm

from omtl.util.errors import UserError
from omtl.util.paths import kept

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection."""
READ_TIMEOUT = 30.0
"""Seconds a server may stay silent before it counts as stalled."""
RETRY_DELAYS = (0.5, 2.0)
"""Seconds to wait before each further try of an address after a transient fault."""
CHUNK = 1 << 16
"""Bytes read at a time."""
MAX_ARCHIVE_BYTES = 1 << 28
"""Bytes read of an archive, packed and unpacked, before it is given up."""

_log = logging.getLogger(__name__)


class DataMissing(UserError):  # noqa: N818 - it reads as what is the matter
    """A file of a data set that is neither here nor available from any of its sources."""


@dataclass(frozen=True)
class Archive:
    """A file within a tar.gz archive.

    Parameters
    ----------
    url : str
        The archive's address.
    member : str
        The file's name in the archive.
    """

    url: str
    member: str

    def __str__(self) -> str:
        return f"{self.url} ({self.member})"


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set, and its sources.

    Parameters
    ----------
    path : str
        The file's place within its data set's folder, with ``/`` between the parts.
    sha256 : str
        Hash of the raw (uncompressed) bytes, in lower-case hexadecimal.
    n_bytes : int
        Number of raw bytes.
    sources : tuple of str or Archive
        Where to try, in order: http(s) addresses that yield the raw bytes, or archives with them.
    """

    path: str
    sha256: str
    n_bytes: int
    sources: tuple[str | Archive, ...]


def pinned(repo: str, commit: str, path: str) -> str:
    """Return the address of a file in a public GitHub repository at one commit.

    Parameters
    ----------
    repo : str
        ``owner/name``.
    commit : str
        The full hash of the commit, which makes the address mean the same bytes for ever.
    path : str
        The file's path in the repository.
    """
    return f"https://raw.githubusercontent.com/{repo}/{commit}/{quote(path)}"


def place_of(dataset: str, file: RemoteFile, *, home: Path | None = None) -> Path:
    """Return where a file of a data set is, once it is fetched (as `fetch` says).

    Raises
    ------
    UserError
        A path leaves its folder.
    """
    folder = Path(home or os.environ.get("OMTL_DATA") or kept() / "data").expanduser()
    return folder / _relative(dataset, file.path)


def fetch(
    dataset: str, file: RemoteFile, *, home: Path | None = None, mirror: str | None = None
) -> Path:
    """Return the local path of a verified file, after fetching it if need be.

    Parameters
    ----------
    dataset : str
        The data set's name, which is its folder's name too.
    file : RemoteFile
        The file.
    home : Path, optional
        The folder of all data sets; else ``OMTL_DATA``, else ``data`` in
        ``omtl.util.paths.kept()``.
    mirror : str, optional
        A folder or an http(s) address that has ``<dataset>/<path>``, or the same with ``.gz``
        appended; else ``OMTL_DATA_MIRROR``. It is tried before the file's own sources.

    Returns
    -------
    Path
        ``<home>/<dataset>/<path>``.

    Raises
    ------
    DataMissing
        No source yields the file.
    UserError
        The mirror is of another kind, a path leaves its folder, or the file cannot be written.
    """
    relative = _relative(dataset, file.path)
    target = place_of(dataset, file, home=home)
    tried: list[str] = []
    try:
        if target.exists():
            fault = _fault(target, file)
            if fault is None:
                return target
            tried.append(f"{target}: {fault}")
            _log.warning("%s is not the file it should be (%s): replacing it", target, fault)
        mirror = mirror or os.environ.get("OMTL_DATA_MIRROR") or None
        if _retrieve(file, target, _places(file, target, relative, mirror), tried):
            return target
    except OSError as fault:
        raise UserError(
            f"{target} cannot be read or written ({fault.strerror or fault}): mend that, or name "
            "another folder in OMTL_DATA."
        ) from fault
    raise DataMissing(
        f"{dataset}: {file.path} ({file.n_bytes} bytes, sha256 {file.sha256}) is missing; tried "
        f"{'; '.join(tried) or 'nothing, as it has no sources'}; put it by hand at {target} (or, "
        f"gzipped, at {target}.gz), or set OMTL_DATA_MIRROR to a folder or an http(s) address that "
        f"has {relative} (or {relative}.gz)"
    )


class _SourceError(Exception):
    """A place does not yield the file; the text says why in a few words."""


class _WrongBytesError(_SourceError):
    """A place yields other bytes than the file's."""


@dataclass(frozen=True)
class _Place:
    """A place to try, and whether what it has is the file gzipped."""

    at: Path | str | Archive
    gzipped: bool = False


def _relative(dataset: str, path: str) -> PurePosixPath:
    relative = PurePosixPath(dataset, path)
    if (
        relative.is_absolute()
        or ".." in relative.parts
        or re.search(r"[\\:\0]", str(relative))
        or len(PurePosixPath(dataset).parts) != 1
        or not PurePosixPath(path).parts
    ):
        raise UserError(
            f"The file {path!r} of the data set {dataset!r} would leave its folder: give a plain "
            "name for the data set and a relative path without '..' for the file."
        )
    return relative


def _fault(path: Path, file: RemoteFile) -> str | None:
    """Say what is wrong with a local file, if anything."""
    if not path.is_file():
        return "not a file"
    if (size := path.stat().st_size) != file.n_bytes:
        return f"{size} bytes"
    with path.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    return None if found == file.sha256 else f"sha256 {found}"


def _places(
    file: RemoteFile, target: Path, relative: PurePosixPath, mirror: str | None
) -> Iterator[_Place]:
    by_hand = target.with_name(f"{target.name}.gz")
    if by_hand.exists():
        yield _Place(by_hand, gzipped=True)
    if mirror is not None:
        is_folder = "://" not in mirror
        if not is_folder and urlsplit(mirror).scheme not in ("http", "https"):
            raise UserError(
                f"The mirror {mirror!r} is neither a folder nor an http(s) address: set "
                "OMTL_DATA_MIRROR to one of these."
            )
        for gzipped in (False, True):
            path = f"{relative}.gz" if gzipped else str(relative)
            if is_folder:
                yield _Place(Path(mirror).expanduser() / path, gzipped)
            else:
                yield _Place(f"{mirror.rstrip('/')}/{quote(path)}", gzipped)
    for source in file.sources:
        yield _Place(source)


def _retrieve(file: RemoteFile, target: Path, places: Iterator[_Place], tried: list[str]) -> bool:
    """Put the file in its place from the first place that has it; note why the others failed."""
    offline = os.environ.get("OMTL_OFFLINE", "0") not in ("", "0")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{uuid4().hex}.part")
    try:
        for place in places:
            if offline and not isinstance(place.at, Path):
                tried.append(f"{place.at}: not tried, as OMTL_OFFLINE is set")
                continue
            try:
                with part.open("wb") as handle:
                    _fill_from(place, file, handle)
            except _SourceError as refusal:
                tried.append(f"{place.at}: {refusal}")
            else:
                part.replace(target)
                return True
        return False
    finally:
        part.unlink(missing_ok=True)


def _fill_from(place: _Place, file: RemoteFile, handle: IO[bytes]) -> None:
    if isinstance(place.at, Path):
        try:
            stream = place.at.open("rb")
        except OSError as fault:
            raise _SourceError(fault.strerror or str(fault)) from fault
        with stream:
            _fill(handle, _raw_bytes(stream, place, file.n_bytes), file)
    else:
        url = place.at.url if isinstance(place.at, Archive) else place.at
        try:
            with _Body(url) as body:
                _fill(handle, _raw_bytes(body, place, file.n_bytes), file)
        except _WrongBytesError:
            if not body.resumed:
                raise
            # The parts of a resumed download may be of two versions of the file.
            with _Body(url) as body:
                _fill(handle, _raw_bytes(body, place, file.n_bytes), file)


def _fill(handle: IO[bytes], chunks: Iterator[bytes], file: RemoteFile) -> None:
    """Write a file's bytes, and make sure that they are the file's and no more than that."""
    handle.seek(0)
    handle.truncate()
    digest = hashlib.sha256()
    size = 0
    with tqdm(
        total=file.n_bytes, desc=file.path, unit="B", unit_scale=True, leave=False, disable=None
    ) as bar:
        for chunk in chunks:
            size += len(chunk)
            if size > file.n_bytes:
                raise _WrongBytesError(f"more than {file.n_bytes} bytes")
            digest.update(chunk)
            handle.write(chunk)
            bar.update(len(chunk))
    if size < file.n_bytes:
        raise _WrongBytesError(f"only {size} bytes")
    if digest.hexdigest() != file.sha256:
        raise _WrongBytesError(f"sha256 {digest.hexdigest()}")


def _raw_bytes(stream: io.IOBase, place: _Place, n_bytes: int) -> Iterator[bytes]:
    """Yield the raw bytes of what a stream has: the file, its gzip, or an archive with it."""
    try:
        if isinstance(place.at, Archive):
            yield from _member_bytes(stream, place.at.member)
        elif place.gzipped:
            # No sane gzip is twice its content; a header without end would be read for ever.
            packed = _Bounded(stream, 2 * n_bytes + CHUNK)
            with gzip.GzipFile(fileobj=packed, mode="rb") as unpacked:
                yield from _chunks(unpacked)
        else:
            yield from _chunks(stream)
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError) as fault:
        raise _WrongBytesError(f"broken archive: {fault}") from fault
    except OSError as fault:
        raise _SourceError(fault.strerror or str(fault)) from fault


def _member_bytes(stream: io.IOBase, name: str) -> Iterator[bytes]:
    packed = _Bounded(stream, MAX_ARCHIVE_BYTES)
    with gzip.GzipFile(fileobj=packed, mode="rb") as gunzip:
        unpacked: Any = _Bounded(gunzip, MAX_ARCHIVE_BYTES)
        with tarfile.open(fileobj=unpacked, mode="r|") as tar:
            while (member := tar.next()) is not None:
                if member.name == name and member.isreg():
                    content = tar.extractfile(member)
                    assert content is not None
                    yield from _chunks(content)
                    return
                # The list that tarfile keeps of them would let an archive fill the memory.
                tar.members.clear()  # type: ignore[attr-defined]
    raise _WrongBytesError(f"no file {name} in the archive")


def _chunks(stream: Any) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK):
        yield chunk


class _Bounded(io.RawIOBase):
    """A stream that is refused when it has more than so many bytes."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._stream.read(len(buffer))
        self._left -= len(chunk)
        if self._left < 0:
            raise _WrongBytesError(f"more than {self._limit} bytes to read through")
        buffer[: len(chunk)] = chunk
        return len(chunk)


# What is wrong with an address, and whether another try may mend it. The first match counts.
_NETWORK_FAULTS: tuple[tuple[type[Exception], str, bool], ...] = (
    (urllib3.exceptions.NewConnectionError, "cannot be reached", False),
    (urllib3.exceptions.SSLError, "its certificate is not accepted", False),
    (urllib3.exceptions.ProxyError, "the proxy does not let it through", False),
    (urllib3.exceptions.ConnectTimeoutError, "no connection in time", True),
    (urllib3.exceptions.ReadTimeoutError, "stalled", True),
    (urllib3.exceptions.ProtocolError, "the connection broke", True),
)
_TRANSIENT_STATUSES = frozenset({408, 425, 429, *range(500, 600)})


def _diagnosis(fault: Exception) -> tuple[str, bool]:
    """Say in a few words why a request failed, and whether it may be tried again."""
    if isinstance(fault, requests.HTTPError) and fault.response is not None:
        status = fault.response.status_code
        return f"{status} {fault.response.reason or ''}".rstrip(), status in _TRANSIENT_STATUSES
    cause: object = fault
    if isinstance(fault, requests.RequestException) and fault.args:
        cause = fault.args[0]
    if isinstance(cause, urllib3.exceptions.MaxRetryError):
        cause = cause.reason
    for kind, text, transient in _NETWORK_FAULTS:
        if isinstance(cause, kind):
            return text, transient
    return f"{type(fault).__name__}: {fault}", False


class _Body(io.RawIOBase):
    """The bytes at an address as one stream, taken up again where a connection breaks.

    Attributes
    ----------
    resumed : bool
        Whether the bytes came over more than one connection.
    """

    def __init__(self, url: str) -> None:
        self.resumed = False
        self._url = url
        self._position = 0
        self._to_skip = 0
        self._response: requests.Response | None = None
        self._delays = iter(RETRY_DELAYS)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            try:
                chunk = self._next(len(buffer))
            except (requests.RequestException, urllib3.exceptions.HTTPError) as fault:
                self._hang_up()
                reason, transient = _diagnosis(fault)
                if not transient:
                    raise _SourceError(reason) from fault
                delay = next(self._delays, None)
                if delay is None:
                    raise _SourceError(f"{reason} ({len(RETRY_DELAYS) + 1} tries)") from fault
                time.sleep(delay)
            else:
                buffer[: len(chunk)] = chunk
                return len(chunk)

    def close(self) -> None:
        self._hang_up()
        super().close()

    def _next(self, size: int) -> bytes:
        response = self._response or self._call()
        while self._to_skip:
            skipped = response.raw.read(min(self._to_skip, CHUNK), decode_content=False)
            if not skipped:
                raise _WrongBytesError("shorter when asked again")
            self._to_skip -= len(skipped)
        chunk = response.raw.read(size, decode_content=False)
        self._position += len(chunk)
        return chunk

    def _call(self) -> requests.Response:
        # An encoding of the server's own choice would make the positions those of other bytes.
        headers = {"Accept-Encoding": "identity"}
        if self._position:
            headers["Range"] = f"bytes={self._position}-"
            self.resumed = True
        response = requests.get(
            self._url, headers=headers, stream=True, timeout=(CONNECT_TIMEOUT, READ_TIMEOUT)
        )
        self._response = response
        response.raise_for_status()
        start = 0
        if response.status_code == requests.codes.partial_content:
            stated = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
            start = int(stated[1]) if stated else self._position
        if start > self._position:
            raise _SourceError(f"answered from byte {start} when asked for {self._position}")
        self._to_skip = self._position - start
        return response

    def _hang_up(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None
