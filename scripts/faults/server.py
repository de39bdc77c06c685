"""Runs commands of ``omtl`` in forks of a process that has the package loaded and compiled.

Started as a script (`scripts.faults.runs.Server`), it takes orders on standard input, each a line
of JSON: the ``folder`` to run in, its ``home``, the ``words`` of the command, a path ``log`` for
its messages (what it prints goes beside it, to ``.out``), and a ``harm`` that it suffers:
``most_bytes``, the largest file that it may write; ``files``, the number of result files after
which it is killed. The first order is run in the process itself, so that its code is compiled for
all forks. Of each other run, ``<log>.pid`` has the process id, and ``<log>.status`` the exit status
in the end, or minus the signal that killed it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from omtl.util import paths

paths.RESULTS = Path("results")  # of the order's folder, before anything else of the package asks

from omtl.commands._main import main  # noqa: E402


def run(order: dict[str, Any]) -> int:
    """Run a command; return its status."""
    os.chdir(order["folder"])
    os.environ |= {"OMTL_HOME": order["home"], "OMTL_OWN": order["folder"]}
    for number, suffix in ((1, ".out"), (2, ".log")):
        path = Path(order["log"]).with_suffix(suffix)
        os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND), number)
    harm = order["harm"]
    if "most_bytes" in harm:
        resource.setrlimit(resource.RLIMIT_FSIZE, (harm["most_bytes"],) * 2)
    if "files" in harm:
        die_between_files(harm["files"])
    return main(order["words"])


def die_between_files(count: int) -> None:
    """Let this process be killed when so many files have been moved into the folder of results."""
    move, moved = Path.replace, []

    def counting(path: Path, target: Any) -> Path:
        if paths.RESULTS.absolute() in Path(target).absolute().parents:
            if len(moved) == count:
                os.kill(os.getpid(), signal.SIGKILL)
            moved.append(target)
        return move(path, target)

    Path.replace = counting  # type: ignore[method-assign]


def begin(order: dict[str, Any]) -> bool:
    """Fork a run, and a process that waits for it; return whether this process is the run."""
    if os.fork():
        return False
    child = os.fork()
    if not child:
        os.setsid()
        return True
    log = Path(order["log"])
    paths_of = [log.with_suffix(suffix) for suffix in (".pid", ".status")]
    for path, number in zip(paths_of, (child, None), strict=True):
        if number is None:
            number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        part = path.with_suffix(path.suffix + "-")
        part.write_text(str(number), encoding="utf-8")
        part.rename(path)
    os._exit(0)


# Who is begun in the background ignores Ctrl-C, and so would all runs.
signal.signal(signal.SIGINT, signal.default_int_handler)

first = json.loads(sys.stdin.readline())
out = os.dup(1)
if run(first):
    raise SystemExit("the first order failed")
os.write(out, b"ready\n")
for line in sys.stdin:
    if begin(given := json.loads(line)):
        os.close(out)
        raise SystemExit(run(given))
os._exit(0)
