"""Disks of a suite's own, where this process has the right to mount them."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from scripts.demands import BrokenError, demand


def mount(folder: Path, *words: str) -> None:
    """Mount something on a folder, or change what is mounted; `BrokenError` if it cannot be."""
    done = subprocess.run(["mount", *words, str(folder)], capture_output=True, check=False)
    demand(done.returncode == 0, f"mount {words}: {done.stderr.decode().strip()}")


def unmount(folder: Path) -> None:
    """Take off what is mounted on a folder."""
    mounted = Path("/proc/self/mounts")  # is_mount() does not see a folder mounted on itself
    while mounted.exists() and f" {folder} " in mounted.read_text(encoding="utf-8"):
        subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=True)


@cache
def can_mount() -> bool:
    """Whether this process may mount a disk of its own."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            mount(Path(folder), "-t", "tmpfs", "none")
        except (BrokenError, FileNotFoundError):
            return False
        unmount(Path(folder))
    return True
