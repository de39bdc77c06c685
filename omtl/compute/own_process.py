"""Isolated calls: in a process of their own, which may hang or die without harming others.

Units run there with `parallel=processes`, if they are of a user's own learner, or if they have
limits of time or memory. A thread keeps its process from call to call, and starts another one if it
was lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from omtl.util.errors import UserError
from omtl.util.paths import PACKAGE
from omtl.util.user_folder import VARIABLE

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

CAN_ISOLATE = resource is not None
"""Whether there are processes with limits; on Windows there are none."""

LOOK_EVERY = 1.0
"""Seconds between checks that a process is alive, because others may keep its pipe open."""

MOST_BYTES = 2**28
"""The longest answer of a confined process."""

PR_SET_PDEATHSIG = 1
"""Linux's request for a signal when the parent's thread ends (prctl(2))."""

BUBBLEWRAP = "bwrap"
WALLS = [BUBBLEWRAP, *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")]
WALLS += ["--unshare-net", "--die-with-parent"]
"""Runs a command without network and with files to read only, where bubblewrap is installed."""


class LostProcess(Exception):  # noqa: N818 - it reads as what is the matter
    """The process gave no answer; the text says why."""


def can_confine() -> str:
    """Return in words how far a confined process is kept from the machine."""
    if shutil.which(BUBBLEWRAP):
        return "the code ran without network, and could read files but change none"
    return (
        "the code ran with limits of time and memory, but could use the network and change files: "
        f"install {BUBBLEWRAP} (bubblewrap) to prevent it"
    )


class Apart:
    """A process that calls a function of this package for its parent.

    Parameters
    ----------
    mib : int or None
        Its memory limit; None for that of the machine.
    confined : bool
        Keep it from the network and from changing files, if bubblewrap is there. What it prints
        is dropped, and its answers are bytes.
    """

    def __init__(self, mib: int | None, confined: bool = False) -> None:
        if not CAN_ISOLATE:
            raise UserError("this needs processes with limits, which Windows lacks: use WSL")
        self._ours, theirs = Pipe()
        self._confined = confined
        walls = WALLS if confined and shutil.which(BUBBLEWRAP) else []
        numbers = (theirs.fileno(), mib or 0, int(confined))
        paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
        # Modules in the current folder must not take the place of Python's own: -P.
        words = [sys.executable, "-P", "-m", "omtl.compute.own_process", *map(str, numbers)]
        with theirs:
            self._process = subprocess.Popen(
                [*walls, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if confined else None,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )
        self.kill = weakref.finalize(self, _kill, self._process, self._ours, os.getpid())
        """End the process and those that it started; it is called when nobody has this any more."""

    def ask(self, function: Callable[..., Any], *given: Any, seconds: float | None = None) -> Any:
        """Call a function in the process and return its result.

        That of a confined process is taken as bytes, never unpickled: its code may send anything.

        Raises
        ------
        LostProcess
            If the process dies or does not answer in time, after which it is gone, or raises
            something other than an `Exception`.
        Exception
            Any exception that the function raises.
        """
        until = None if seconds is None else time.monotonic() + seconds
        try:
            self._ours.send((function, given))
            while not self._ours.poll(LOOK_EVERY):
                if self.is_lost() and not self._ours.poll():
                    raise EOFError
                if until is not None and time.monotonic() > until:
                    raise LostProcess(f"it did not finish within its limit of {seconds:g} seconds")
            if self._confined:
                return self._ours.recv_bytes(MOST_BYTES)
            returned, raised = self._ours.recv()
        except (EOFError, OSError) as fault:
            raise LostProcess(self._end()) from fault
        except BaseException:
            self.kill()
            raise
        if isinstance(raised, Exception):
            raise raised
        if raised is not None:  # such as KeyboardInterrupt, which does not concern this process
            raise LostProcess(f"it raised {type(raised).__name__}")
        return returned

    def is_lost(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def _end(self) -> str:
        """End the process if necessary, and return how it ended."""
        try:
            status = self._process.wait(LOOK_EVERY)
        except subprocess.TimeoutExpired:
            status = None
        self.kill()
        if status is None:
            return "its process no longer answered"
        if status >= 0:
            return f"its process exited with status {status}"
        why = ", as the system does when memory runs out" * (status == -signal.SIGKILL)
        return f"its process was killed by {signal.Signals(-status).name}{why}"


def _kill(process: subprocess.Popen[bytes], ours: Connection, parent: int) -> None:
    if parent == os.getpid():  # and not a fork of it
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    ours.close()


_local = threading.local()


def call_apart(
    function: Callable[..., Any], *given: Any, seconds: float | None = None, mib: int | None = None
) -> Any:
    """Call a function in the process that this thread keeps; `LostProcess` as in `Apart.ask`.

    Where there are no processes with limits, it is called here, and refused if it has any.
    """
    if not CAN_ISOLATE:
        if (seconds, mib) != (None, None):
            limits = "parallel.unit_seconds and unit_mib"
            raise LostProcess(f"{limits} do not work on this system; leave them out")
        return function(*given)
    kind = os.getpid(), mib, os.environ.get(VARIABLE)
    if getattr(_local, "kind", None) != kind or _local.process.is_lost():
        _local.kind, _local.process = kind, Apart(mib)
    return _local.process.ask(function, *given, seconds=seconds)


def _end_with_parent() -> None:
    """Let this process end as soon as its parent's thread has ended, also by SIGKILL, on Linux.

    Elsewhere it ends with the call that it answers, by the end of the pipe.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit_memory(mib: int) -> None:
    """Limit this process's memory; if the machine runs out, let the system end this one first."""
    import scipy.linalg  # noqa: F401 - OpenBLAS waits for ever for memory that it lacks on loading

    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (mib * 2**20 or whole,) * 2)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


NO_MEMORY = pickle.dumps((None, MemoryError()))
"""The answer of a process that has no memory left for one."""


def answer(place: int, mib: int, as_bytes: int) -> None:
    """Answer calls until the pipe closes, or the parent ends.

    With `as_bytes` answers are bytes; an exception ends the process.
    """
    _end_with_parent()
    me = os.getpid()
    with Connection(place) as connection, contextlib.suppress(EOFError):
        while True:
            function, given = connection.recv()  # which imports what it is made of
            _limit_memory(mib)
            if as_bytes:
                connection.send_bytes(function(*given))
                continue
            try:
                answered: tuple[Any, BaseException | None] = function(*given), None
            except BaseException as fault:  # report any error to the caller
                answered = None, fault
            if os.getpid() != me:  # the function has forked: one answer is enough
                os._exit(1)
            try:
                connection.send(answered)
            except MemoryError:  # there is none left to pickle an answer
                connection.send_bytes(NO_MEMORY)


if __name__ == "__main__":
    answer(*map(int, sys.argv[1:]))
