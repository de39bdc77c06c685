"""Writing files atomically, and noticing that a file has changed."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path

from omtl.util.errors import WriteError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

IN_WORK = ".writing-"
"""Prefix of the names of temporary files."""

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Error codes of locking on file systems without locks, such as some on clusters."""


State = tuple[int, int, int]


def file_state(path: Path) -> State:
    """Return what changes with a file: time, size and inode; zeros if there is none."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return found.st_mtime_ns, found.st_size, found.st_ino


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that readers find the old or the new content, never a part.

    Text is written as UTF-8 with unchanged line ends. Missing folders are created. Temporary files
    of killed processes in the folder are removed.

    Raises
    ------
    WriteError
        If the file cannot be written; an existing file is unchanged.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_over(path.parent)
        handle, name = _new_part(path.parent)
        try:
            with os.fdopen(handle, "wb") as part:
                part.write(data)
                part.flush()
                os.fsync(part.fileno())
                Path(name).chmod(0o644)
                if fcntl is None:  # Windows cannot rename an open file
                    part.close()
                Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as fault:
        raise cannot_write(path, fault) from fault


def append(path: Path, rows: str, header: str) -> None:
    """Add lines to the end of a file under its lock, the header first where it is new.

    Others may add to it at the same time: nothing that is there is read and written again.

    Raises
    ------
    WriteError
        If the file cannot be written; it then is as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:  # one write, in one piece also without locks
            _lock(file.fileno())
            before = os.fstat(file.fileno()).st_size
            data = (("" if before else header) + rows).encode()
            try:
                if file.write(data) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(before)
                raise
    except OSError as fault:
        raise cannot_write(path, fault) from fault


def cannot_write(path: Path | str, fault: OSError) -> WriteError:
    """Return the error that says where and why writing failed, and what to do."""
    return WriteError(
        f"{path} cannot be written ({fault.strerror or fault}); make room or let it be written to, "
        "then run the same command again: finished units are kept"
    )


def _new_part(folder: Path) -> tuple[int, str]:
    """Return a new temporary file, open and locked; the lock ends with the process."""
    while True:
        handle, name = tempfile.mkstemp(dir=folder, prefix=IN_WORK)
        try:
            _lock(handle)
            if os.fstat(handle).st_nlink:
                return handle, name
        except BaseException:
            os.close(handle)
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
        os.close(handle)  # removed as a left-over before it was locked


def _lock(handle: int) -> None:
    """Lock a file that is open for writing, if the file system has locks."""
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as fault:
        if fault.errno not in NO_LOCKS:
            raise


def _remove_left_over(folder: Path) -> None:
    """Remove temporary files that no process uses."""
    if fcntl is None:
        return
    for part in folder.glob(f"{IN_WORK}*"):
        with contextlib.suppress(OSError), part.open("rb+") as file:  # gone, or in use
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()
