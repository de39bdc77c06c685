"""A stream continued by compiled calls that find it at an address: one example, or many.

Numba unpacks a tuple of arrays again in each call, which takes ten times as long as learning from
an example. A *box* keeps the unpacked form in memory; its address is a plain integer.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
from numba import typeof, types
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from omtl.data.rows import DenseRows, SparseRows
from omtl.kernel.inlining import OPTIONS, compiled_as, let_methods_be_called, loop
from omtl.kernel.loop import (
    Batch,
    Feed,
    end_round,
    follow_example,
    no_examples,
    norm_of_row,
    square_norm_of,
)
from omtl.util.compile_cache import classes_in, kept, type_key


class Boxed(types.Type):
    """Numba's type for the address of a value of a given type."""

    def __init__(self, kind: types.Type) -> None:
        self.kind = kind
        super().__init__(name=f"Boxed({kind})")


register_model(Boxed)(models.OpaqueModel)


@unbox(Boxed)
def _address(kind: Boxed, number: Any, c: Any) -> NativeValue:  # noqa: ARG001
    return NativeValue(c.pyapi.long_as_voidptr(number))


@intrinsic
def _loaded(typingctx: Any, box: Any) -> tuple[Any, Callable]:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        return builder.load(builder.bitcast(args[0], kind.as_pointer()))

    return box.kind(box), generate


@compiled_as(lambda box: _loaded(box))
def contents(box: Any) -> Any:
    """Return the value in a box; plain Python is given the value itself."""
    return box


BOXES: dict[Any, Boxed] = {}
"""The type of the box of a stream, by `type_key`: numba takes long to find it."""

CODES = {bool: "?", int: "q", float: "d"}
"""Codes of Python's numbers in the module `struct`."""


def unpacked(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the numbers that numba takes a value apart into, each after its code."""
    if isinstance(value, tuple):
        for part in value:
            yield from unpacked(part)
    elif isinstance(value, np.ndarray):  # without an owner
        found = (0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)
        yield from (("q", number) for number in found)
    else:
        yield CODES[type(value)], value


@kept(let_methods_be_called, **OPTIONS)
def one_dense(box, x, label, task, node):
    """Process a dense example; return its score."""
    feed = contents(box)
    if x.size != feed.window.X.shape[1]:
        raise ValueError("a different number of features")
    rows = DenseRows(x.reshape((1, x.size)))
    return follow_example(
        feed, rows, np.int64(0), label, task, node, square_norm_of(x), label != 0.0
    )


@kept(let_methods_be_called, **OPTIONS)
def one_sparse(box, ends, indices, values, square_norm, label, task, node):
    """Process a sparse example; return its score."""
    feed = contents(box)
    if feed.holds and values.size > feed.window.indptr[2]:
        raise ValueError("more nonzeros than there is room for")
    rows = SparseRows(ends, indices, values)
    return follow_example(feed, rows, np.int64(0), label, task, node, square_norm, label != 0.0)


def follow_slowly(box: Any, batch: Batch, learns: bool, ends: bool, scores: np.ndarray) -> None:
    """Score examples, and learn from each after it is scored.

    Parameters
    ----------
    box : Feed
        In compiled code, the address of one.
    batch : Batch
    learns : bool
        Whether to learn. If not, each example is scored as part of the current round, or of the
        next one, which is opened; this does not affect later learning.
    ends : bool
        Whether the round ends after these examples.
    scores : ndarray of shape (n_examples,)
        Where the scores are written.

    Raises
    ------
    ValueError
        At an example whose norm is not finite, or whose task is not known.
    """
    feed = contents(box)
    rows, y, task, node = batch.rows, batch.y, batch.task, batch.node
    for i in range(task.size):
        square_norm = norm_of_row(rows, i, batch.square_norm)
        scores[i] = follow_example(feed, rows, i, y[i], task[i], node[i], square_norm, learns)
    if ends and feed.clock.n_met[0] > 0:
        end_round(feed, feed.window if feed.holds else rows)


follow_compiled = loop(follow_slowly)

VECTOR, INTEGERS, INDICES = types.float64[::1], types.int64[::1], types.int32[::1]
EXAMPLE = (types.float64, types.int64, types.int64)


class Engine:
    """The box of one stream, and the compiled functions that continue it.

    It belongs to its arrays: a stream with new arrays gets a new engine. Whoever calls the
    functions has to keep it, and gives arrays of the right types, which they do not check.

    Parameters
    ----------
    feed : Feed
    is_sparse : bool
    """

    def __init__(self, feed: Feed, is_sparse: bool) -> None:
        self.feed, self.is_sparse = feed, is_sparse
        codes, numbers = zip(*unpacked(feed), strict=True)
        self._memory = np.array(bytearray(struct.pack("".join(codes), *numbers)))
        key = type_key(feed)
        self._kind = BOXES.get(key) or BOXES.setdefault(key, Boxed(typeof(feed)))

    def _compiled(self, function: Any, *kinds: types.Type) -> Callable[..., Any]:
        """Return a function for this box, compiled for the types of its other arguments."""
        entry = function.entry(classes_in((self.feed,)), (self._kind, *kinds))
        return partial(entry, self._memory.ctypes.data)

    @cached_property
    def one(self) -> Callable[..., float]:
        """The function for one example, compiled on first use; it returns the score.

        It takes a dense row, or where a sparse row begins and ends (0 and its size), its ascending
        columns, their values and its squared norm; the label, or 0 to score only; and the indices
        of task and node. It raises ValueError, with nothing learnt, for a row that is not finite or
        has more nonzeros than the window.
        """
        if self.is_sparse:
            row = (INTEGERS, INDICES, VECTOR, types.float64)
            return self._compiled(one_sparse, *row, *EXAMPLE)
        return self._compiled(one_dense, VECTOR, *EXAMPLE)

    @cached_property
    def many(self) -> Callable[..., None]:
        """The function for a batch: `follow_slowly` without the feed."""
        kinds = (typeof(no_examples(self.feed.window)), types.boolean, types.boolean, VECTOR)
        return self._compiled(follow_compiled, *kinds)
