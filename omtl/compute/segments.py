"""Append-only files of records, so that many small results need few files.

A record is a header of fixed size and a payload. The header contains the payload's hash and its own
checksum: torn or damaged data are never mistaken for a record, and later records are still found.
A process that appends holds a lock; without locks, it appends only to files that it has created.
Nothing else is shared, so this also works on the file systems of clusters.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from omtl.util.files import NO_LOCKS, cannot_write, fcntl, write_whole

SUFFIX = ".units"
MAGIC = b"\nomtl\3\r\n"
HEADER = struct.Struct("<8sQ32s32s16s40sI")
"""Magic, length of the payload, key, hash, question, code; a checksum of all these."""

BINARY = getattr(os, "O_BINARY", 0)  # Windows

LARGE = 2**28
"""Size in bytes above which no more is appended to a file."""


class Record(NamedTuple):
    """The place of a record, and its header.

    Parameters
    ----------
    path : Path
        The file.
    begin, end : int
        Start and end of the payload, in bytes.
    key, hash : bytes
        The unit's key, and the payload's hash.
    question, code : bytes
        Hashes of the unit's question, without its code, and of the parts of its code.
    """

    path: Path
    begin: int
    end: int
    key: bytes
    hash: bytes
    question: bytes
    code: bytes

    def payload(self) -> bytes | None:
        """Return the payload; None if it is damaged.

        Raises
        ------
        OSError
            If it cannot be read.
        """
        with self.path.open("rb", buffering=0) as file:
            content = _read(file, self.begin, self.end - self.begin)
        return content if hashlib.sha256(content).digest() == self.hash else None


class Damage(NamedTuple):
    """Bytes of a file that are not part of a record."""

    path: Path
    begin: int
    end: int


def packed(key: bytes, question: bytes, code: bytes, payload: bytes) -> bytes:
    """Return a record in its file format."""
    digest = hashlib.sha256(payload).digest()
    header = HEADER.pack(MAGIC, len(payload), key, digest, question, code, 0)
    return header[:-4] + zlib.crc32(header[:-4]).to_bytes(4, "little") + payload


def record_of(content: bytes, path: Path, begin: int) -> Record:
    """Return the record made by `packed` at a position in a file."""
    header = _header(content[: HEADER.size])
    assert header is not None
    return Record(path, begin + HEADER.size, begin + len(content), *header[1:])


def scan(path: Path, begin: int = 0) -> Iterator[Record | Damage]:
    """Yield the records of a file, in order, without an incomplete one at the end.

    Parameters
    ----------
    path : Path
    begin : int
        The position of a record.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        size, at = os.fstat(file.fileno()).st_size, begin
        while at + HEADER.size <= size:
            header = _header(_read(file, at, HEADER.size))
            if header is None:
                found = _next_header(file, at + 1, size)
                yield Damage(path, at, found)
                at = found
                continue
            length, *facts = header
            first, at = at + HEADER.size, at + HEADER.size + length
            if at > size:
                return
            yield Record(path, first, at, *facts)


def _header(content: bytes) -> tuple[int, bytes, bytes, bytes, bytes] | None:
    """Return the fields of a header after the magic; None if it is invalid."""
    if len(content) < HEADER.size:
        return None
    magic, *facts, checksum = HEADER.unpack(content)
    if magic != MAGIC or zlib.crc32(content[:-4]) != checksum:
        return None
    return tuple(facts)


def _next_header(file: FileIO, at: int, size: int) -> int:
    """Return the position of the next header, or the end of the file."""
    while at < size:
        content = _read(file, at, 2**20)
        place = content.find(MAGIC)
        if place < 0:
            at += max(1, len(content) - len(MAGIC) + 1)
        elif _header(_read(file, at + place, HEADER.size)) is not None:
            return at + place
        else:
            at += place + 1
    return size


def _read(file: FileIO, at: int, count: int) -> bytes:
    """Return this many bytes of a file, or fewer at its end."""
    file.seek(at)
    parts = []
    while count > 0 and (part := file.read(count)):
        parts.append(part)
        count -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class Writer:
    """Appends records to a file to which no other process appends.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path: Path | None = None
        self._handle: int | None = None

    def __del__(self) -> None:
        self._close()

    def append(self, content: bytes, whole: Callable[[Path], int]) -> tuple[Path, int]:
        """Append a record; return the file and the record's position.

        Parameters
        ----------
        content : bytes
            As made by `packed`.
        whole : callable
            Returns the position up to which a file is known to be intact.

        Raises
        ------
        WriteError
            If it cannot be written; the file is unchanged.
        """
        try:
            if self._handle is None:
                self._open(whole)
            assert self._path is not None
            assert self._handle is not None
            begin = os.fstat(self._handle).st_size
            try:
                rest = memoryview(content)
                while rest:
                    rest = rest[os.write(self._handle, rest) :]
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(self._handle, begin)
                raise
        except OSError as fault:
            self._close()
            raise cannot_write(self._path or self._folder, fault) from fault
        return self._path, begin

    def sync(self) -> None:
        """Flush appended records to disk, and let others append.

        Raises
        ------
        WriteError
            If flushing fails.
        """
        if self._handle is None:
            return
        try:
            os.fsync(self._handle)
        except OSError as fault:
            raise cannot_write(self._path or self._folder, fault) from fault
        finally:
            self._close()

    def _close(self) -> None:
        if self._handle is not None:
            with suppress(OSError):
                os.close(self._handle)
        self._handle = None

    def _open(self, whole: Callable[[Path], int]) -> None:
        """Open the file last appended to, or another one, or a new one."""
        self._folder.mkdir(parents=True, exist_ok=True)
        last = [self._path] if self._path else []
        for path in [*last, *sorted(self._folder.glob(f"*{SUFFIX}"))]:
            with suppress(FileNotFoundError, PermissionError):
                if self._holds(path, os.O_APPEND):
                    if whole(path) == path.stat().st_size < LARGE:
                        return
                    self._close()
        self._holds(
            self._folder / f"{uuid4().hex[:16]}{SUFFIX}", os.O_APPEND | os.O_CREAT | os.O_EXCL
        )
        _sync_folder(self._folder)

    def _holds(self, path: Path, how: int) -> bool:
        """Try to open a file to which no other process appends; return whether it worked."""
        self._handle = os.open(path, os.O_WRONLY | BINARY | how, 0o644)
        new = bool(how & os.O_CREAT)
        lock = _locked(self._handle)
        mine = new or path == self._path if lock is None else lock
        if mine and (new or os.path.samestat(os.fstat(self._handle), path.stat())):
            self._path = path
            return True
        self._close()
        return False


def _locked(handle: int) -> bool | None:
    """Lock an open file until it is closed; return the success, or None without locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as fault:
        if fault.errno in NO_LOCKS:
            return None
        raise
    return True


def _sync_folder(folder: Path) -> None:
    """Flush the name of a new file to disk, if the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def rewrite(path: Path, keep: Callable[[Record], bool], aside: Path | None = None) -> bool:
    """Replace a file by one with only some of its records, all intact.

    Returns whether it was replaced: not if all its records stay, nor if another process may append.

    Parameters
    ----------
    path : Path
    keep : callable
        Returns whether a record stays.
    aside : Path, optional
        Where to move the old file; by default it is removed.

    Raises
    ------
    WriteError
        If it cannot be written; the file stays.
    """
    try:
        with path.open("rb") as file:
            if not _locked(file.fileno()) and fcntl is not None:
                return False
            found = list(scan(path))
            kept = [
                packed(record.key, record.question, record.code, payload)
                for record in found
                if isinstance(record, Record)
                and keep(record)
                and (payload := record.payload()) is not None
            ]
            if len(kept) == len(found) and found:
                return False
            if fcntl is None:
                file.close()  # Windows cannot move an open file
            if kept:
                write_whole(path.with_name(f"{uuid4().hex[:16]}{SUFFIX}"), b"".join(kept))
            path.unlink() if aside is None else path.replace(aside)
    except FileNotFoundError:
        return False  # another process was faster
    except OSError as fault:
        raise cannot_write(path, fault) from fault
    return True
