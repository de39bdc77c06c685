"""Limiting linear algebra to one thread while units run in parallel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_LOCK = Lock()
_LIMITS: list[Any] = []
"""Restores the process's own numbers of threads; one entry per running unit."""


@lru_cache
def _controller() -> ThreadpoolController:
    """Return the libraries of linear algebra that NumPy and SciPy have loaded."""
    import numpy  # noqa: F401
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread; the last unit of the process that ends lifts the limit.

    The number of threads belongs to the process, and the bits of sums depend on it: the limit must
    not be lifted for a unit because a concurrent one has ended.
    """
    with _LOCK:
        # The first of several limits knows the process's own numbers.
        _LIMITS.append(None if _LIMITS else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            if len(_LIMITS) > 1:
                _LIMITS.pop()
            else:
                _LIMITS.pop().restore_original_limits()
