"""Download a data set's files: several sources in order, verified by one hash.

A file is identified by the size and the sha256 of its raw bytes, so its source does not matter: a
mirror, the canonical address, a public copy, or a person who puts the file in place. Nothing is
trusted before it is hashed, not even a file that already exists.

A file is put in its place at once, after verification, so any number of processes may download the
same file at the same time. A broken connection is resumed within the call; later runs do not resume
it.

The environment: ``OMTL_DATA`` is the folder of the files, ``OMTL_DATA_MIRROR`` a folder or an
http(s) address to try first, and ``OMTL_OFFLINE=1`` forbids the network.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import logging
import os
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, unquote, urldefrag, urlsplit

from omtl.util.errors import UserError
from omtl.util.files import write_whole
from omtl.util.paths import home_folder

MAX_ARCHIVE_BYTES = 1 << 28
"""Maximum number of bytes of an archive, packed and unpacked."""

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


def local_path(dataset: str, file: RemoteFile) -> Path:
    """Return the local path of a data set's file, where `fetch` puts it."""
    folder = Path(os.environ.get("OMTL_DATA") or home_folder() / "data").expanduser()
    return folder / dataset / file.path


def fetch(dataset: str, file: RemoteFile) -> Path:
    """Return the local path of a verified file, after downloading it if necessary.

    Parameters
    ----------
    dataset : str
        The data set's name, which is its folder's name too.
    file : RemoteFile
        The file.

    Returns
    -------
    Path
        ``<OMTL_DATA>/<dataset>/<path>``.

    Raises
    ------
    DataMissing
        No source yields the file.
    UserError
        The mirror is of another kind, or the file cannot be read or written.
    """
    relative, target = f"{dataset}/{file.path}", local_path(dataset, file)
    tried: list[str] = []
    try:
        if target.exists():
            fault = _fault(target.read_bytes(), file)
            if fault is None:
                return target
            tried.append(f"{target}: {fault}")
            _log.warning("%s is not the file it should be (%s): replacing it", target, fault)
        for place in _places(file, target, relative):
            try:
                content = _content(place, file)
            except SourceError as refusal:
                tried.append(f"{place.at}: {refusal}")
            else:
                write_whole(target, content)
                return target
    except OSError as fault:
        raise UserError(
            f"{target} cannot be read ({fault.strerror or fault}): fix that, or name another "
            "folder in OMTL_DATA."
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


def _fault(content: bytes, file: RemoteFile) -> str | None:
    """Return what is wrong with bytes that should be a file's, if anything."""
    if len(content) != file.n_bytes:
        return f"{len(content)} bytes instead of {file.n_bytes}"
    found = hashlib.sha256(content).hexdigest()
    return None if found == file.sha256 else f"sha256 {found}"


def _places(file: RemoteFile, target: Path, relative: str) -> Iterator[_Place]:
    by_hand = target.with_name(f"{target.name}.gz")
    if by_hand.exists():
        yield _Place(by_hand, gzipped=True)
    if mirror := os.environ.get("OMTL_DATA_MIRROR"):
        is_folder = "://" not in mirror
        if not is_folder and urlsplit(mirror).scheme not in ("http", "https"):
            raise UserError(
                f"the mirror {mirror!r} is neither a folder nor an http(s) address; set "
                "OMTL_DATA_MIRROR to one of these"
            )
        for gzipped in (False, True):
            path = f"{relative}.gz" if gzipped else relative
            address = f"{mirror.rstrip('/')}/{quote(path)}"
            yield _Place(Path(mirror).expanduser() / path if is_folder else address, gzipped)
    for source in file.sources:
        yield _Place(source, member=unquote(urldefrag(source).fragment))


def _content(place: _Place, file: RemoteFile) -> bytes:
    """Return the file's bytes from one source.

    Raises
    ------
    SourceError
        If the source does not have exactly the file's bytes.
    """
    if isinstance(place.at, Path):
        return _unpacked(place.at, place, file)
    if os.environ.get("OMTL_OFFLINE", "0") not in ("", "0"):
        raise SourceError("not tried, as OMTL_OFFLINE is set")
    from data_fetchers._download import download  # requests load slowly

    # No sane gzip is twice its content; an endless header would be read for ever.
    limit = 2 * file.n_bytes + CHUNK if place.gzipped else file.n_bytes
    limit = MAX_ARCHIVE_BYTES if place.member else limit
    with TemporaryDirectory() as folder:
        url, packed = urldefrag(place.at).url, Path(folder, "packed")
        resumed = download(url, packed, limit, file.path)
        try:
            return _unpacked(packed, place, file)
        except WrongBytesError:
            if not resumed:
                raise
            download(url, packed, limit, file.path)
            return _unpacked(packed, place, file)


def _unpacked(packed: Path, place: _Place, file: RemoteFile) -> bytes:
    """Return a file's bytes from a local copy of a source, after checking that they are these."""
    try:
        with packed.open("rb") as opened:
            unpacked = gzip.GzipFile(fileobj=opened) if place.gzipped or place.member else opened
            content = unpacked.read((MAX_ARCHIVE_BYTES if place.member else file.n_bytes) + 1)
        if place.member:
            content = _member(content, place.member, file.n_bytes)
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError) as fault:
        raise WrongBytesError(f"broken archive: {fault}") from fault
    except OSError as fault:
        raise SourceError(fault.strerror or str(fault)) from fault
    if len(content) > file.n_bytes:
        raise WrongBytesError(f"more than {file.n_bytes} bytes")
    if found := _fault(content, file):
        raise WrongBytesError(found)
    return content


def _member(archive: bytes, name: str, n_bytes: int) -> bytes:
    """Return the bytes of a member of a tar archive, in which nothing else is unpacked.

    Of a member of more than `n_bytes` it returns one more.
    """
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise WrongBytesError(f"more than {MAX_ARCHIVE_BYTES} bytes to read through")
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        while (member := tar.next()) is not None:
            if member.name == name and member.isreg():
                opened = tar.extractfile(member)
                return opened.read(n_bytes + 1) if opened else b""
            # tarfile's list of members would let an archive fill the memory.
            tar.members.clear()  # type: ignore[attr-defined]
    raise WrongBytesError(f"no file {name} in the archive")
