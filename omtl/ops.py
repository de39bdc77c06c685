"""The vector operations of every learner, written once for dense and for sparse rows.

Each operation is a plain Python function (the slow path, and what the tests compare with) and has
a compiled twin that numba picks by the type of the rows.

Sums are taken in a fixed order, eight lanes wide, which does not depend on the machine's vector
width: the same bits on every CPU, at the speed of its vector unit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload, register_jitable
from scipy import sparse

from omtl.fragments import Inlining

BORROWED = {"_nrt": False, "forceinline": True, "pipeline_class": Inlining}
"""Options of all compiled code. Views of the state are borrowed, not counted: counting references
made each view of a weight vector cost more than the product with it. Nothing may be allocated in
the loop over examples, which numba then enforces. All is inlined: to pass a state of many arrays
to a function costs as much as a short product; so functions are compiled as parts of a loop alone
(`omtl.fragments`)."""

LANES = 8
"""Width of the vectors in the compiled code; LLVM splits them to what the CPU has."""

BLOCK = 2 * LANES
"""Elements that one turn of the compiled dot product takes: two independent sums."""


SUMS = 4
"""Independent sums that the compiled product with a sparse row takes."""

LINE = 8
"""Numbers in a line of the processor's cache."""


class DenseRows(NamedTuple):
    """Rows of a C-ordered array of shape (n_rows, n_features)."""

    X: np.ndarray


class SparseRows(NamedTuple):
    """Rows of a compressed sparse row matrix."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


Rows = DenseRows | SparseRows


def rows_of(X: np.ndarray | sparse.csr_array) -> Rows:
    """Return the rows of a matrix in the form that compiled code reads."""
    if isinstance(X, sparse.csr_array):
        return SparseRows(
            X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float64)
        )
    return DenseRows(np.ascontiguousarray(X, dtype=np.float64))


def square_norms(X: np.ndarray | sparse.csr_array) -> np.ndarray:
    """Return the squared Euclidean norm of each row, shape (n_rows,)."""
    if isinstance(X, sparse.csr_array):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X)


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """Return the inner product of two contiguous vectors."""
    return float(a @ b)


def dot(w: np.ndarray, rows: Rows, i: int) -> float:
    """Return the inner product of a dense vector and row `i`."""
    if isinstance(rows, DenseRows):
        return float(w @ rows.X[i])
    part = slice(rows.indptr[i], rows.indptr[i + 1])
    return float(w[rows.indices[part]] @ rows.values[part])


def axpy(a: float, rows: Rows, i: int, w: np.ndarray) -> None:
    """Add `a` times row `i` to a dense vector, in place."""
    if isinstance(rows, DenseRows):
        w += a * rows.X[i]
    else:
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        w[rows.indices[part]] += a * rows.values[part]


def row_dot(rows: Rows, i: int, j: int) -> float:
    """Return the inner product of rows `i` and `j`; sparse rows must have ascending indices."""
    if isinstance(rows, DenseRows):
        return float(rows.X[i] @ rows.X[j])
    mine = slice(rows.indptr[i], rows.indptr[i + 1])
    its = slice(rows.indptr[j], rows.indptr[j + 1])
    _, left, right = np.intersect1d(
        rows.indices[mine], rows.indices[its], assume_unique=True, return_indices=True
    )
    return float(rows.values[mine][left] @ rows.values[its][right])


def at_line(n_rows: int, n_columns: int) -> np.ndarray:
    """Return a zero array that begins where a line of the processor's cache does."""
    memory = np.zeros(n_rows * n_columns + LINE)
    first = -memory.ctypes.data // memory.itemsize % LINE
    return memory[first : first + n_rows * n_columns].reshape(n_rows, n_columns)


def in_lines(n_vectors: int, n_features: int) -> np.ndarray:
    """Return zero vectors that each begin where a line does.

    They end with unused numbers, so that an odd number of lines lies between one and the next:
    then they do not crowd in the cache.
    """
    return at_line(n_vectors, LINE * (-(-n_features // LINE) | 1))


def zero_vectors(n_vectors: int, n_features: int, sparse: bool) -> np.ndarray:
    """Return zero vectors, shape (n_vectors, n_features), as `dots` and `axpys` read them fastest.

    For sparse rows the same feature of all vectors lies together, so that what is read for one
    vector is at hand for the next. For dense rows they are `in_lines`: their second axis is longer.
    """
    if sparse:
        return np.zeros((n_vectors, n_features), order="F")
    return in_lines(n_vectors, n_features)


def vector_of(W: np.ndarray, j: int, rows: Rows) -> np.ndarray:
    """Return ``W[j]``, of `zero_vectors`, without unused numbers."""
    return W[j, : rows.X.shape[1]] if isinstance(rows, DenseRows) else W[j]


def dot_one(W: np.ndarray, j: int, rows: Rows, i: int) -> float:
    """Return the inner product of ``W[j]``, of `zero_vectors`, and row `i`, to the bit as `dot`."""
    return dot(np.ascontiguousarray(vector_of(W, j, rows)), rows, i)


def axpy_one(a: float, rows: Rows, i: int, j: int, W: np.ndarray) -> None:
    """Add `a` times row `i` to ``W[j]``, of `zero_vectors`, in place."""
    axpy(a, rows, i, vector_of(W, j, rows))


def dots(W: np.ndarray, rows: Rows, i: int, first: int, last: int, sums: np.ndarray) -> None:
    """Put the inner products of some dense vectors and row `i` in ``sums[0, first:last]``.

    Parameters
    ----------
    W : ndarray of shape (n_vectors, at least n_features)
        The vectors, from `zero_vectors`.
    rows, i, first, last
        The row, and which of the vectors.
    sums : ndarray of shape (SUMS, n_vectors)
        Memory for partial sums. Each product is the same to the bit as what `dot` returns.
    """
    for j in range(first, last):
        sums[0, j] = dot_one(W, j, rows, i)


def axpys(a: np.ndarray, rows: Rows, i: int, first: int, last: int, W: np.ndarray) -> None:
    """Add ``a[j]`` times row `i` to ``W[j]`` for j from `first` to `last` - 1, in place.

    `W` is as in `dots`. The steps are those of `axpy`, to the bit, but for signs of zeros.
    """
    for j in range(first, last):
        axpy_one(a[j], rows, i, j, W)


def rescale(w: np.ndarray, a: float) -> None:
    """Multiply a dense vector by `a`, in place."""
    w *= a


@intrinsic
def _lane_sums(
    typingctx: Any,  # noqa: ARG001 - numba's calling convention
    vectors: Any,
    factors: Any,
    size: types.Type,
) -> tuple[Any, Callable]:
    """Sum w[i] * x[i] for i below `size`, a multiple of BLOCK, for each of a tuple of vectors w.

    Where there is more than one factor x, the product is that of all, in turn. Each sum is taken in
    BLOCK interleaved sums, whatever the other vectors are.
    """
    results = types.Tuple([types.float64] * vectors.count)  # type: ignore[attr-defined]
    signature = results(vectors, factors, size)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        def arrays(kinds: Any, values: ir.Value) -> list[Any]:
            return [
                context.make_array(kind)(context, builder, value)
                for kind, value in zip(kinds, cgutils.unpack_tuple(builder, values), strict=True)
            ]

        left, right = map(arrays, signature.args[:2], args[:2])
        size = args[2]
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
                numbers = [at(factor, place) for factor in right]
                for one, total in zip(left, sums, strict=True):
                    product = reduce(builder.fmul, numbers, at(one, place))
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
def _dense_dot(a, b):
    n = a.size
    whole = n - n % BLOCK
    (total,) = _lane_sums((a,), (b,), whole)
    for k in range(whole, n):
        total += a[np.uint32(k)] * b[np.uint32(k)]
    return total


@register_jitable(**BORROWED)
def dense_dots(u, v, w, x):
    """Return the inner products of three dense vectors and a fourth, which is read once."""
    n = x.size
    whole = n - n % BLOCK
    r, s, t = _lane_sums((u, v, w), (x,), whole)
    for k in range(whole, n):
        value = x[np.uint32(k)]
        r += u[np.uint32(k)] * value
        s += v[np.uint32(k)] * value
        t += w[np.uint32(k)] * value
    return r, s, t


@register_jitable(**BORROWED)
def dense_weighed_square(weights, x):
    """Return the sum of the squares of a dense vector, each times its weight."""
    n = x.size
    whole = n - n % BLOCK
    (total,) = _lane_sums((weights,), (x, x), whole)
    for k in range(whole, n):
        total += weights[np.uint32(k)] * x[np.uint32(k)] * x[np.uint32(k)]
    return total


@register_jitable(**BORROWED)
def sparse_dot(w, rows, i):
    """Return the inner product of any dense vector, also one in a column, and sparse row `i`."""
    start, stop = rows.indptr[i], rows.indptr[i + 1]
    whole = stop - (stop - start) % 4
    s0 = s1 = s2 = s3 = 0.0
    for k in range(start, whole, 4):
        s0 += w[np.uint32(rows.indices[k])] * rows.values[k]
        s1 += w[np.uint32(rows.indices[k + 1])] * rows.values[k + 1]
        s2 += w[np.uint32(rows.indices[k + 2])] * rows.values[k + 2]
        s3 += w[np.uint32(rows.indices[k + 3])] * rows.values[k + 3]
    for k in range(whole, stop):
        s0 += w[np.uint32(rows.indices[k])] * rows.values[k]
    return (s0 + s2) + (s1 + s3)


@register_jitable(**BORROWED)
def sparse_axpy(a, rows, i, w):
    """Add `a` times sparse row `i` to any dense vector, also one in a column."""
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        w[np.uint32(rows.indices[k])] += a * rows.values[k]


# The compiled twins. Numba wants the argument names of the functions above, and no annotations.


@overload(inner, jit_options=BORROWED)
def _inner(a, b):  # noqa: ARG001
    def lanes(a, b):
        return _dense_dot(a, b)

    return lanes


@overload(dot, jit_options=BORROWED)
def _dot(w, rows, i):  # noqa: ARG001
    if w.layout != "C":
        raise TypingError("dot needs contiguous vectors: keep each weight vector in one row")

    def dense(w, rows, i):
        return _dense_dot(w, rows.X[i])

    return dense if rows.instance_class is DenseRows else sparse_dot


@overload(axpy, jit_options=BORROWED)
def _axpy(a, rows, i, w):  # noqa: ARG001
    def dense(a, rows, i, w):
        for k in range(w.size):
            w[k] += a * rows.X[i, k]

    return dense if rows.instance_class is DenseRows else sparse_axpy


@overload(dot_one, jit_options=BORROWED)
def _dot_one(W, j, rows, i):  # noqa: ARG001
    def dense(W, j, rows, i):
        return _dense_dot(W[j, : rows.X.shape[1]], rows.X[i])

    def compressed(W, j, rows, i):
        return sparse_dot(W[j], rows, i)

    return dense if rows.instance_class is DenseRows else compressed


@overload(axpy_one, jit_options=BORROWED)
def _axpy_one(a, rows, i, j, W):  # noqa: ARG001
    def dense(a, rows, i, j, W):
        axpy(a, rows, i, W[j, : rows.X.shape[1]])

    def compressed(a, rows, i, j, W):
        sparse_axpy(a, rows, i, W[j])

    return dense if rows.instance_class is DenseRows else compressed


@intrinsic
def _prefetch(
    typingctx: Any,  # noqa: ARG001 - numba's calling convention
    array: types.Type,
    i: types.Type,
    j: types.Type,
) -> tuple[Any, Callable]:
    """Ask for the cache line of an element of a matrix, which is soon read."""
    signature = types.void(array, i, j)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        matrix = context.make_array(signature.args[0])(context, builder, args[0])
        indices = [
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(args[1:], signature.args[1:], strict=True)
        ]
        place = cgutils.get_item_pointer(context, builder, signature.args[0], matrix, indices)
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(ask, [builder.bitcast(place, byte), flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return signature, generate


AHEAD = 16
"""How many features ahead of its use a row of weights is asked for: rows lie far apart, and no
processor foresees which is next."""


@register_jitable(**BORROWED)
def _add_products(total, w, x):
    for j in range(total.size):
        total[j] += w[j] * x


@register_jitable(**BORROWED)
def dense_row_dots(W, x, first, last, out):
    """Put the products of ``W[first:last]`` and a dense row in ``out[first:last]``, by threes."""
    n = x.size
    whole = last - (last - first) % 3
    for start in range(first, whole, 3):
        k = np.uint32(start)
        out[k], out[k + 1], out[k + 2] = dense_dots(W[k, :n], W[k + 1, :n], W[k + 2, :n], x)
    for j in range(whole, last):
        out[j] = _dense_dot(W[j, :n], x)


@overload(dots, jit_options=BORROWED)
def _dots(W, rows, i, first, last, sums):  # noqa: ARG001
    def dense(W, rows, i, first, last, sums):
        dense_row_dots(W, rows.X[i], first, last, sums[0])

    def compressed(W, rows, i, first, last, sums):
        features = W.T
        start, stop = rows.indptr[i], rows.indptr[i + 1]
        whole = stop - (stop - start) % SUMS
        for s in range(SUMS):
            for j in range(first, last):
                sums[s, j] = 0.0
        for k in range(start, min(stop, start + AHEAD)):
            for j in range(first, last, LINE):
                _prefetch(features, rows.indices[k], j)
        for k in range(start, stop):
            if k + AHEAD < stop:
                for j in range(first, last, LINE):
                    _prefetch(features, rows.indices[k + AHEAD], j)
            s = (k - start) % SUMS if k < whole else 0
            _add_products(
                sums[s, first:last], features[rows.indices[k], first:last], rows.values[k]
            )
        for j in range(first, last):
            sums[0, j] = (sums[0, j] + sums[2, j]) + (sums[1, j] + sums[3, j])

    return dense if rows.instance_class is DenseRows else compressed


@overload(axpys, jit_options=BORROWED)
def _axpys(a, rows, i, first, last, W):  # noqa: ARG001
    def dense(a, rows, i, first, last, W):
        for j in range(first, last):
            if a[j] != 0.0:
                axpy(a[j], rows, i, W[j, : rows.X.shape[1]])

    def compressed(a, rows, i, first, last, W):
        features, steps = W.T, a[first:last]
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            _add_products(features[rows.indices[k], first:last], steps, rows.values[k])

    return dense if rows.instance_class is DenseRows else compressed


TOGETHER = 4
"""Indices of each of two sparse rows that are compared at once: most have none in common, and of
which is less no processor foresees."""


@register_jitable(**BORROWED)
def any_common(indices, mine, its):
    """Return whether any of `TOGETHER` indices from a place on is among those from another on."""
    any_is = False
    for k in range(TOGETHER):
        for e in range(TOGETHER):
            any_is |= indices[np.uint64(mine + k)] == indices[np.uint64(its + e)]
    return any_is


@register_jitable(**BORROWED)
def add_common(total, rows, mine, my_end, its, its_end):
    """Add to `total` the products of the values that two parts of sparse rows have in common."""
    while mine < my_end and its < its_end:
        my_index, its_index = rows.indices[mine], rows.indices[its]
        if my_index == its_index:
            total += rows.values[mine] * rows.values[its]
        mine += my_index <= its_index
        its += its_index <= my_index
    return total


@overload(row_dot, jit_options=BORROWED)
def _row_dot(rows, i, j):  # noqa: ARG001
    def dense(rows, i, j):
        return _dense_dot(rows.X[i], rows.X[j])

    def merged(rows, i, j):
        total = 0.0
        mine, its = rows.indptr[i], rows.indptr[j]
        my_end, its_end = rows.indptr[i + 1], rows.indptr[j + 1]
        while mine + TOGETHER <= my_end and its + TOGETHER <= its_end:
            if any_common(rows.indices, mine, its):
                total = add_common(total, rows, mine, mine + TOGETHER, its, its + TOGETHER)
            my_last, its_last = rows.indices[mine + TOGETHER - 1], rows.indices[its + TOGETHER - 1]
            mine += TOGETHER * (my_last <= its_last)
            its += TOGETHER * (its_last <= my_last)
        return add_common(total, rows, mine, my_end, its, its_end)

    return dense if rows.instance_class is DenseRows else merged


@overload(rescale, jit_options=BORROWED)
def _rescale(w, a):  # noqa: ARG001
    def each(w, a):
        for k in range(w.size):
            w[k] *= a

    return each
