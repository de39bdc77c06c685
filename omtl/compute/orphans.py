"""Making workers end with the process that started them, however it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
"""Linux's request for a signal when the parent ends (prctl(2))."""

LOOK_EVERY = 1.0
"""Seconds between checks of the parent on systems without notification."""


def end_with(parent: int) -> None:
    """End this process as soon as its parent has ended, also by SIGKILL.

    Parameters
    ----------
    parent : int
        The id of the process that started this one.
    """
    try:
        asked = sys.platform == "linux" and not ctypes.CDLL(None).prctl(
            PR_SET_PDEATHSIG, signal.SIGKILL
        )
    except (AttributeError, OSError):
        asked = False
    if not asked:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # the parent ended before the request
        os._exit(1)


def _watch(parent: int) -> None:
    """End this process when another one has become its parent."""
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY)
    os._exit(1)
