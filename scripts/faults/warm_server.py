"""Runs commands of ``omtl`` in forks of a process that has the package loaded and compiled.

Started as a script (`scripts.faults.runs.Server`), it takes orders on standard input, each a line
of JSON: ``folder`` to run in, ``arguments`` of the command, the files ``out`` and ``err`` for what
it prints, and ``limit``, the largest file in bytes that it may write (0 for any). The first is run
in the process itself, which answers ``ready``; each other in a fork, answered by two lines: the
fork's process id when it begins, and its exit status, or minus the signal that killed it. A fork
ends as any program does. Experiments, results and the store are those of the folder.
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

from omtl.util import paths, user_folder

# Before anything else of the package takes them.
paths.EXPERIMENTS, paths.RESULTS = Path("experiments"), Path("results")
paths.PUBLISHED = paths.RESULTS / "published"
user_folder.find = lambda: None  # the folder's experiments are the project's, not a user's

from omtl.commands._main import main  # noqa: E402


def run(order: dict[str, Any]) -> int:
    """Run a command; return its status."""
    os.chdir(order["folder"])
    os.environ["OMTL_HOME"] = "home"
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(order[name], os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    if order["limit"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["limit"], order["limit"]))
    return main(order["arguments"])


def reply(word: object) -> None:
    """Answer who gives the orders."""
    replies.write(f"{word}\n")
    replies.flush()


# Who is begun in the background ignores Ctrl-C, and so would all runs.
signal.signal(signal.SIGINT, signal.default_int_handler)

replies = os.fdopen(os.dup(1), "w")
if run(json.loads(sys.stdin.readline())):
    raise SystemExit("warm_server: the first order failed; see its file of errors")
reply("ready")
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if not child:
        break
    reply(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
else:
    os._exit(0)
reply(os.getpid())
replies.close()
raise SystemExit(run(order))
