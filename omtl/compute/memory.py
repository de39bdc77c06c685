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
"""What, written to ``/proc/self/clear_refs``, makes Linux measure the peak from now on."""

_BEGINNING = Lock()
_begun: list[str] = []
_known = True


def peak_mib() -> float:
    """Return the most memory that this process has held at a time, in MiB.

    On Linux it is since `begin`. Linux also counts in ``getrusage`` what the process held before it
    became this program, by which a small worker of a large parent looks large; ``/proc`` does not.
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
    """Measure the peak of this process from now on, and of its workers when they `follow`."""
    follow(uuid4().hex)


def mark() -> str:
    """Return what workers are to `follow`; empty where nothing was begun."""
    return _begun[-1] if _begun else ""


def follow(mark: str) -> None:
    """Measure the peak of this process anew, unless that has been done for this mark.

    What is free is given back first, as the peak begins with what the process holds.
    """
    global _known
    with _BEGINNING:
        if not mark or mark in _begun:
            return
        with suppress(AttributeError, OSError, TypeError):  # of other systems than Linux
            ctypes.CDLL(None).malloc_trim(0)
        try:
            Path("/proc/self/clear_refs").write_text(RESET_PEAK, encoding="ascii")
            _known = True
        except OSError:
            _known = not _begun  # what this process held before was to begin
        _begun[:] = [mark]


def peak_since() -> float | None:
    """Return the most memory held since the last mark, in MiB; None where no one can tell."""
    return peak_mib() if _known else None
