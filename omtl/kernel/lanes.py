"""Products in the processor's vector registers, written in LLVM.

`lane_sums` multiplies a dense row with a few vectors. `dot_columns` and `axpy_columns` multiply a
sparse row with vectors side by side, where a feature's weights in all of them are one row of a
table: several columns are processed together, and those of several places in one pass over the row,
2.4 to 5 times as fast on networks. Each sum is taken in a fixed order, which does not depend on the
processor nor on the other vectors of the pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np
from llvmlite import ir
from numba import TypingError, types
from numba.extending import intrinsic

from omtl.kernel.inlining import compiled_as
from omtl.kernel.rules import Example

LANES = 8
"""Width of the vectors in products with dense rows; LLVM splits them to fit the CPU."""

BLOCK = 2 * LANES
"""Elements per iteration of the product with a dense row: two independent sums."""

WIDTHS = (32, 16, 8, 4, 2, 1)
"""Numbers of columns that are processed at once."""

SUMS = 4
"""Number of independent sums in the product of a sparse row with one vector."""


def parts_of(builder: ir.IRBuilder, values: ir.Value) -> list[ir.Value]:
    """Return the values of a tuple, or the numbers of a shape."""
    return [builder.extract_value(values, k) for k in range(len(values.type))]


class Lanes:
    """Numbers side by side in arrays, processed together."""

    def __init__(self, context: Any, builder: ir.IRBuilder, lanes: int) -> None:
        self.context, self.builder, self.lanes = context, builder, lanes
        self.kind = ir.VectorType(ir.DoubleType(), lanes)

    def arrays(self, kinds: Any, values: ir.Value) -> list[Any]:
        """Return the arrays of a tuple."""
        parts = zip(kinds, parts_of(self.builder, values), strict=True)
        return [
            self.context.make_array(kind)(self.context, self.builder, one) for kind, one in parts
        ]

    def at(self, array: Any, place: ir.Value) -> ir.Value:
        """Return a pointer to the numbers that start at a place of an array."""
        where = self.builder.gep(array.data, [place])
        return self.builder.bitcast(where, self.kind.as_pointer())

    def load(self, array: Any, place: ir.Value) -> ir.Value:
        """Return these numbers."""
        return self.builder.load(self.at(array, place), align=8)

    @contextmanager
    def places(self, start: ir.Value, stop: ir.Value, step: int = 1) -> Iterator[ir.Value]:
        """Begin a loop over places; what is written before it ends is done at each."""
        builder, before = self.builder, self.builder.block
        test, body, end = map(builder.append_basic_block, ("test", "body", "end"))
        builder.branch(test)
        builder.position_at_end(test)
        place = builder.phi(start.type)
        place.add_incoming(start, before)
        builder.cbranch(builder.icmp_signed("<", place, stop), body, end)
        builder.position_at_end(body)
        yield place
        place.add_incoming(builder.add(place, start.type(step)), builder.block)
        builder.branch(test)
        builder.position_at_end(end)

    def sums(self, n: int) -> list[ir.Value]:
        """Return pointers to sums, zero so far, in memory of the whole function."""
        with self.builder.goto_entry_block():
            totals = [self.builder.alloca(self.kind) for _ in range(n)]
        for total in totals:
            self.builder.store(ir.Constant(self.kind, [0.0] * self.lanes), total)
        return totals

    def add(self, total: ir.Value, numbers: ir.Value) -> None:
        """Add numbers to a sum."""
        self.builder.store(self.builder.fadd(self.builder.load(total), numbers), total)

    def folded(self, parts: list[ir.Value]) -> ir.Value:
        """Return the sum of 2ⁿ parts, the upper half added to the lower until one is left."""
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [self.builder.fadd(parts[k], parts[k + half]) for k in range(half)]
        return parts[0]


@intrinsic
def lane_sums(
    typingctx: Any,  # noqa: ARG001 - numba's calling convention
    vectors: Any,
    factors: Any,
) -> tuple[Any, Callable]:
    """Sum w[i] * x[i] over i for each of a tuple of vectors w.

    If there is more than one factor x, the product includes all, in turn. Each sum consists of
    BLOCK interleaved sums, to which what is left after the last whole block is added in order.
    """
    results = types.Tuple([types.float64] * vectors.count)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        wide, single = Lanes(context, builder, LANES), Lanes(context, builder, 1)
        left, right = map(wide.arrays, signature.args, args)

        def add_products(numbers: Lanes, totals: list[ir.Value], place: ir.Value) -> None:
            factors = [numbers.load(factor, place) for factor in right]
            for one, total in zip(left, totals, strict=True):
                numbers.add(total, reduce(builder.fmul, factors, numbers.load(one, place)))

        (size,) = parts_of(builder, right[0].shape)
        whole = builder.sub(size, builder.urem(size, size.type(BLOCK)))
        parts = [wide.sums(len(left)) for _ in range(BLOCK // LANES)]
        with wide.places(size.type(0), whole, BLOCK) as start:
            for k, totals in enumerate(parts):
                add_products(wide, totals, builder.add(start, start.type(k * LANES)))
        found = single.sums(len(left))
        for total, *own in zip(found, *parts, strict=True):
            both = wide.folded([builder.load(part) for part in own])
            lanes = [builder.extract_element(both, ir.IntType(32)(k)) for k in range(LANES)]
            builder.store(single.folded(lanes), builder.bitcast(total, lanes[0].type.as_pointer()))
        with single.places(whole, size) as place:
            add_products(single, found, place)
        sums = [builder.extract_element(builder.load(one), ir.IntType(32)(0)) for one in found]
        return context.make_tuple(builder, signature.return_type, sums)

    return results(vectors, factors), generate


class Columns(Lanes):
    """Some columns of a table and a row's nonzeros, from the arguments of operations on them.

    The first argument has the table, the indices and the values of rows, and one number for each
    column; the second the row's first nonzero, the one after its last, and the number of columns of
    a slot; the last the slots.
    """

    def __init__(
        self, context: Any, builder: ir.IRBuilder, signature: Any, args: Any, lanes: int
    ) -> None:
        super().__init__(context, builder, lanes)
        arrays = self.arrays(signature.args[0], args[0])
        self.table, self.indices, self.values, self.by_column = arrays
        self.start, self.stop, self.n = parts_of(builder, args[1])
        self.firsts = [builder.mul(s, self.n) for s in parts_of(builder, args[2])]
        self.width = parts_of(builder, self.table.shape)[1]

    def choose(self, place: ir.Value) -> None:
        """Choose the columns of each slot that begin at a place in it."""
        self.columns = [self.builder.add(first, place) for first in self.firsts]

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
        nothing = ir.Constant(self.kind, ir.Undefined)
        first = b.insert_element(nothing, value, ir.IntType(32)(0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return b.shuffle_vector(first, nothing, everywhere)


def _on_columns(operate: Callable[[Columns], None], widths: tuple[int, ...]) -> Any:
    """Return an intrinsic that does this to all columns of slots, as many at once as is left.

    With a single width, their number is a multiple of it.
    """

    @intrinsic
    def operation(
        typingctx: Any,  # noqa: ARG001
        arrays: Any,
        places: types.Type,  # noqa: ARG001
        slots: Any,
    ) -> tuple[Any, Callable]:
        # A table of one column is in both orders; numba takes its transpose for one in Fortran's.
        if arrays[0].layout not in "CF":
            raise TypingError("lanes need a C-ordered table")

        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            end = ir.Constant(ir.IntType(64), 0)
            for lanes in widths:
                row = Columns(context, builder, signature, args, lanes)
                begin, end = end, builder.sub(row.n, builder.urem(row.n, row.n.type(lanes)))
                with row.places(begin, end, lanes) as place:
                    row.choose(place)
                    operate(row)
            return context.get_dummy_value()

        integers = [types.UniTuple(types.intp, n) for n in (3, slots.count)]
        return types.void(arrays, *integers), generate

    return operation


def _dot(row: Columns) -> None:
    """Write the products of a row's nonzeros with columns, one for each lane and slot.

    Four or more lanes have one sum each, fewer have the `SUMS` of a single product.
    """
    builder, n_sums = row.builder, SUMS if row.lanes < SUMS else 1
    totals = [row.sums(n_sums) for _ in row.columns]

    def add(e: ir.Value, s: int) -> None:
        value = row.value(e)
        for place, total in zip(row.weights(e), totals, strict=True):
            row.add(total[s], builder.fmul(value, builder.load(place, align=8)))

    rest = builder.urem(builder.sub(row.stop, row.start), row.start.type(n_sums))
    whole = builder.sub(row.stop, rest)
    with row.places(row.start, whole, n_sums) as e:
        for s in range(n_sums):
            add(builder.add(e, e.type(s)), s)
    if n_sums > 1:
        with row.places(whole, row.stop) as e:
            add(e, 0)
    for column, total in zip(row.columns, totals, strict=True):
        product = row.folded([builder.load(part) for part in total])
        builder.store(product, row.at(row.by_column, column), align=8)


def _axpy(row: Columns) -> None:
    """Add a row's nonzeros to columns, of which none occurs twice, each times its number."""
    builder = row.builder
    steps = [row.load(row.by_column, column) for column in row.columns]
    with row.places(row.start, row.stop) as e:
        value, places = row.value(e), row.weights(e)
        before = [builder.load(place, align=8) for place in places]
        for place, weights, step in zip(places, before, steps, strict=True):
            builder.store(builder.fadd(weights, builder.fmul(value, step)), place, align=8)


def _in_lanes(operate: Callable[[Columns], None]) -> Callable:
    """Return the compiled form of an operation on all columns of some slots."""
    some = _on_columns(operate, WIDTHS)

    def columns(table, x, n, slots, by_column):
        start, stop = x.rows.indptr[x.i], x.rows.indptr[x.i + 1]
        some((table, x.rows.indices, x.rows.values, by_column), (start, stop, n), slots)

    return columns


dot_block = _on_columns(_dot, (BLOCK,))
"""`dot_columns` of blocks of columns: ``dot_block((table, indices, values, products), …)``."""


@compiled_as(_in_lanes(_dot))
def dot_columns(
    table: np.ndarray, x: Example, n: int, slots: tuple[int, ...], products: np.ndarray
) -> None:
    """Write the products of `x` with some slots of `n` columns to ``products``."""
    part = slice(x.rows.indptr[x.i], x.rows.indptr[x.i + 1])
    for s in slots:
        own = slice(s * n, s * n + n)
        products[own] = x.rows.values[part] @ table[x.rows.indices[part], own]


@compiled_as(_in_lanes(_axpy))
def axpy_columns(
    table: np.ndarray, x: Example, n: int, slots: tuple[int, ...], steps: np.ndarray
) -> None:
    """Add `x`, scaled by ``steps``, to some slots of `n` columns."""
    part = slice(x.rows.indptr[x.i], x.rows.indptr[x.i + 1])
    for s in slots:
        own = slice(s * n, s * n + n)
        table[x.rows.indices[part], own] += np.outer(x.rows.values[part], steps[own])
