"""Products and steps that are taken in one pass: what they have in common is read once.

They are those of `omtl.ops`, to the bit. Sparse rows gain nothing from most of them, and have them
one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload, register_jitable

from omtl.ops import BLOCK, BORROWED, LANES, DenseRows, Rows, axpy, dot, dot_one, dots


def dot_three(
    u: np.ndarray, v: np.ndarray, w: np.ndarray, rows: Rows, i: int
) -> tuple[float, float, float]:
    """Return the inner products of three dense vectors and row `i`."""
    return dot(u, rows, i), dot(v, rows, i), dot(w, rows, i)


def dot_all(W: np.ndarray, rows: Rows, i: int, first: int, last: int, out: np.ndarray) -> None:
    """Put the inner products of row `i` and ``W[first:last]`` in ``out[first:last]``.

    Parameters
    ----------
    W : ndarray of shape (n_vectors, at least n_features)
        The vectors, from `omtl.ops.zero_vectors` if the rows are sparse; more numbers than there
        are features are left alone.
    rows, i, first, last, out
        The row, which of the vectors, and memory of shape (n_vectors,).
    """
    for j in range(first, last):
        w = W[j, : rows.X.shape[1]] if isinstance(rows, DenseRows) else np.ascontiguousarray(W[j])
        out[j] = dot(w, rows, i)


def dots_fused(W: np.ndarray, rows: Rows, i: int, first: int, last: int, sums: np.ndarray) -> None:
    """Put products in ``sums[0, first:last]``, as `omtl.ops.dots`."""
    dots(W, rows, i, first, last, sums)


def axpy_two(a: float, v: np.ndarray, b: float, w: np.ndarray, rows: Rows, i: int) -> None:
    """Add `a` times row `i` to `v` and `b` times it to `w`, in place."""
    axpy(a, rows, i, v)
    axpy(b, rows, i, w)


def axpy_all(a: np.ndarray, rows: Rows, which: np.ndarray, n: int, w: np.ndarray) -> None:
    """Add ``a[e]`` times row ``which[e]`` to a dense vector, in turn for e below `n`, in place."""
    for e in range(n):
        axpy(a[e], rows, which[e], w)


@intrinsic
def _lane_sums(
    typingctx: Any,  # noqa: ARG001 - numba's calling convention
    vectors: Any,
    x: types.Type,
    size: types.Type,
) -> tuple[Any, Callable]:
    """Sum w[i] * x[i] for each of a tuple of vectors w, as the intrinsic of `omtl.ops` does."""
    results = types.Tuple([types.float64] * vectors.count)  # type: ignore[attr-defined]
    signature = results(vectors, x, size)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        def array(kind: types.Type, value: ir.Value) -> Any:
            return context.make_array(kind)(context, builder, value)

        vectors, x, size = args
        kinds = list(signature.args[0])
        left = [
            array(kind, value)
            for kind, value in zip(kinds, cgutils.unpack_tuple(builder, vectors), strict=True)
        ]
        right = array(signature.args[1], x)
        block = ir.VectorType(ir.DoubleType(), LANES)
        zero = ir.Constant(block, [0.0] * LANES)
        parts = range(BLOCK // LANES)
        sums = [[cgutils.alloca_once_value(builder, zero) for _ in parts] for _ in left]
        integer = size.type

        def at(array: Any, place: ir.Value) -> ir.Value:
            where = builder.gep(array.data, [place])
            return builder.load(builder.bitcast(where, block.as_pointer()), align=8)

        with cgutils.for_range_slice(builder, integer(0), size, integer(BLOCK), integer) as (
            start,
            _,
        ):
            for k in parts:
                place = builder.add(start, integer(k * LANES))
                numbers = at(right, place)
                for one, total in zip(left, sums, strict=True):
                    product = builder.fmul(at(one, place), numbers)
                    builder.store(builder.fadd(builder.load(total[k]), product), total[k])
        folded = []
        for total in sums:
            both = builder.fadd(*(builder.load(part) for part in total))
            lanes = [builder.extract_element(both, ir.IntType(32)(k)) for k in range(LANES)]
            while len(lanes) > 1:
                half = len(lanes) // 2
                lanes = [builder.fadd(lanes[k], lanes[k + half]) for k in range(half)]
            folded.append(lanes[0])
        return context.make_tuple(builder, signature.return_type, folded)

    return signature, generate


@register_jitable(**BORROWED)
def _dense_dots(u, v, w, x):
    n = x.size
    whole = n - n % BLOCK
    r, s, t = _lane_sums((u, v, w), x, whole)
    for k in range(whole, n):
        value = x[np.uint32(k)]
        r += u[np.uint32(k)] * value
        s += v[np.uint32(k)] * value
        t += w[np.uint32(k)] * value
    return r, s, t


# The compiled twins. Numba wants the argument names of the functions above, and no annotations.


@overload(dot_three, jit_options=BORROWED)
def _dot_three(u, v, w, rows, i):  # noqa: ARG001
    def dense(u, v, w, rows, i):
        return _dense_dots(u, v, w, rows.X[i])

    def compressed(u, v, w, rows, i):
        return dot(u, rows, i), dot(v, rows, i), dot(w, rows, i)

    return dense if rows.instance_class is DenseRows else compressed


@overload(dot_all, jit_options=BORROWED)
def _dot_all(W, rows, i, first, last, out):  # noqa: ARG001
    def by_three(W, rows, i, first, last, out):
        n = rows.X.shape[1]
        whole = last - (last - first) % 3
        for start in range(first, whole, 3):
            k = np.uint32(start)
            out[k], out[k + 1], out[k + 2] = _dense_dots(
                W[k, :n], W[k + 1, :n], W[k + 2, :n], rows.X[i]
            )
        for j in range(whole, last):
            out[j] = dot(W[j, :n], rows, i)

    def one_by_one(W, rows, i, first, last, out):
        for j in range(first, last):
            out[j] = dot_one(W, j, rows, i)

    return by_three if rows.instance_class is DenseRows else one_by_one


@overload(dots_fused, jit_options=BORROWED)
def _dots_fused(W, rows, i, first, last, sums):  # noqa: ARG001
    def dense(W, rows, i, first, last, sums):
        dot_all(W, rows, i, first, last, sums[0])

    def compressed(W, rows, i, first, last, sums):
        dots(W, rows, i, first, last, sums)

    return dense if rows.instance_class is DenseRows else compressed


@overload(axpy_two, jit_options=BORROWED)
def _axpy_two(a, v, b, w, rows, i):  # noqa: ARG001
    def dense(a, v, b, w, rows, i):
        for k in range(v.size):
            v[k] += a * rows.X[i, k]
            w[k] += b * rows.X[i, k]

    def compressed(a, v, b, w, rows, i):
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            k = np.uint32(rows.indices[e])
            v[k] += a * rows.values[e]
            w[k] += b * rows.values[e]

    return dense if rows.instance_class is DenseRows else compressed


@overload(axpy_all, jit_options=BORROWED)
def _axpy_all(a, rows, which, n, w):  # noqa: ARG001
    def by_three(a, rows, which, n, w):
        whole = n - n % 3
        for e in range(0, whole, 3):
            r, s, t = a[e], a[e + 1], a[e + 2]
            x, y, z = rows.X[which[e]], rows.X[which[e + 1]], rows.X[which[e + 2]]
            for k in range(x.size):
                w[k] = ((w[k] + r * x[k]) + s * y[k]) + t * z[k]
        for e in range(whole, n):
            axpy(a[e], rows, which[e], w)

    def one_by_one(a, rows, which, n, w):
        for e in range(n):
            axpy(a[e], rows, which[e], w)

    return by_three if rows.instance_class is DenseRows else one_by_one
