"""Checks of rows before learning from them, which also compute their norms.

Learning reads rows more slowly than the processor guesses what is read next, so that arrays larger
than its cache are learnt from at the memory's speed. Here the check of a row asks for what lies
`AHEAD` bytes further on, which arrives while the learner computes. Two dense rows are summed side
by side, because each sum waits for the one before it. The norms are those of
`omtl.kernel.row_norms`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from omtl.data.rows import Rows
from omtl.kernel.inlining import by_rows
from omtl.kernel.row_norms import dense_square_norm, sparse_square_norm

AHEAD = 4096
"""Distance in bytes: the best of 4096 to 16384, for dense rows of 10 to 1000 numbers."""

LINE = 64
"""Bytes that the memory delivers at once."""

NUMBERS = 160
"""Numbers that are checked before learning from them, at least two rows. With many more, the
memory cannot deliver all that they ask for at once."""


def rows_at_once(n_features: int) -> int:
    """Return how many rows are checked before learning from them."""
    return 2 * max(1, NUMBERS // 2 // n_features)


def ask_for(builder: ir.IRBuilder, place: ir.Value) -> None:
    """Let the memory deliver what lies `AHEAD` bytes further on."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    ahead = builder.gep(builder.bitcast(place, byte), [ir.IntType(64)(AHEAD)])
    builder.call(prefetch, [ahead, number(0), number(3), number(1)])


@intrinsic
def _ask_beyond(typingctx: Any, array: Any) -> tuple[Any, Callable]:  # noqa: ARG001
    """Let the memory deliver what lies `AHEAD` bytes beyond each element."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        found = context.make_array(signature.args[0])(context, builder, args[0])
        size = builder.extract_value(found.shape, 0)
        line = size.type(LINE // (signature.args[0].dtype.bitwidth // 8))
        turns = cgutils.for_range_slice(builder, size.type(0), size, line, size.type)
        with turns as (k, _):
            ask_for(builder, builder.gep(found.data, [k]))
        return context.get_dummy_value()

    return types.void(array), generate


@intrinsic
def _pairs_of_squares(typingctx: Any, x: Any, y: Any, size: Any) -> tuple[Any, Callable]:  # noqa: ARG001
    """Return the sums of `_pair_of_squares` (`omtl.kernel.row_norms`) of two rows."""
    signature = types.containers.UniTuple(types.float64, 4)(x, y, size)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        two = zip(signature.args[:2], args[:2], strict=True)
        rows = [context.make_array(kind)(context, builder, row).data for kind, row in two]
        four, lane = ir.VectorType(ir.DoubleType(), 4), ir.IntType(32)
        size, integer = args[2], args[2].type
        total = cgutils.alloca_once_value(builder, ir.Constant(four, [0.0] * 4))
        turns = cgutils.for_range_slice(builder, integer(0), size, integer(8), integer)
        with turns as (start, _):
            for row in rows:
                ask_for(builder, builder.gep(row, [start]))
            for k in (4, 0):
                squares = []
                for row in rows:
                    place = builder.gep(row, [builder.add(start, integer(k))])
                    found = builder.load(builder.bitcast(place, four.as_pointer()), align=8)
                    squares.append(builder.fmul(found, found))
                for chosen in ([2, 3, 6, 7], [0, 1, 4, 5]):
                    mask = ir.Constant(ir.VectorType(lane, 4), chosen)
                    pairs = builder.shuffle_vector(*squares, mask)
                    builder.store(builder.fadd(pairs, builder.load(total)), total)
        sums = builder.load(total)
        lanes = [builder.extract_element(sums, lane(k)) for k in range(4)]
        return context.make_tuple(builder, signature.return_type, lanes)

    return signature, generate


def _sound_dense(rows, part, n_features, square_norm, pending):  # noqa: ARG001
    begin, end = part
    total = 0.0
    d = rows.X.shape[1]
    whole = d - d % 8
    for i in range(begin, end - 1, 2):
        x, y = rows.X[i], rows.X[i + 1]
        even_x, odd_x, even_y, odd_y = _pairs_of_squares(x, y, whole)
        for k in range(whole, d - 1, 2):
            even_x += x[k] * x[k]
            odd_x += x[k + 1] * x[k + 1]
            even_y += y[k] * y[k]
            odd_y += y[k + 1] * y[k + 1]
        if d % 2:
            even_x += x[d - 1] * x[d - 1]
            even_y += y[d - 1] * y[d - 1]
        square_norm[i], square_norm[i + 1] = even_x + odd_x, even_y + odd_y
        total += square_norm[i] + square_norm[i + 1]
    if (end - begin) % 2:
        square_norm[end - 1] = dense_square_norm(rows.X[end - 1])
        total += square_norm[end - 1]
    return total < np.inf


def _sound_sparse(rows, part, n_features, square_norm, pending):
    at, left, sums = pending
    total = 0.0
    for i in range(part[0], part[1]):
        start, stop = rows.indptr[i], rows.indptr[i + 1]
        if start < 0 or stop < start or stop > rows.indices.size:
            return False
        # Views let the compiler take several nonzeros at once.
        indices, values = rows.indices[start:stop], rows.values[start:stop]
        _ask_beyond(indices)
        _ask_beyond(values)
        n = stop - start
        strange = False
        for k in range(n - 1):
            strange |= indices[k + 1] <= indices[k]
        for k in range(n):
            strange |= values[k] * values[k] == 0.0
        if strange or (n > 0 and (indices[0] < 0 or indices[n - 1] >= n_features)):
            return False
        square_norm[i] = sparse_square_norm(values, 0, n, at, left, sums)
        total += square_norm[i]
    return total < np.inf


@by_rows(dense=_sound_dense, sparse=_sound_sparse)
def sound(rows: Rows, part: Any, n_features: int, square_norm: Any, pending: Any) -> bool:
    """Compute the norms of rows; return whether all are valid. Only compiled code calls this.

    Dense rows must be finite; sparse ones also canonical and without zeros.

    Parameters
    ----------
    rows : Rows
    part : tuple of int
        The first row, and the one before which to stop.
    n_features : int
    square_norm : ndarray
        Where the norms are written.
    pending : tuple of ndarray
        Memory for `sparse_square_norm`.
    """
    raise NotImplementedError
