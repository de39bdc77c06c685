"""The peak memory of this process since a table began."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from uuid import uuid4

try:
    import resource
except ImportError:  # Windows
    import psutil

MIB = 1024.0**2

RESET_PEAK = "5"
"""Written to ``/proc/self/clear_refs``, this resets Linux's peak measurement."""

_BEGINNING = Lock()
_begun: list[str] = []
_known = True


def peak_mib() -> float:
    """Return the peak memory of this process, in MiB.

    On Linux the peak is measured since `begin`. Linux's ``getrusage`` includes memory from before
    the process became this program, which makes a small worker of a large parent look large;
    ``/proc`` does not.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        lines = ""
    for line in lines.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / MIB
    if "resource" not in globals():
        return psutil.Process().memory_info().peak_wset / MIB
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB


def begin() -> None:
    """Reset the peak of this process, and of its workers when they `follow`."""
    follow(uuid4().hex)


def mark() -> str:
    """Return the mark for workers to `follow`; empty before the first `begin`."""
    return _begun[-1] if _begun else ""


def follow(mark: str) -> None:
    """Reset the peak of this process, once per mark.

    Free memory is released first, because the new peak starts at the current size.
    """
    global _known
    with _BEGINNING:
        if not mark or mark in _begun:
            return
        with suppress(AttributeError, OSError, TypeError):  # on systems other than Linux
            ctypes.CDLL(None).malloc_trim(0)
        try:
            Path("/proc/self/clear_refs").write_text(RESET_PEAK, encoding="ascii")
            _known = True
        except OSError:
            _known = not _begun  # the mark before the first `begin`
        _begun[:] = [mark]


def peak_since() -> float | None:
    """Return the peak memory since the last mark, in MiB; None if unknown."""
    return peak_mib() if _known else None
