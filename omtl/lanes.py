"""Products of a sparse row with vectors that lie side by side, in the processor's vector registers.

A feature's weights in all vectors are one row of `table`: some of these columns are done together,
each in the order of the row's nonzeros. The sums are the same to the bit as of one column at a
time. Only compiled code calls this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic


def _signature(
    lanes: types.Type,
    table: types.Array,
    indices: types.Type,
    values: types.Type,
    by_column: types.Type,
) -> Any:
    if table.layout != "C" or not isinstance(lanes, types.IntegerLiteral):
        raise TypingError("lanes need a C-ordered table, and their number as a literal")
    integers = (types.intp, types.intp, types.intp)
    return types.void(lanes, table, indices, values, *integers, by_column)


class _Lanes:
    """What both operations have in common: some columns of a table, and a row's nonzeros."""

    def __init__(self, context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> None:
        def array(n: int) -> Any:
            return context.make_array(signature.args[n])(context, builder, args[n])

        self.builder = builder
        self.lanes = signature.args[0].literal_value
        self.vector = ir.VectorType(ir.DoubleType(), self.lanes)
        self.table, self.indices, self.values, self.by_column = map(array, (1, 2, 3, 7))
        self.start, self.stop, self.column = args[4:7]
        self.width = cgutils.unpack_tuple(builder, self.table.shape)[1]

    def nonzeros(self) -> Any:
        """Return the loop over the row's nonzeros."""
        integer = self.start.type
        return cgutils.for_range_slice(self.builder, self.start, self.stop, integer(1), integer)

    def at(self, array: Any, place: ir.Value) -> ir.Value:
        """Return where as many numbers as there are lanes begin."""
        where = self.builder.gep(array.data, [place])
        return self.builder.bitcast(where, self.vector.as_pointer())

    def weights(self, e: ir.Value) -> ir.Value:
        """Return where the weights of the feature of nonzero `e` are."""
        b = self.builder
        feature = b.zext(b.load(b.gep(self.indices.data, [e])), self.width.type)
        return self.at(self.table, b.add(b.mul(feature, self.width), self.column))

    def value(self, e: ir.Value) -> ir.Value:
        """Return the value of nonzero `e`, once in each lane."""
        b = self.builder
        value = b.load(b.gep(self.values.data, [e]))
        nothing = ir.Constant(self.vector, ir.Undefined)
        first = b.insert_element(nothing, value, ir.IntType(32)(0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return b.shuffle_vector(first, nothing, everywhere)


@intrinsic(prefer_literal=True)
def hear_lanes(
    typingctx: Any,  # noqa: ARG001 - numba's calling convention
    lanes: types.Type,
    table: types.Array,
    indices: types.Type,
    values: types.Type,
    start: types.Type,  # noqa: ARG001
    stop: types.Type,  # noqa: ARG001
    column: types.Type,  # noqa: ARG001
    products: types.Type,
) -> tuple[Any, Callable]:
    """Put the products of nonzeros `start` to `stop` - 1 with so many columns in `products`."""
    signature = _signature(lanes, table, indices, values, products)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        all_of = _Lanes(context, builder, signature, args)
        zero = ir.Constant(all_of.vector, [0.0] * all_of.lanes)
        total = cgutils.alloca_once_value(builder, zero)
        with all_of.nonzeros() as (e, _):
            weights = builder.load(all_of.weights(e), align=8)
            product = builder.fmul(all_of.value(e), weights)
            builder.store(builder.fadd(builder.load(total), product), total)
        place = all_of.at(all_of.by_column, all_of.column)
        builder.store(builder.load(total), place, align=8)
        return context.get_dummy_value()

    return signature, generate


@intrinsic(prefer_literal=True)
def learn_lanes(
    typingctx: Any,  # noqa: ARG001 - numba's calling convention
    lanes: types.Type,
    table: types.Array,
    indices: types.Type,
    values: types.Type,
    start: types.Type,  # noqa: ARG001
    stop: types.Type,  # noqa: ARG001
    column: types.Type,  # noqa: ARG001
    steps: types.Type,
) -> tuple[Any, Callable]:
    """Add nonzeros `start` to `stop` - 1 to so many columns, as often as `steps` says."""
    signature = _signature(lanes, table, indices, values, steps)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        all_of = _Lanes(context, builder, signature, args)
        step = builder.load(all_of.at(all_of.by_column, all_of.column), align=8)
        with all_of.nonzeros() as (e, _):
            place = all_of.weights(e)
            more = builder.fmul(all_of.value(e), step)
            builder.store(builder.fadd(builder.load(place, align=8), more), place, align=8)
        return context.get_dummy_value()

    return signature, generate
