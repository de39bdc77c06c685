"""Resolve the requirements anew and lock them by hash, with no index address in the files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "requirements"
FLAGS = "--universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url"

for name in ("build", "run", "engines", "test"):
    command = ["pip", "compile", f"{name}.in", "--output-file", f"{name}.lock", "--upgrade"]
    unsafe = ["--no-strip-extras", "--quiet"]
    result = subprocess.run(
        [sys.executable, "-m", "uv", *command, *FLAGS.split(), *unsafe], cwd=FOLDER, check=False
    )
    if result.returncode:
        sys.exit(result.returncode)
