"""``python -m scripts.faults.command HARM WORD ...``: runs ``omtl WORD ...`` in the current folder.

HARM is JSON: ``most_bytes``, the largest file that the run may write; ``files``, the number of
result files after which it is killed. A line says that the package is loaded.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from omtl.util import paths

paths.RESULTS = Path("results")  # of this folder, before anything else of the package asks

from omtl.commands._main import main  # noqa: E402


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


if __name__ == "__main__":
    # Who is begun in the background ignores Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    harm = json.loads(sys.argv[1])
    if "most_bytes" in harm:
        resource.setrlimit(resource.RLIMIT_FSIZE, (harm["most_bytes"],) * 2)
    if "files" in harm:
        die_between_files(harm["files"])
    print("loaded", flush=True)
    raise SystemExit(main(sys.argv[2:]))
