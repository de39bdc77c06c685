"""The environment of a run: versions, commit, machine."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from omtl.util.paths import CHECKOUT

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "pandas", "joblib")


@lru_cache
def host() -> dict[str, Any]:
    """Return the environment of the results: versions, commit, machine."""
    return {
        "python": platform.python_version(),
        "packages": {name: installed_version(name) or "not installed" for name in PACKAGES},
        "commit": commit(),
        "machine": platform.machine(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": platform.system(),
    }


def installed_version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def peak_mib() -> int | None:
    """Return the most memory that this process has used, in MiB; None where it is not known."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def commit() -> str:
    """Return the checkout's commit, with ``+`` if files of the project differ from it."""
    if CHECKOUT is None:
        return "unknown"

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(CHECKOUT), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!results")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def cpu_name() -> str:
    """Return the CPU's name if the system provides it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
