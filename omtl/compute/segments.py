"""Append-only files of records, so that many small results need few files.

A record is a header of fixed size and a payload. The header has the payload's hash and a checksum
of its own: what is torn or damaged is never taken for a record, and those after it are still found.
Whoever appends holds a lock; where there are no locks, a process appends only to files that it has
made. Nothing else is shared, so this also works on the file systems of clusters.
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
"""Bytes above which a file is not appended to."""


class Record(NamedTuple):
    """Where a record is, and what its header says.

    Parameters
    ----------
    path : Path
        The file.
    begin, end : int
        Of the payload, in bytes.
    key, hash : bytes
        Of a unit, and of the payload.
    question, code : bytes
        Hashes of what the unit asks, whatever the code, and of the parts of its code.
    """

    path: Path
    begin: int
    end: int
    key: bytes
    hash: bytes
    question: bytes
    code: bytes

    def payload(self) -> bytes | None:
        """Return the payload; None where it is not what was written.

        Raises
        ------
        OSError
            If it cannot be read.
        """
        with self.path.open("rb", buffering=0) as file:
            content = _read(file, self.begin, self.end - self.begin)
        return content if hashlib.sha256(content).digest() == self.hash else None


class Damage(NamedTuple):
    """Bytes of a file that are no record."""

    path: Path
    begin: int
    end: int


def packed(key: bytes, question: bytes, code: bytes, payload: bytes) -> bytes:
    """Return a record as it is written."""
    digest = hashlib.sha256(payload).digest()
    header = HEADER.pack(MAGIC, len(payload), key, digest, question, code, 0)
    return header[:-4] + zlib.crc32(header[:-4]).to_bytes(4, "little") + payload


def record_of(content: bytes, path: Path, begin: int) -> Record:
    """Return the record that `packed` made, which begins at a place of a file."""
    header = _header(content[: HEADER.size])
    assert header is not None
    return Record(path, begin + HEADER.size, begin + len(content), *header[1:])


def scan(path: Path, begin: int = 0) -> Iterator[Record | Damage]:
    """Yield the records of a file, in order; a part of one that stands at its end is left out.

    Parameters
    ----------
    path : Path
    begin : int
        Where a record begins.

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
    """Return what a header says after the magic; None where it is none."""
    if len(content) < HEADER.size:
        return None
    magic, *facts, checksum = HEADER.unpack(content)
    if magic != MAGIC or zlib.crc32(content[:-4]) != checksum:
        return None
    return tuple(facts)


def _next_header(file: FileIO, at: int, size: int) -> int:
    """Return where the next header is; the end of the file where there is none."""
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
    """Return so many bytes of a file, fewer where it ends before."""
    file.seek(at)
    parts = []
    while count > 0 and (part := file.read(count)):
        parts.append(part)
        count -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class Writer:
    """Appends records to a file of a folder that nobody else appends to.

    Parameters
    ----------
    folder : Path
        Made where there is none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path: Path | None = None
        self._handle: int | None = None

    def __del__(self) -> None:
        self._close()

    def append(self, content: bytes, whole: Callable[[Path], int]) -> tuple[Path, int]:
        """Append a record; return the file, and where in it the record begins.

        Parameters
        ----------
        content : bytes
            As `packed` makes it.
        whole : callable
            Tells up to where a file is known to be whole.

        Raises
        ------
        WriteError
            If it cannot be written; the file is as it was.
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
        """Bring what was appended to the disk, and let others append.

        Raises
        ------
        WriteError
            If it cannot be brought there.
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
        """Open the file that was appended to last, or another one, or a new one."""
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
        """Open a file to which nobody else appends meanwhile; return whether it is one."""
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
    """Lock an open file until it is closed; return whether it is, None where there are no locks."""
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
    """Bring the name of a new file to the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def rewrite(path: Path, keep: Callable[[Record], bool], aside: Path | None = None) -> bool:
    """Replace a file by one that has only some of its records, all of them whole.

    Returns whether it was: not where all its records stay, nor where someone may append to it.

    Parameters
    ----------
    path : Path
    keep : callable
        Says of each record whether it stays.
    aside : Path, optional
        Where the file is moved to; else it is removed.

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
                file.close()  # Windows moves no open file
            if kept:
                write_whole(path.with_name(f"{uuid4().hex[:16]}{SUFFIX}"), b"".join(kept))
            path.unlink() if aside is None else path.replace(aside)
    except FileNotFoundError:
        return False  # another process was faster
    except OSError as fault:
        raise cannot_write(path, fault) from fault
    return True
