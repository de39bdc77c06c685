"""A stream continued by compiled calls that find it at an address: one example, or many.

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
from omtl.kernel.inlining import OPTIONS, inlined, let_methods_be_called, loop
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
    """Everything that compiled code needs to continue a stream by one example.

    Parameters
    ----------
    feed : Feed
    one : Batch
        Where the example goes; a sparse one, only where its row begins and ends.
    score : ndarray of shape (1,)
    """

    feed: Feed
    one: Batch
    score: np.ndarray


@inlined
def square_norm_of(x):
    """Return the squared norm of a dense vector, in the order of sums of NumPy's ``einsum``."""
    even = odd = 0.0
    n = len(x)
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


@cache
def same_as_numpy(n_features: int) -> bool:
    """Whether norms of dense rows are, on this processor, those of NumPy to the bit."""
    if n_features > SUMMED_AT_ONCE:
        return False
    X = np.random.default_rng(0).normal(size=(20, n_features))
    return [*map(square_norm_of, X.tolist())] == square_norms(X).tolist()


@kept(let_methods_be_called, **OPTIONS)
def one_dense(box, x, label, task, node):
    """Process a dense example; return its score."""
    stream = contents(box)
    row = stream.one.rows.X[0]
    if x.size != row.size:
        raise ValueError("a different number of features")
    for k in range(row.size):
        row[k] = x[k]
    return _one(stream, stream.one.rows, square_norm_of(row), label, task, node)


@kept(let_methods_be_called, **OPTIONS)
def one_sparse(box, indices, values, square_norm, label, task, node):
    """Process a sparse example; return its score."""
    stream = contents(box)
    indptr, window = stream.one.rows.indptr, stream.feed.window
    if stream.feed.holds and values.size > window.indptr[2]:
        raise ValueError("more nonzeros than there is room for")
    indptr[1] = values.size
    rows = SparseRows(indptr, indices, values)
    return _one(stream, rows, square_norm, label, task, node)


@inlined
def _one(stream, rows, square_norm, label, task, node):
    if not square_norm < np.inf:
        raise ValueError("not finite")
    one = stream.one
    one.y[0] = label
    one.task[0] = task
    one.node[0] = node
    one.square_norm[0] = square_norm
    batch = Batch(rows, one.y, one.task, one.node, one.square_norm)
    _follow_known(stream.feed, batch, label != 0.0, False, stream.score)
    return stream.score[0]


@inlined
def _follow_known(feed, batch, learns, ends, scores):
    for k in batch.task:
        if k >= feed.clock.last_met.size:
            raise ValueError("a task that is not known")
    follow_inlined(feed, batch, learns, ends, scores)


@loop
def many(box, batch, learns, ends, scores):
    """Process a batch (`omtl.kernel.loop.follow_slowly`)."""
    _follow_known(contents(box).feed, batch, learns, ends, scores)


VECTOR, INDICES = types.float64[::1], types.int32[::1]
EXAMPLE = (types.float64, types.int64, types.int64)


class Engine:
    """The box of one stream, and the compiled functions that continue it.

    It belongs to its arrays: a stream with new arrays gets a new engine. The functions keep it
    alive, and refuse tasks that it does not know; they do not check the types of arrays: the caller
    must.

    Parameters
    ----------
    feed : Feed
    n_features : int
    is_sparse : bool
    """

    def __init__(self, feed: Feed, n_features: int, is_sparse: bool) -> None:
        self.feed, self.n_features, self.is_sparse = feed, n_features, is_sparse
        rows: Rows = DenseRows(np.zeros((1, n_features)))
        if is_sparse:
            rows = SparseRows(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0))
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
        norm; the label, or 0 to score only; and the indices of task and node. It raises ValueError,
        with nothing learnt, for a row that is not finite or has more nonzeros than the window.
        """
        row = (INDICES, VECTOR, types.float64) if self.is_sparse else (VECTOR,)
        function = one_sparse if self.is_sparse else one_dense
        entry = function.entry(self._classes, (self._kind, *row, *EXAMPLE))
        return self._bound(entry)

    @cached_property
    def many(self) -> Callable[..., None]:
        """The function for a batch: as `omtl.kernel.loop.follow_slowly`, without the feed."""
        flags = (types.boolean, types.boolean)
        kinds = (self._kind, typeof(self._stream.one), *flags, VECTOR)
        return self._bound(many.entry(self._classes, kinds))

    def _bound(self, entry: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function with the address of the box, which has to be there as long as it."""
        function = partial(entry, self._memory.ctypes.data)
        function.engine = self  # type: ignore[attr-defined]
        return function

    def knows_norms(self) -> bool:
        """Whether the norms computed here are bit-identical to those of arrays."""
        return self.is_sparse or same_as_numpy(self.n_features)
