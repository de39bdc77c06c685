"""Products of a sparse row with vectors side by side, in the processor's vector registers.

A feature's weights in all vectors are one row of a table. Several columns are processed together,
and those of several places in one pass over the row. The sums are bit-identical to processing one
column at a time, and 2.4 to 5 times as fast on networks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from omtl.kernel.inlining import compiled_as
from omtl.kernel.products import SUMS
from omtl.kernel.rules import Example


def _signature(
    lanes: types.Type,
    table: types.Array,
    indices: types.Type,
    values: types.Type,
    columns: Any,
    by_column: types.Type,
) -> Any:
    # A table of one column is in both orders; numba takes its transpose for one in Fortran's.
    if table.layout not in "CF" or not isinstance(lanes, types.IntegerLiteral):
        raise TypingError("lanes need a C-ordered table, and their number as a literal")
    integers = (types.intp, types.intp, types.intp, types.intp)
    slots = types.UniTuple(types.intp, columns.count)  # type: ignore[attr-defined]
    return types.void(lanes, table, indices, values, *integers, slots, by_column)


class _Lanes:
    """Common to both operations: some columns of a table, and a row's nonzeros."""

    def __init__(self, context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> None:
        def array(n: int) -> Any:
            return context.make_array(signature.args[n])(context, builder, args[n])

        self.builder = builder
        self.lanes = signature.args[0].literal_value
        self.vector = ir.VectorType(ir.DoubleType(), self.lanes)
        self.table, self.indices, self.values, self.by_column = map(array, (1, 2, 3, 9))
        self.start, self.stop, first, n, slots = args[4:9]
        self.columns = [
            builder.add(builder.mul(s, n), first) for s in cgutils.unpack_tuple(builder, slots)
        ]
        self.width = cgutils.unpack_tuple(builder, self.table.shape)[1]

    def nonzeros(self, start: ir.Value, stop: ir.Value, step: int = 1) -> Any:
        """Return a loop over the row's nonzeros."""
        integer = start.type
        return cgutils.for_range_slice(self.builder, start, stop, integer(step), integer)

    def at(self, array: Any, place: ir.Value) -> ir.Value:
        """Return a pointer to the start of one number per lane."""
        where = self.builder.gep(array.data, [place])
        return self.builder.bitcast(where, self.vector.as_pointer())

    def weights(self, e: ir.Value) -> list[ir.Value]:
        """Return pointers to the weights of the feature of nonzero `e`, by first column."""
        b = self.builder
        feature = b.zext(b.load(b.gep(self.indices.data, [e])), self.width.type)
        row = b.mul(feature, self.width)
        return [self.at(self.table, b.add(row, column)) for column in self.columns]

    def value(self, e: ir.Value) -> ir.Value:
        """Return the value of nonzero `e`, repeated in each lane."""
        b = self.builder
        value = b.load(b.gep(self.values.data, [e]))
        nothing = ir.Constant(self.vector, ir.Undefined)
        first = b.insert_element(nothing, value, ir.IntType(32)(0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return b.shuffle_vector(first, nothing, everywhere)


@intrinsic(prefer_literal=True)
def dot_lanes(
    typingctx: Any,  # noqa: ARG001 - numba's calling convention
    lanes: types.Type,
    table: types.Array,
    indices: types.Type,
    values: types.Type,
    start: types.Type,  # noqa: ARG001
    stop: types.Type,  # noqa: ARG001
    first: types.Type,  # noqa: ARG001
    n: types.Type,  # noqa: ARG001
    slots: Any,
    products: types.Type,
) -> tuple[Any, Callable]:
    """Write the products of nonzeros `start` to `stop` - 1 with these columns to `products`.

    The columns start at column `first` of each of the `slots`, which have `n` columns each. Four or
    more lanes have one sum each, fewer have the `SUMS` of a single product.
    """
    signature = _signature(lanes, table, indices, values, slots, products)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        all_of = _Lanes(context, builder, signature, args)
        zero = ir.Constant(all_of.vector, [0.0] * all_of.lanes)
        n_sums = SUMS if all_of.lanes < SUMS else 1
        totals = [
            [cgutils.alloca_once_value(builder, zero) for _ in range(n_sums)]
            for _ in all_of.columns
        ]

        def add(e: ir.Value, s: int) -> None:
            value = all_of.value(e)
            for place, total in zip(all_of.weights(e), totals, strict=True):
                product = builder.fmul(value, builder.load(place, align=8))
                builder.store(builder.fadd(builder.load(total[s]), product), total[s])

        start, stop = all_of.start, all_of.stop
        integer = start.type
        whole = builder.sub(stop, builder.urem(builder.sub(stop, start), integer(n_sums)))
        with all_of.nonzeros(start, whole, n_sums) as (e, _):
            for s in range(n_sums):
                add(builder.add(e, integer(s)), s)
        if n_sums > 1:
            with all_of.nonzeros(whole, stop) as (e, _):
                add(e, 0)
        for column, total in zip(all_of.columns, totals, strict=True):
            sums = [builder.load(part) for part in total]
            while len(sums) > 1:
                half = len(sums) // 2
                sums = [builder.fadd(sums[s], sums[s + half]) for s in range(half)]
            builder.store(sums[0], all_of.at(all_of.by_column, column), align=8)
        return context.get_dummy_value()

    return signature, generate


@intrinsic(prefer_literal=True)
def axpy_lanes(
    typingctx: Any,  # noqa: ARG001 - numba's calling convention
    lanes: types.Type,
    table: types.Array,
    indices: types.Type,
    values: types.Type,
    start: types.Type,  # noqa: ARG001
    stop: types.Type,  # noqa: ARG001
    first: types.Type,  # noqa: ARG001
    n: types.Type,  # noqa: ARG001
    slots: Any,
    steps: types.Type,
) -> tuple[Any, Callable]:
    """Add nonzeros `start` to `stop` - 1 to these columns, scaled by `steps`.

    `first`, `n` and `slots` are as in `dot_lanes`, and no column occurs twice.
    """
    signature = _signature(lanes, table, indices, values, slots, steps)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        all_of = _Lanes(context, builder, signature, args)
        steps = [
            builder.load(all_of.at(all_of.by_column, column), align=8) for column in all_of.columns
        ]
        with all_of.nonzeros(all_of.start, all_of.stop) as (e, _):
            value = all_of.value(e)
            places = all_of.weights(e)
            before = [builder.load(place, align=8) for place in places]
            for place, weights, step in zip(places, before, steps, strict=True):
                builder.store(builder.fadd(weights, builder.fmul(value, step)), place, align=8)
        return context.get_dummy_value()

    return signature, generate


def _in_lanes(some: Callable) -> Callable:
    """Extend `some`, which handles one column per lane, to slots of `n` columns."""

    def columns(table, x, n, slots, by_column):
        where, values = x.rows.indices, x.rows.values
        start, stop = x.rows.indptr[x.i], x.rows.indptr[x.i + 1]
        p = 0
        while p + 32 <= n:
            some(32, table, where, values, start, stop, p, n, slots, by_column)
            p += 32
        if n & 16:
            some(16, table, where, values, start, stop, p, n, slots, by_column)
            p += 16
        if n & 8:
            some(8, table, where, values, start, stop, p, n, slots, by_column)
            p += 8
        if n & 4:
            some(4, table, where, values, start, stop, p, n, slots, by_column)
            p += 4
        if n & 2:
            some(2, table, where, values, start, stop, p, n, slots, by_column)
            p += 2
        if n & 1:
            some(1, table, where, values, start, stop, p, n, slots, by_column)

    return columns


@compiled_as(_in_lanes(dot_lanes))
def dot_columns(
    table: np.ndarray, x: Example, n: int, slots: tuple[int, ...], products: np.ndarray
) -> None:
    """Write the products of `x` with some slots of `n` columns to ``products``."""
    part = slice(x.rows.indptr[x.i], x.rows.indptr[x.i + 1])
    for s in slots:
        own = slice(s * n, s * n + n)
        products[own] = x.rows.values[part] @ table[x.rows.indices[part], own]


@compiled_as(_in_lanes(axpy_lanes))
def axpy_columns(
    table: np.ndarray, x: Example, n: int, slots: tuple[int, ...], steps: np.ndarray
) -> None:
    """Add `x`, scaled by ``steps``, to some slots of `n` columns."""
    part = slice(x.rows.indptr[x.i], x.rows.indptr[x.i + 1])
    for s in slots:
        own = slice(s * n, s * n + n)
        table[x.rows.indices[part], own] += np.outer(x.rows.values[part], steps[own])
