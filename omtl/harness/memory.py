"""How much memory this process has held."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

MIB = 1024.0**2


def peak_mib() -> float:
    """Return the most memory that this process has held at a time, in MiB.

    Linux also counts in ``getrusage`` what the process held before it became this program, by which
    a small worker of a large parent looks large; ``/proc`` does not.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        lines = ""
    for line in lines.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / MIB
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB
