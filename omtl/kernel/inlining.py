"""Compiling rules as parts of one loop, which is chosen by the types of what it plays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

from numba.extending import overload, register_jitable

from omtl.data.rows import DenseRows, SparseRows
from omtl.util.compile_cache import CompiledFunction, kept

Function = TypeVar("Function", bound=Callable)


OPTIONS = {"_nrt": False, "forceinline": True}
"""Options of all compiled code. Views of the state are borrowed, without reference counting, which
made each view of a weight vector cost more than the product with it. Numba enforces that nothing is
allocated in the loop over examples. Everything is inlined, because passing a state of many arrays
to a function costs as much as a short product."""


PARTS = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of what is inlined, which neither Python nor C calls."""


def inlined(function: Function) -> Function:
    """Let compiled code call a plain function, inlined at each call."""
    return register_jitable(**PARTS)(function)


def loop(function: Callable) -> CompiledFunction:
    """Return a function compiled as a loop that Python calls, kept on disk."""
    return kept(nogil=True, **OPTIONS)(function)


def chosen(function: Function, choose: Callable[..., Callable]) -> Function:
    """In compiled code, replace a plain function by one chosen from its argument types.

    Arguments are matched by position, not by name.

    Parameters
    ----------
    function : callable
        The plain function, which stays unchanged.
    choose : callable
        Called with numba's types of the arguments; returns the function to compile.
    """

    def bare(*kinds: Any) -> Callable:
        choice = choose(*kinds)  # numba would compare the annotations, which do not matter
        return FunctionType(
            choice.__code__,
            choice.__globals__,
            choice.__name__,
            choice.__defaults__,
            choice.__closure__,
        )

    overload(function, jit_options=PARTS, strict=False)(bare)
    return function


def compiled_as(form: Callable) -> Callable[[Function], Function]:
    """Return a decorator: compiled code calls `form` instead of the function."""
    return lambda function: chosen(function, lambda *_: form)


def by_rows(
    dense: Callable | None = None, sparse: Callable | None = None
) -> Callable[[Function], Function]:
    """Return a decorator: compiled code calls one of two functions, depending on the kind of rows.

    Parameters
    ----------
    dense, sparse : callable, optional
        The functions to call if one of the arguments is, or has, `DenseRows` or `SparseRows`; by
        default the function itself.
    """
    forms: dict[Any, Callable | None] = {DenseRows: dense, SparseRows: sparse}

    def decorate(function: Function) -> Function:
        def choose(*kinds: Any) -> Callable:
            of = next(rows_kind(kind) for kind in kinds if rows_kind(kind) in forms)
            return forms[of] or function

        return chosen(function, choose)

    return decorate


def forms(dense: Callable, sparse: Callable) -> Any:
    """Return a function that calls one of two, depending on the kind of rows, compiled or not."""

    def call(*arguments: Any) -> Any:
        kinds = [type(getattr(each, "rows", each)) for each in arguments]
        return (dense if DenseRows in kinds else sparse)(*arguments)

    call.__doc__ = dense.__doc__
    return by_rows(dense, sparse)(call)


def by_kind(function: Callable, otherwise: Callable[..., Callable] | None = None) -> Any:
    """Let a function call a separate form for each type of its first argument.

    ``function.of(kind)`` adds the forms, which work in plain and compiled code; the function itself
    is called if there is none, or, in compiled code, what `otherwise` returns for the numba types
    of the arguments.
    """
    kinds: dict[Any, Callable] = {}

    @wraps(function)
    def call(first: Any, *rest: Any) -> Any:
        return kinds.get(type(first), function)(first, *rest)

    def of(kind: type) -> Callable[[Function], Function]:
        def add(form: Function) -> Function:
            kinds[kind] = form
            return form

        return add

    def choose(first: Any, *rest: Any) -> Callable:
        form = kinds.get(_tuple_of(first), function)
        return otherwise(first, *rest) if otherwise and form is function else form

    chosen(call, choose)
    call.of = of  # type: ignore[attr-defined]
    return call


def method(name: str, otherwise: Callable | None = None) -> Callable:
    """Return a function that calls a method of its first argument, in compiled code too.

    Parameters
    ----------
    name : str
    otherwise : callable, optional
        Called if the class has no such method.
    """

    def of(kind: Any) -> Any:
        return getattr(kind, name) if otherwise is None else getattr(kind, name, otherwise)

    def call(self: Any, *arguments: Any) -> Any:
        return of(type(self))(self, *arguments)

    return chosen(call, lambda self, *rest: of(self.instance_class))  # noqa: ARG005


def rows_kind(kind: Any) -> type | None:
    """Return the class of rows, or of an example's rows, from numba's type; None for others."""
    own = getattr(kind, "fields", ())
    return _tuple_of(kind.types[own.index("rows")] if "rows" in own else kind)


def _tuple_of(kind: Any) -> type | None:
    """Return the class of a NamedTuple from numba's type; None for other types."""
    return getattr(kind, "instance_class", None)
