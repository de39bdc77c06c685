"""Boxes: values that compiled code reads at an address, so that a state is unpacked only once.

Numba unpacks a tuple of arrays again in each call, which takes far longer than learning from an
example. A *box* keeps the unpacked form in memory; its address is a plain integer. A compiled
function is then called through its entry point for known types, which skips numba's type checks.

This file contains all uses of numba's private parts for this.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof
from numba.core import types
from numba.core.registry import cpu_target
from numba.extending import (
    NativeValue,
    intrinsic,
    models,
    register_model,
    unbox,
)

from omtl.kernel.inlining import loop
from omtl.util.compile_cache import Compiled, classes_in


class Boxed(types.Type):
    """Numba's type for the address of a value of a given type."""

    def __init__(self, kind: types.Type) -> None:
        self.kind = kind
        super().__init__(name=f"Boxed({kind})")


@register_model(Boxed)
class _Address(models.PrimitiveModel):
    """An address is an integer."""

    def __init__(self, manager: Any, kind: Boxed) -> None:
        super().__init__(manager, kind, ir.IntType(64))


@unbox(Boxed)
def _address(kind: Boxed, number: Any, c: Any) -> NativeValue:  # noqa: ARG001
    return NativeValue(c.pyapi.long_as_ulonglong(number))


@intrinsic
def contents(typingctx: Any, box: Any) -> tuple[Any, Callable]:  # noqa: ARG001
    """Return the value in a box, in compiled code."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        model = context.data_model_manager[signature.return_type]
        place = builder.inttoptr(args[0], model.get_data_type().as_pointer())
        return model.load_from_data_pointer(builder, place)

    return box.kind(box), generate


@intrinsic
def _put(typingctx: Any, box: Any, value: Any) -> tuple[Any, Callable]:  # noqa: ARG001
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        model = context.data_model_manager[signature.args[1]]
        place = builder.inttoptr(args[0], model.get_data_type().as_pointer())
        builder.store(model.as_data(builder, args[1]), place)
        return context.get_dummy_value()

    return types.void(box, value), generate


def _fill(box, value):
    _put(box, value)


fill = loop(_fill)


@cache
def form_of(kind: types.Type, classes: tuple[type, ...]) -> tuple[Boxed, int, Callable]:
    """Return the type of a box, its size in bytes, and the function that fills it."""
    context = cpu_target.target_context
    boxed = Boxed(kind)
    size = context.get_abi_sizeof(context.get_data_type(kind))
    return boxed, size, fill.entry(classes, (boxed, kind))


class Box:
    """A value in unpacked form; it keeps the value's arrays alive.

    Parameters
    ----------
    value : tuple
        Tuples, arrays and numbers, as compiled functions take them.
    """

    def __init__(self, value: Any) -> None:
        self.classes = classes_in((value,))
        self.kind, size, put = form_of(typeof(value), self.classes)
        self._value = value
        self._memory = np.zeros(-(-size // 64) * 8 + 8)  # aligned below
        begin = self._memory.__array_interface__["data"][0]
        self.address = -(-begin // 64) * 64
        put(self.address, value)

    def entry(self, function: Compiled, *kinds: types.Type) -> Callable:
        """Return a compiled function's entry point for this box and arguments of these types.

        It is called with the arguments alone. It does not check their types: the caller must. The
        box must outlive it.
        """
        return partial(function.entry(self.classes, (self.kind, *kinds)), self.address)
