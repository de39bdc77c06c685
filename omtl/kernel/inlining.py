"""Compiling rules as parts of one loop, which is chosen by the types of what it plays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, TypeVar

from numba import TypingError, types
from numba.extending import overload, overload_method, register_jitable

from omtl.data.rows import DenseRows, SparseRows
from omtl.util.compile_cache import CompiledFunction, kept
from omtl.util.errors import UserError

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
    return kept(let_methods_be_called, nogil=True, **OPTIONS)(function)


def let_methods_be_called(kind: type) -> None:
    """Let compiled code call the methods of a class of tuples, as plain Python does.

    Not while a thread compiles: a name that it met would change its meaning.
    """
    for name, member in vars(kind).items():
        if isinstance(member, FunctionType) and not name.startswith("__"):
            n = len(signature(member).parameters)
            if n not in METHODS.setdefault(name, []):
                METHODS[name].append(n)
                _let_method_be_called(name, n)


METHODS: dict[str, list[int]] = {}
"""Names of methods that compiled code can call, and how many arguments those have."""


def _let_method_be_called(name: str, n: int) -> None:
    def call(self: Any, *rest: Any) -> Callable:
        form: Any = getattr(getattr(self, "instance_class", None), name, None)
        if form is None:
            raise TypingError(f"Unknown attribute '{name}' of type {self}")
        return _bare(form.choose(self, *rest) if hasattr(form, "choose") else form)

    def call_any(self: Any, *rest: Any) -> Callable:
        form = inlined(call(self, *rest))
        return lambda self, *rest: form(self, *rest)

    # Numba looks for a field first, then for a method of tuples, then for one of these types. It
    # knows one number of arguments for each; passing any number takes twice as long to compile.
    if METHODS[name] == [n]:
        arguments = [Parameter(f"_{e}", Parameter.POSITIONAL_OR_KEYWORD) for e in range(n)]
        call.__signature__ = Signature(arguments)  # type: ignore[attr-defined]
        overload_method(types.ConstSized, name, jit_options=PARTS, strict=False)(call)
    elif METHODS[name][1:] == [n]:
        overload_method(types.BaseTuple, name, jit_options=PARTS, strict=False)(call_any)


def _bare(form: Callable) -> Callable:
    """Return a function without its annotations, which numba would compare."""
    assert isinstance(form, FunctionType)
    return FunctionType(
        form.__code__, form.__globals__, form.__name__, form.__defaults__, form.__closure__
    )


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
    overload(function, jit_options=PARTS, strict=False)(lambda *kinds: _bare(choose(*kinds)))
    function.choose = choose  # type: ignore[attr-defined]
    return function


def compiled_as(form: Callable) -> Callable[[Function], Function]:
    """Return a decorator: compiled code calls `form` instead of the function."""
    return lambda function: chosen(function, lambda *_: form)


def by_rows(dense: Callable, sparse: Callable) -> Callable[[Function], Function]:
    """Return a decorator: compiled code calls one of two functions, depending on the kind of rows.

    Parameters
    ----------
    dense, sparse : callable
        The functions to call if one of the arguments is, or has, `DenseRows` or `SparseRows`.
    """
    forms = {DenseRows: dense, SparseRows: sparse}

    def choose(*kinds: Any) -> Callable:
        return next(forms[of] for of in map(rows_kind, kinds) if of in forms)

    return lambda function: chosen(function, choose)


def forms(dense: Callable, sparse: Callable) -> Any:
    """Return a function that calls one of two, depending on the kind of rows, compiled or not."""

    def call(*arguments: Any) -> Any:
        kinds = [type(getattr(each, "rows", each)) for each in arguments]
        return (dense if DenseRows in kinds else sparse)(*arguments)

    call.__doc__ = dense.__doc__
    return by_rows(dense, sparse)(call)


def in_forms(dense: Callable, sparse: Callable) -> Callable[[Callable], Any]:
    """Return a decorator that gives a method without a body the `forms` for two kinds of rows."""
    return lambda described: wraps(described)(forms(dense, sparse))


def method(
    name: str, otherwise: Callable | None = None, returns: tuple[type, ...] = (object,)
) -> Callable:
    """Return a function that calls a method of its first argument, in compiled code too.

    Parameters
    ----------
    name : str
    otherwise : callable, optional
        Called if the class has no such method.
    returns : tuple of type
        What it must return in plain Python, the first to be named where it does not.
    """

    def of(kind: Any) -> Any:
        return getattr(kind, name) if otherwise is None else getattr(kind, name, otherwise)

    def call(self: Any, *arguments: Any) -> Any:
        value = of(type(self))(self, *arguments)
        if not isinstance(value, returns):
            raise UserError(
                f"{type(self).__name__}.{name} returns {type(value).__name__!r} where "
                f"a {returns[0].__name__} is due"
            )
        return value

    return chosen(call, lambda self, *rest: of(self.instance_class))  # noqa: ARG005


def rows_kind(kind: Any) -> type | None:
    """Return the class of rows, or of an example's rows, from numba's type; None for others."""
    own = getattr(kind, "fields", ())
    rows = kind.types[own.index("rows")] if "rows" in own else kind
    return getattr(rows, "instance_class", None)
