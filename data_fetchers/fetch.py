"""Download a data set's files: several sources in order, verified by one hash.

A file is identified by the size and the sha256 of its raw bytes, so its source does not matter: a
mirror, the canonical address, a public copy, or a person who puts the file in place. Nothing is
trusted before it is hashed, not even a file that already exists.

A download goes to a temporary folder next to its target and is moved there after verification, so
any number of processes may download the same file at once. A broken connection is resumed within
the call. The temporary folder is always removed when the call ends; later runs do not resume it.

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
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Any
from urllib.parse import quote, unquote, urldefrag, urlsplit

from omtl.util.errors import UserError
from omtl.util.paths import home_folder

MAX_ARCHIVE_BYTES = 1 << 28
"""Maximum number of bytes to read from an archive, packed and unpacked."""

_log = logging.getLogger(__name__)

CHUNK = 1 << 16
"""Bytes read at a time."""


class SourceError(Exception):
    """A source does not yield the file; the text says why in a few words."""


class WrongBytesError(SourceError):
    """A source yields the wrong bytes."""


class DataMissing(UserError):  # noqa: N818 - it reads as what is the matter
    """A data set's file is neither stored nor available from any of its sources."""


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
    sources : tuple of str
        Where to try, in order: http(s) addresses that yield the raw bytes, or of a tar.gz archive,
        with ``#`` and the file's name in it.
    """

    path: str
    sha256: str
    n_bytes: int
    sources: tuple[str, ...]


def local_path(dataset: str, file: RemoteFile, *, home: Path | None = None) -> Path:
    """Return the local path of a data set's file, where `fetch` puts it.

    Raises
    ------
    UserError
        A path leaves its folder.
    """
    folder = Path(home or os.environ.get("OMTL_DATA") or home_folder() / "data").expanduser()
    return folder / _relative(dataset, file.path)


def fetch(
    dataset: str, file: RemoteFile, *, home: Path | None = None, mirror: str | None = None
) -> Path:
    """Return the local path of a verified file, after downloading it if necessary.

    Parameters
    ----------
    dataset : str
        The data set's name, which is its folder's name too.
    file : RemoteFile
        The file.
    home : Path, optional
        The folder of all data sets; else ``OMTL_DATA``, else ``data`` in
        ``omtl.util.paths.home_folder()``.
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
    target = local_path(dataset, file, home=home)
    tried: list[str] = []
    try:
        if target.exists():
            fault = _fault(target, file)
            if fault is None:
                return target
            tried.append(f"{target}: {fault}")
            _log.warning("%s is not the file it should be (%s): replacing it", target, fault)
        target.parent.mkdir(parents=True, exist_ok=True)
        mirror = mirror or os.environ.get("OMTL_DATA_MIRROR") or None
        for place in _places(file, target, relative, mirror):
            try:
                _store(place, file, target)
            except SourceError as refusal:
                tried.append(f"{place.at}: {refusal}")
            else:
                return target
    except OSError as fault:
        raise UserError(
            f"{target} cannot be read or written ({fault.strerror or fault}): fix that, or name "
            "another folder in OMTL_DATA."
        ) from fault
    raise DataMissing(
        f"{dataset}: {file.path} ({file.n_bytes} bytes, sha256 {file.sha256}) is missing; tried "
        f"{'; '.join(tried) or 'nothing, as it has no sources'}; put it by hand at {target} (or, "
        f"gzipped, at {target}.gz), or set OMTL_DATA_MIRROR to a folder or an http(s) address that "
        f"has {relative} (or {relative}.gz)"
    )


@dataclass(frozen=True)
class _Place:
    """A source to try, and whether its copy is gzipped, or an archive with this member."""

    at: Path | str
    gzipped: bool = False
    member: str = ""


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
            f"the file {path!r} of the data set {dataset!r} would leave its folder; give a plain "
            "name for the data set and a relative path without '..' for the file"
        )
    return relative


def _fault(path: Path, file: RemoteFile) -> str | None:
    """Return what is wrong with a local file, if anything."""
    if not path.is_file():
        return "not a file"
    if (size := path.stat().st_size) != file.n_bytes:
        return f"{size} bytes instead of {file.n_bytes}"
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
                f"the mirror {mirror!r} is neither a folder nor an http(s) address; set "
                "OMTL_DATA_MIRROR to one of these"
            )
        for gzipped in (False, True):
            path = f"{relative}.gz" if gzipped else str(relative)
            address = f"{mirror.rstrip('/')}/{quote(path)}"
            yield _Place(Path(mirror).expanduser() / path if is_folder else address, gzipped)
    for source in file.sources:
        yield _Place(source, member=unquote(urldefrag(source).fragment))


def _store(place: _Place, file: RemoteFile, target: Path) -> None:
    """Store the file from one source.

    Raises
    ------
    SourceError
        If the source does not have exactly the file's bytes.
    """
    with TemporaryDirectory(prefix=".part-", dir=target.parent) as folder:
        raw = Path(folder, "raw")
        if isinstance(place.at, Path):
            _unpack(place.at, place, file, raw)
        elif os.environ.get("OMTL_OFFLINE", "0") not in ("", "0"):
            raise SourceError("not tried, as OMTL_OFFLINE is set")
        else:
            packed, limit = Path(folder, "packed"), _limit(place, file)
            url = urldefrag(place.at).url
            from data_fetchers._download import download  # requests load slowly

            resumed = download(url, packed, limit, file.path)
            try:
                _unpack(packed, place, file, raw)
            except WrongBytesError:
                if not resumed:
                    raise
                download(url, packed, limit, file.path)
                _unpack(packed, place, file, raw)
        raw.replace(target)


def _limit(place: _Place, file: RemoteFile) -> int:
    """Return the maximum number of bytes of a source as it is: plain, gzipped, or an archive."""
    if place.member:
        return MAX_ARCHIVE_BYTES
    # No sane gzip is twice its content; an endless header would be read for ever.
    return 2 * file.n_bytes + CHUNK if place.gzipped else file.n_bytes


def _unpack(packed: Path, place: _Place, file: RemoteFile, raw: Path) -> None:
    """Write a file's raw bytes, and check that they are exactly the file's."""
    size = 0
    with raw.open("wb") as handle:
        for chunk in _raw_bytes(packed, place, _limit(place, file)):
            size += handle.write(chunk)
            if size > file.n_bytes:
                raise WrongBytesError(f"more than {file.n_bytes} bytes")
    if fault := _fault(raw, file):
        raise WrongBytesError(fault)


def _raw_bytes(packed: Path, place: _Place, limit: int) -> Iterator[bytes]:
    """Yield the raw bytes of the file from a local copy of a source."""
    try:
        with packed.open("rb") as stream:
            content: Any = stream
            if place.member:
                content = _member(_Bounded(gzip.GzipFile(fileobj=stream), limit), place.member)
            elif place.gzipped:
                content = gzip.GzipFile(fileobj=_Bounded(stream, limit))
            while chunk := content.read(CHUNK):
                yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError) as fault:
        raise WrongBytesError(f"broken archive: {fault}") from fault
    except OSError as fault:
        raise SourceError(fault.strerror or str(fault)) from fault


def _member(unpacked: Any, name: str) -> IO[bytes] | None:
    """Return one member of a tar archive, in which nothing else is unpacked."""
    tar = tarfile.open(fileobj=unpacked, mode="r|")  # noqa: SIM115
    while (member := tar.next()) is not None:
        if member.name == name and member.isreg():
            return tar.extractfile(member)
        # tarfile's list of members would let an archive fill the memory.
        tar.members.clear()  # type: ignore[attr-defined]
    raise WrongBytesError(f"no file {name} in the archive")


class _Bounded(io.RawIOBase):
    """A stream that fails if it has more than a maximum number of bytes."""

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
            raise WrongBytesError(f"more than {self._limit} bytes to read through")
        buffer[: len(chunk)] = chunk
        return len(chunk)
