"""Resolve what pyproject.toml asks for and lock it by hash, with no index address in the files.

Locked versions stay as they are where they still fit; ``--upgrade`` takes the newest instead.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LOCKS = {
    "build": ["requirements/build.in"],
    "run": ["pyproject.toml", "--extra", "report"],
    "tables": ["pyproject.toml", "--extra", "report", "--extra", "tables"],
    "engines": ["pyproject.toml", "--extra", "report", "--extra", "tables", "--extra", "engines"],
    "test": ["pyproject.toml", "--extra", "dev"],
}
"""What each lock holds; each is constrained by the one before, so that versions agree."""

FLAGS = (
    "--universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url "
    "--no-strip-extras --quiet"
)

if __name__ == "__main__":
    constraint: list[str] = []
    for name, sources in LOCKS.items():
        lock = f"requirements/{name}.lock"
        command = [sys.executable, "-m", "uv", "pip", "compile", *sources, "--output-file", lock]
        command += [*FLAGS.split(), *constraint, *sys.argv[1:]]
        if name != "build":
            constraint = ["-c", lock]
        result = subprocess.run(command, cwd=ROOT, check=False)
        if result.returncode:
            sys.exit(result.returncode)
