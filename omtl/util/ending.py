"""How the program ends: its exit status, and one sentence for the user."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from omtl.util.errors import UserError
from omtl.util.user_errors import is_debugging

DONE = 0
FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141
TERMINATED = 143
"""Exit statuses of the command line."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Termination(KeyboardInterrupt):
    """The process received SIGTERM, for example from a cluster or `kill`."""


def _terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise Termination


def _discard_output() -> None:
    """Send what is still printed nowhere, because its reader or its disk takes no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _ignore_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def ended(job: Callable[[], int], exits: bool = False) -> int:
    """Run a job and return its exit status; SIGTERM stops it cleanly, like Ctrl-C.

    A `UserError` or a stop is reported in one sentence on standard error. The caller's handlers of
    signals are in place again afterwards; but where the process exits after a stop, further signals
    are ignored, as they would cut off its end.
    """
    stopped = False
    in_main = threading.current_thread() is threading.main_thread()  # other threads get no signals
    earlier = [signal.getsignal(number) for number in SIGNALS]
    if in_main:
        signal.signal(signal.SIGTERM, _terminate)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    try:
        status = job()
        sys.stdout.flush()
        return status
    except UserError as fault:
        print(f"omtl: {fault}", file=sys.stderr)
        if is_debugging():
            traceback.print_exc()
        return WRONG_USE
    except BrokenPipeError:  # the reader closed the pipe, like `head`
        _discard_output()
        return PIPE_CLOSED
    except OSError as fault:
        if fault.errno != errno.ENOSPC:
            raise
        _discard_output()
        print("omtl: the disk is full; make room, then run the same command again", file=sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt as stop:
        if in_main:  # a further signal must not cut off the message, nor the end of the process
            stopped = True
            _ignore_signals()
        print(
            "\nomtl: stopped; finished units are kept, the same command goes on from there",
            file=sys.stderr,
        )
        return TERMINATED if isinstance(stop, Termination) else INTERRUPTED
    finally:
        if in_main and not (stopped and exits):
            for number, handler in zip(SIGNALS, earlier, strict=True):
                signal.signal(number, handler)
