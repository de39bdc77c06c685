"""Units computed apart: in a process of its own, which may hang, die or be killed alone.

Learners of a user's own are computed so, and all learners where a unit has a limit of time or
memory. A worker keeps its process from unit to unit and starts another one where it was lost.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from omtl.compute.orphans import end_with
from omtl.util.paths import PACKAGE

LOOK_EVERY = 1.0
"""Seconds between two looks whether a process still runs whose pipe others may hold open."""


class Lost(Exception):  # noqa: N818 - it reads as what is the matter
    """The process gave no answer; the text says why."""


class Apart:
    """A process that calls a function of this package for whoever started it.

    Parameters
    ----------
    mib : int, optional
        Memory that it may have; else as much as the machine has.
    """

    def __init__(self, mib: int | None = None) -> None:
        self._ours, theirs = Pipe()
        words = [
            sys.executable,
            "-m",
            "omtl.compute.own_process",
            theirs.fileno(),
            os.getpid(),
            mib or 0,
        ]
        paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
        with theirs:
            self._process = subprocess.Popen(
                list(map(str, words)),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )

    def ask(self, function: Callable[..., Any], *given: Any, seconds: float | None = None) -> Any:
        """Return what a function returns there.

        Raises
        ------
        Lost
            If it dies or does not answer in time, and is gone then, or raises no `Exception`.
        Exception
            What the function raises.
        """
        until = None if seconds is None else time.monotonic() + seconds
        try:
            self._ours.send((function, given))
            while not self._ours.poll(LOOK_EVERY):
                if self._process.poll() is not None and not self._ours.poll():
                    raise EOFError
                if until is not None and time.monotonic() > until:
                    raise Lost(f"it was not done after {seconds:g} seconds, its limit")
            returned, raised = self._ours.recv()
        except (EOFError, OSError) as fault:
            raise Lost(self._end()) from fault
        except BaseException:
            self.kill()
            raise
        if isinstance(raised, Exception):
            raise raised
        if raised is not None:  # such as KeyboardInterrupt, which is not that of this process
            raise Lost(f"it raised {type(raised).__name__}")
        return returned

    def is_lost(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End the process and those that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._ours.close()

    def _end(self) -> str:
        """Return how the process ended; make sure that it has."""
        try:
            status = self._process.wait(LOOK_EVERY)
        except subprocess.TimeoutExpired:
            status = None
        self.kill()
        if status is None:
            return "its process no longer answered"
        if status >= 0:
            return f"its process ended itself with status {status}"
        why = ", as the system does where memory runs out" * (status == -signal.SIGKILL)
        return f"its process died of {signal.Signals(-status).name}{why}"


def _limit_memory(mib: int) -> None:
    """Bound this process's memory; where all is used up, let the system end this one first."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (mib * 2**20 or whole,) * 2)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def answer(place: int, parent: int, mib: int) -> None:
    """Call what is asked for, until nobody asks."""
    end_with(parent)
    _limit_memory(mib)
    me = os.getpid()
    with Connection(place) as connection:
        while True:
            try:
                function, given = connection.recv()
            except EOFError:
                return
            try:
                answered: tuple[Any, BaseException | None] = function(*given), None
            except BaseException as fault:  # whatever it is, the one who asks is to know
                answered = None, fault
            if os.getpid() != me:  # what was called has forked: one answer is enough
                os._exit(1)
            connection.send(answered)


if __name__ == "__main__":
    answer(*map(int, sys.argv[1:]))
