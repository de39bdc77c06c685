"""Squared norms of rows in compiled code, with NumPy's and SciPy's order of sums.

The harness uses the norms computed by `omtl.data.rows.square_norms`. These are bit-identical,
without a call or a temporary array per row; `same_as_numpy` checks this at run time, because NumPy
may sum in another order on another CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from scipy import sparse

from omtl.data.rows import square_norms
from omtl.kernel.inlining import inlined, loop

LONGEST = 8192
"""NumPy sums longer dense rows in parts."""

LEAF = 128
"""Block size of NumPy's pairwise sum."""

PENDING = 64
"""Maximum number of pending halves in a pairwise sum: enough for any row."""


@intrinsic
def _pair_of_squares(typingctx: Any, x: Any, size: types.Type) -> tuple[Any, Callable]:  # noqa: ARG001
    """Return the sum of squares below `size`, a multiple of 8, as two sums added at the end.

    In each group of eight the last pair comes first, as in NumPy's ``einsum``.
    """
    signature = types.containers.UniTuple(types.float64, 2)(x, size)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        size = args[1]
        pair, integer = ir.VectorType(ir.DoubleType(), 2), args[1].type
        total = cgutils.alloca_once_value(builder, ir.Constant(pair, [0.0, 0.0]))
        turns = cgutils.for_range_slice(builder, integer(0), size, integer(8), integer)
        with turns as (start, _):
            for k in (6, 4, 2, 0):
                where = builder.gep(array.data, [builder.add(start, integer(k))])
                two = builder.load(builder.bitcast(where, pair.as_pointer()), align=8)
                builder.store(builder.fadd(builder.fmul(two, two), builder.load(total)), total)
        both = builder.load(total)
        lanes = [builder.extract_element(both, ir.IntType(32)(k)) for k in range(2)]
        return context.make_tuple(builder, signature.return_type, lanes)

    return signature, generate


@inlined
def dense_square_norm(x):
    """Return the squared norm of a contiguous vector, summed as by ``einsum``."""
    n = x.size
    whole = n - n % 8
    even, odd = _pair_of_squares(x, whole)
    for k in range(whole, n - 1, 2):
        even += x[k] * x[k]
        odd += x[k + 1] * x[k + 1]
    if n % 2:
        even += x[n - 1] * x[n - 1]
    return even + odd


@inlined
def _leaf(x, start, n):
    if n < 8:
        total = -0.0
        for k in range(start, start + n):
            total += x[k] * x[k]
        return total
    s0, s1 = x[start] * x[start], x[start + 1] * x[start + 1]
    s2, s3 = x[start + 2] * x[start + 2], x[start + 3] * x[start + 3]
    s4, s5 = x[start + 4] * x[start + 4], x[start + 5] * x[start + 5]
    s6, s7 = x[start + 6] * x[start + 6], x[start + 7] * x[start + 7]
    whole = start + n - n % 8
    for k in range(start + 8, whole, 8):
        s0 += x[k] * x[k]
        s1 += x[k + 1] * x[k + 1]
        s2 += x[k + 2] * x[k + 2]
        s3 += x[k + 3] * x[k + 3]
        s4 += x[k + 4] * x[k + 4]
        s5 += x[k + 5] * x[k + 5]
        s6 += x[k + 6] * x[k + 6]
        s7 += x[k + 7] * x[k + 7]
    total = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    for k in range(whole, start + n):
        total += x[k] * x[k]
    return total


@inlined
def sparse_square_norm(x, start, end, at, left, sums):
    """Return the squared norm of nonzeros `start` to `end` - 1, summed as by ``np.add.reduceat``.

    `at`, `left` and `sums`, of shape (`PENDING`,), are memory for the pending halves.
    """
    if start == end:
        return 0.0
    first = x[start] * x[start]
    begin, n, depth = start + 1, end - start - 1, 0
    if n == 0:
        return first
    while True:
        while n > LEAF:
            half = n // 2
            half -= half % 8
            at[depth], left[depth] = begin + half, n - half
            depth += 1
            n = half
        total = _leaf(x, begin, n)
        while depth > 0 and left[depth - 1] < 0:
            depth -= 1
            total = sums[depth] + total
        if depth == 0:
            return first + total
        sums[depth - 1] = total
        begin, n = at[depth - 1], left[depth - 1]
        left[depth - 1] = -1


def _norms_of_dense(X, out):
    for i in range(X.shape[0]):
        out[i] = dense_square_norm(X[i])


def _norms_of_sparse(indptr, values, out, at, left, sums):
    for i in range(out.size):
        out[i] = sparse_square_norm(values, indptr[i], indptr[i + 1], at, left, sums)


norms_of_dense = loop(_norms_of_dense)
norms_of_sparse = loop(_norms_of_sparse)


def pending() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return memory for the halves of a pairwise sum."""
    return np.zeros(PENDING, np.int64), np.zeros(PENDING, np.int64), np.zeros(PENDING)


@cache
def same_as_numpy(width: int, is_sparse: bool) -> bool:
    """Whether norms of rows of this width equal NumPy's bit for bit, tested on 32 rows."""
    rng = np.random.default_rng(width)
    if not is_sparse:
        if width > LONGEST:
            return False
        X = rng.standard_normal((32, width))
        found = np.empty(32)
        norms_of_dense(X, found)
        return bool(np.array_equal(found, square_norms(X)))
    lengths = np.minimum(np.r_[np.arange(20), np.geomspace(1, 5000, 12).astype(int)], 5000)
    indptr = np.r_[0, np.cumsum(lengths)].astype(np.int64)
    values = rng.standard_normal(indptr[-1])
    indices = np.concatenate([np.arange(n) for n in lengths])
    found = np.empty(lengths.size)
    norms_of_sparse(indptr, values, found, *pending())
    X = sparse.csr_array((values, indices, indptr), shape=(lengths.size, 5001))
    return bool(np.array_equal(found, square_norms(X)))
