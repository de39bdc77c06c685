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
"""What restores the process's own numbers of threads, once for each unit that runs in it."""


@lru_cache
def _controller() -> ThreadpoolController:
    """Return the libraries of linear algebra that NumPy and SciPy have loaded."""
    import numpy  # noqa: F401
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread; the last unit of the process that ends lifts the limit.

    The number of threads is the process's, and bits of sums depend on it: no unit may see it lifted
    because another one that ran beside it has ended.
    """
    with _LOCK:
        # Of several, the first limit knows the process's own numbers.
        _LIMITS.append(None if _LIMITS else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            if len(_LIMITS) > 1:
                _LIMITS.pop()
            else:
                _LIMITS.pop().restore_original_limits()
