"""Writing files atomically."""

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
"""How the names of files in work begin."""

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What locking fails with on a file system that has no locks, as some of clusters."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that whoever looks finds the old content or the new, never a part.

    Text is written as UTF-8 with the line ends that it has. Folders are made where there are none.
    What a killed process left half-written in the folder is removed.

    Raises
    ------
    WriteError
        If the file cannot be written; what was there is as it was.
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
                if fcntl is None:  # Windows renames no open file
                    part.close()
                Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as fault:
        raise cannot_write(path, fault) from fault


def cannot_write(path: Path | str, fault: OSError) -> WriteError:
    """Return the error that says where writing failed, why, and what to do."""
    return WriteError(
        f"{path} cannot be written ({fault.strerror or fault}); make room or let it be written to, "
        "then run the same command again: finished units are kept"
    )


def _new_part(folder: Path) -> tuple[int, str]:
    """Return a new file in work, open and locked: a lock ends with its process, however it ends."""
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
        os.close(handle)  # taken for a left-over before it was locked


def _lock(handle: int) -> None:
    """Lock a file in work where the system has locks; without them none is removed either."""
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as fault:
        if fault.errno not in NO_LOCKS:
            raise


def _remove_left_over(folder: Path) -> None:
    """Remove files in work that no process works on."""
    if fcntl is None:
        return
    for part in folder.glob(f"{IN_WORK}*"):
        with contextlib.suppress(OSError), part.open("rb") as file:  # gone, or in work
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()
