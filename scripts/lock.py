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
    "engines": ["pyproject.toml", "--extra", "report", "--extra", "engines"],
    "test": ["pyproject.toml", "--extra", "dev"],
}
"""What each lock holds; each is constrained by the one before, so that versions agree."""

FLAGS = "--universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url"

if __name__ == "__main__":
    constraint: list[str] = []
    for name, sources in LOCKS.items():
        output = ["--output-file", f"requirements/{name}.lock"]
        command = [
            "-m",
            "uv",
            "pip",
            "compile",
            *sources,
            *output,
            *FLAGS.split(),
            *constraint,
            *sys.argv[1:],
        ]
        if name != "build":
            constraint = ["-c", f"requirements/{name}.lock"]
        result = subprocess.run(
            [sys.executable, *command, "--no-strip-extras", "--quiet"], cwd=ROOT, check=False
        )
        if result.returncode:
            sys.exit(result.returncode)
