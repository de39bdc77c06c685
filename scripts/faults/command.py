"""``python scripts/faults/command.py FILES WORD ...``: runs ``omtl WORD ...`` in this folder.

The run is killed before it writes another file of results than the first FILES; "all" lets it end.
A line says that the package is loaded.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from omtl.commands._main import main
from omtl.util.paths import RESULTS


def die_between_files(count: int) -> None:
    """Let this process be killed when so many files have been moved into the folder of results."""
    move, moved = Path.replace, []

    def counting(path: Path, target: Any) -> Path:
        if RESULTS in Path(target).absolute().parents:
            if len(moved) == count:
                os.kill(os.getpid(), signal.SIGKILL)
            moved.append(target)
        return move(path, target)

    Path.replace = counting  # type: ignore[method-assign]


if __name__ == "__main__":
    # Who is begun in the background ignores Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.argv[1] != "all":
        die_between_files(int(sys.argv[1]))
    print("loaded", flush=True)
    raise SystemExit(main(sys.argv[2:]))
