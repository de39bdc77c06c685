"""Programs in processes of their own, and their environment."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from omtl import commands
from omtl.compute.store import Store
from omtl.util.paths import ROOT

Done = subprocess.CompletedProcess[str]


def environment(home: Path) -> dict[str, str]:
    """Return an environment of its own: no folder of one's own, no compiled code of others."""
    kept = {k: v for k, v in os.environ.items() if k not in ("OMTL_OWN", "NUMBA_CACHE_DIR")}
    return kept | {"OMTL_HOME": str(home), "OMTL_OFFLINE": "1", "PYTHONPATH": str(ROOT)}


def ended(*command: str, status: int = 0, cwd: Path = ROOT, **how: Any) -> Done:
    """Run a program, and assert that it ends with a status."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **how)
    assert done.returncode == status, f"{command}: {done.stdout}{done.stderr}"
    return done


def python(*words: str, **how: Any) -> Done:
    """Run Python (`ended`)."""
    return ended(sys.executable, *words, **how)


LINES = """
import runpy, shlex, sys
from omtl.commands._main import main
for line in sys.argv[1:]:
    program, *words = shlex.split(line)
    print(end="\\f")
    if program == "omtl":
        assert main(words) == 0, line
    else:
        runpy.run_path(*words)
"""


def told_by(*lines: str, **how: Any) -> list[str]:
    """Run lines of ``omtl`` and ``python`` one after the other, all in one process (`ended`).

    Return what each of them prints.
    """
    return python("-P", "-c", LINES, *lines, **how).stdout.split("\f")[1:]


def started(home: Path, *words: str, units: int) -> subprocess.Popen[str]:
    """Start `omtl run` with minutes of repeats; return it once some units are in the store."""
    long = ("algorithm=pm", "dataset.options.n_examples=10000", "repeats=2000")
    command = [sys.executable, "-m", "omtl", "run", *long, *words]
    how: dict[str, Any] = {"cwd": ROOT, "env": environment(home), "text": True}
    run = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, **how)
    until = time.monotonic() + 300
    while len(Store(home / "store").keys()) < units:
        assert run.poll() is None
        assert time.monotonic() < until
        time.sleep(0.1)
    return run


def command_names() -> list[str]:
    """Return all commands as they are typed: ``table``, ``store push``."""
    before = f"{commands.__name__}."
    found = [one.name for one in walk_packages(commands.__path__, before) if not one.ispkg]
    names = [name.removeprefix(before).replace(".", " ") for name in found]
    return [name for name in names if not name.startswith("_")]
