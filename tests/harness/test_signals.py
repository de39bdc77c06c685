"""How the program ends leaves no trace in the Python that called it."""

from __future__ import annotations

import os
import signal
import time

import pytest

from omtl.util.signals import SIGNALS, ended
from omtl.util.status import INTERRUPTED, TERMINATED


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)]
)
def test_a_stop_leaves_the_callers_handlers(number: int, status: int) -> None:
    """After it, Ctrl-C and SIGTERM do what they did before, a second time too."""
    left = signal.signal(signal.SIGINT, signal.default_int_handler)  # as another test left it
    earlier = [signal.getsignal(one) for one in SIGNALS]

    def job() -> int:
        os.kill(os.getpid(), number)
        time.sleep(10.0)  # which the signal ends
        return 0

    try:
        for _ in range(2):
            assert ended(job) == status
            assert [signal.getsignal(one) for one in SIGNALS] == earlier
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler if left is None else left)
