"""Three of LAPACK's functions without Python's lock: SciPy's own wrappers of them hold it.

They are the functions of SciPy's LAPACK, to the bit, in which other threads go on meanwhile.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numba.extending import get_cython_function_address

KINDS: dict[type, type] = {str: np.bytes_, int: np.intc, float: np.float64}
"""What LAPACK is pointed to for a letter or a number of Python; arrays are what they are."""


class Function:
    """A function of LAPACK, called with Python's numbers, letters and arrays.

    Parameters
    ----------
    name : str
        Its name in ``scipy.linalg.cython_lapack``.
    n_arguments : int
        How many it takes; the last is ``info``, which a call returns.
    """

    def __init__(self, name: str, n_arguments: int) -> None:
        address = get_cython_function_address("scipy.linalg.cython_lapack", name)
        self._call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)

    def __call__(self, *arguments: str | float | np.ndarray) -> int:
        """Call it; arrays are read and written in place. Return ``info``, 0 for success."""
        info = np.zeros((), np.intc)
        pointed = [np.asarray(each, KINDS.get(type(each))) for each in arguments]
        self._call(*(each.ctypes.data for each in (*pointed, info)))
        return int(info)


_dsytrd = Function("dsytrd", 10)
_dstevd = Function("dstevd", 11)
_dstemr = Function("dstemr", 21)


def tridiagonal(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a symmetric matrix reduced to a tridiagonal one, by its lower half.

    Returns
    -------
    tuple of ndarray
        The reflectors, shape (n, n), Fortran-ordered; the diagonal (n,), what is beside it
        (n − 1,), and the reflectors' factors (n − 1,).
    """
    n = len(matrix)
    reflected = np.array(matrix, dtype=np.float64, order="F")
    diagonal, beside, tau = np.empty(n), np.empty(n - 1), np.empty(n - 1)
    work = np.empty(64 * n)
    _dsytrd("L", n, reflected, n, diagonal, beside, tau, work, work.size)
    return reflected, diagonal, beside, tau


def all_eigenpairs(diagonal: np.ndarray, beside: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the eigenvalues and vectors of a tridiagonal matrix; not 0 if it has failed."""
    n = diagonal.size
    values, rest, vectors = diagonal.copy(), beside.copy(), np.empty((n, n), order="F")
    work, iwork = np.empty(1 + 4 * n + n * n), np.empty(3 + 5 * n, dtype=np.intc)
    failed = _dstevd("V", n, values, rest, vectors, n, work, work.size, iwork, iwork.size)
    return values, vectors, failed


def some_eigenpairs(
    diagonal: np.ndarray, beside: np.ndarray, first: int, count: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return `count` eigenvalues from the `first` on, counted from 0, and vectors; as above."""
    n = diagonal.size
    values, vectors = np.empty(n), np.empty((n, count), order="F")
    main, rest = diagonal.copy(), np.append(beside, 0.0)
    support = np.empty(2 * count, dtype=np.intc)
    work, iwork = np.empty(18 * n), np.empty(10 * n, dtype=np.intc)
    failed = _dstemr(
        "V",
        "I",
        n,
        main,
        rest,
        0.0,
        0.0,
        first + 1,
        first + count,
        0,
        values,
        vectors,
        n,
        count,
        support,
        1,
        work,
        work.size,
        iwork,
        iwork.size,
    )
    return values[:count], vectors, failed
