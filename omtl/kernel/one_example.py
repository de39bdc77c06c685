"""One example at a time: a compiled call that finds the stream at an address.

Numba unpacks a tuple of arrays again in each call, which takes ten times as long as learning from
an example. A *box* keeps the unpacked form in memory; its address is a plain integer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from omtl.data.rows import DenseRows, Rows, SparseRows, square_norms
from omtl.kernel.inlining import OPTIONS, inlined
from omtl.kernel.loop import Batch, Feed, follow_inlined
from omtl.util.compile_cache import classes_in, kept

SUMMED_AT_ONCE = 8192
"""For longer rows, NumPy's sums over an array depend on a row's position in it."""


class Boxed(types.Type):
    """Numba's type for the address of a value of a given type."""

    def __init__(self, kind: types.Type) -> None:
        self.kind = kind
        super().__init__(name=f"Boxed({kind})")


register_model(Boxed)(models.OpaqueModel)


@unbox(Boxed)
def _address(kind: Boxed, number: Any, c: Any) -> NativeValue:  # noqa: ARG001
    return NativeValue(c.pyapi.long_as_voidptr(number))


def _place(context: Any, builder: Any, kind: types.Type, address: Any) -> Any:
    """Return the pointer to a value of this type."""
    return builder.bitcast(address, context.get_value_type(kind).as_pointer())


@intrinsic
def contents(typingctx: Any, box: Any) -> tuple[Any, Callable]:  # noqa: ARG001
    """Return the value in a box, in compiled code."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, signature.return_type, args[0]))

    return box.kind(box), generate


@intrinsic
def _put(typingctx: Any, box: Any, value: Any) -> tuple[Any, Callable]:  # noqa: ARG001
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], _place(context, builder, signature.args[1], args[0]))
        return context.get_dummy_value()

    return types.void(box, value), generate


@kept(**OPTIONS)
def fill(box, value):
    """Put a value into a box."""
    _put(box, value)


def words_of(value: Any) -> int:
    """Return an upper bound of the 8-byte words that a value takes in compiled code."""
    if isinstance(value, tuple):
        return sum(map(words_of, value))
    return 5 + 2 * value.ndim if isinstance(value, np.ndarray) else 1


class Stream(NamedTuple):
    """Everything that compiled code needs to continue a stream by one example."""

    feed: Feed
    one: Batch
    score: np.ndarray


@inlined
def square_norm_of(x):
    """Return the squared norm of a dense vector, in the order of sums of NumPy's ``einsum``."""
    even = odd = 0.0
    n = x.size
    whole = n - n % 8
    for start in range(0, whole, 8):
        for k in (6, 4, 2, 0):
            even += x[start + k] * x[start + k]
            odd += x[start + k + 1] * x[start + k + 1]
    for k in range(whole, n - 1, 2):
        even += x[k] * x[k]
        odd += x[k + 1] * x[k + 1]
    if n % 2:
        even += x[n - 1] * x[n - 1]
    return even + odd


@kept(**OPTIONS)
def norm_of_dense(x):
    """Return the squared norm of a vector."""
    return square_norm_of(x)


@cache
def same_as_numpy(n_features: int) -> bool:
    """Whether norms of dense rows are, on this processor, those of NumPy to the bit."""
    if n_features > SUMMED_AT_ONCE:
        return False
    X = np.random.default_rng(0).normal(size=(20, n_features))
    return [norm_of_dense(x) for x in X] == square_norms(X).tolist()


@kept(**OPTIONS)
def one_dense(box, x, label, task, node):
    """Process a dense example; return its score."""
    stream = contents(box)
    row = stream.one.rows.X[0]
    if x.size != row.size:
        raise ValueError("a different number of features")
    for k in range(row.size):
        row[k] = x[k]
    return _one(stream, square_norm_of(row), label, task, node)


@kept(**OPTIONS)
def one_sparse(box, indices, values, square_norm, label, task, node):
    """Process a sparse example; return its score."""
    stream = contents(box)
    rows = stream.one.rows
    n = indices.size
    if n > rows.indices.size or values.size < n:
        raise ValueError("more nonzeros than there is room for")
    for k in range(n):
        rows.indices[k] = indices[k]
        rows.values[k] = values[k]
    rows.indptr[1] = n
    return _one(stream, square_norm, label, task, node)


@inlined
def _one(stream, square_norm, label, task, node):
    if not square_norm < np.inf:
        raise ValueError("not finite")
    one = stream.one
    one.y[0] = label
    one.task[0] = task
    one.node[0] = node
    one.square_norm[0] = square_norm
    follow_inlined(stream.feed, one, label != 0.0, False, stream.score)
    return stream.score[0]


VECTOR, INDICES = types.float64[::1], types.int32[::1]
EXAMPLE = (types.float64, types.int64, types.int64)


class Engine:
    """The box of one stream, and the compiled function that continues it by an example.

    It belongs to its arrays: a stream with new arrays gets a new engine.

    Parameters
    ----------
    feed : Feed
    n_features : int
    room : int, optional
        Maximum nonzeros of a sparse example; None for dense rows.
    """

    def __init__(self, feed: Feed, n_features: int, room: int | None = None) -> None:
        self.room, self.n_features = room, n_features
        rows: Rows = DenseRows(np.zeros((1, n_features)))
        if room is not None:
            rows = SparseRows(np.zeros(2, np.int64), np.zeros(room, np.int32), np.zeros(room))
        task, node = np.zeros((2, 1), np.int64)
        one = Batch(rows, np.zeros(1), task, node, np.zeros(1))
        self._stream = Stream(feed, one, np.zeros(1))  # keeps the arrays alive
        self._classes = classes_in((self._stream,))
        self._memory = np.zeros(words_of(self._stream))
        kind = typeof(self._stream)
        self._kind = Boxed(kind)
        put = fill.entry(self._classes, (self._kind, kind))
        put(self._memory.ctypes.data, self._stream)

    @cached_property
    def one(self) -> Callable[..., float]:
        """The function for one example, compiled on first use; it returns the score.

        It takes a dense row, or a sparse row's ascending columns, their values and its squared
        norm; the label, or 0 to score only; and the indices of task and node. It does not check
        the types of arrays: the caller must. The engine must outlive it.
        """
        row = (VECTOR,) if self.room is None else (INDICES, VECTOR, types.float64)
        function = one_dense if self.room is None else one_sparse
        entry = function.entry(self._classes, (self._kind, *row, *EXAMPLE))
        return partial(entry, self._memory.ctypes.data)

    def knows_norms(self) -> bool:
        """Whether the norms computed here are bit-identical to those of arrays."""
        return self.room is not None or same_as_numpy(self.n_features)
