"""Compiling rules as parts of one loop, with all uses of numba's private parts for this.

Numba optimises every function that compiled code calls and generates machine code for it, even if
the function is inlined at each call and its machine code is never used. Half of the time to compile
a learner went there (without this module it takes 1.45 times as long for ROM-PGD, 2.64 times for
DOM-I). Such functions, recognised by having no wrapper for Python, stay as lowered until they are
inlined into a loop that Python calls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any, TypeVar

from numba import njit, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.extending import overload, register_jitable

from omtl.data.rows import DenseRows, SparseRows

Function = TypeVar("Function", bound=Callable)


class Fragment(JITCodeLibrary):
    """The code of a function that will be inlined into other code and never run itself."""

    def _optimize_final_module(self) -> None:
        """Leave interprocedural optimisation to the code into which this is inlined."""

    def _finalize_final_module(self) -> None:
        """Prepare for linking, without machine code."""
        self._finalized = True

    @property
    def codegen(self) -> Fragment:
        """Replace the code generator, to which numba passes the function's environment."""
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        """Leave the environment, for Python objects, to the code into which this is inlined."""


class Inlining(CompilerBase):
    """Numba's own compiler, except for functions that Python cannot call."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        state = self.state
        if state.flags.no_cpython_wrapper:
            state.flags.no_cfunc_wrapper = True
            fragment = Fragment(state.targetctx.codegen(), state.func_id.func_qualname)
            state.update(library=fragment)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function; give its code the environments of everything inlined into it."""
        result = super().compile_extra(func)
        if not self.state.flags.no_cpython_wrapper:
            for environment in result._find_referenced_environments():
                result.codegen.set_env(environment.env_name, environment)
        return result


OPTIONS = {"_nrt": False, "forceinline": True, "pipeline_class": Inlining}
"""Options of all compiled code. Views of the state are borrowed, without reference counting, which
made each view of a weight vector cost more than the product with it. Numba enforces that nothing is
allocated in the loop over examples. Everything is inlined, because passing a state of many arrays
to a function costs as much as a short product."""


def inlined(function: Function) -> Function:
    """Let compiled code call a plain function, inlined at each call."""
    return register_jitable(**OPTIONS)(function)


class KeptCode(FunctionCache):
    """Compiled code on disk, in a separate file for the classes of each external module.

    Numba reads everything that it has stored for a function at once, and imports classes by their
    modules' names. A single learner from a script or a test would therefore prevent every process
    that cannot import it from reading any stored code.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the stored code for these argument types, if any."""
        self._cache_file = self._file_for(sig)
        return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store code."""
        self._cache_file = self._file_for(sig)
        super().save_overload(sig, data)

    def _file_for(self, kinds: Any) -> IndexDataCacheFile:
        modules = sorted(_modules_of(kinds))
        name = ".".join([self._impl.filename_base, *modules, _sources_of(kinds)])
        return IndexDataCacheFile(self._cache_path, name, self._impl.locator.get_source_stamp())


def _modules_of(kinds: Any) -> set[str]:
    """Return the external modules whose classes are among the types."""
    modules: set[str] = set()
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            modules |= _modules_of(kind.types)
        if (of := _tuple_of(kind)) is not None and of.__module__.split(".")[0] != "omtl":
            modules.add(of.__module__)
    return modules


def _ours(kinds: Any) -> set[str]:
    """Return the modules of this package whose classes are among the types."""
    found: set[str] = set()
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            found |= _ours(kind.types)
        if (of := _tuple_of(kind)) is not None and of.__module__.startswith("omtl."):
            found.add(of.__module__)
    return found


@lru_cache
def _version_of(module: str) -> str:
    """Return a hash of a module and of all that it imports from the package."""
    from omtl.util.code import code_version

    return code_version(module)


def _sources_of(kinds: Any) -> str:
    """Return a hash of the sources that the classes among the types are made of."""
    versions = "".join(_version_of(module) for module in sorted(_ours(kinds)))
    return hashlib.sha256(versions.encode()).hexdigest()[:12]


def loop(function: Callable) -> Any:
    """Return a function compiled as a loop that Python calls, cached on disk."""
    compiled = njit(nogil=True, **OPTIONS)(function)
    compiled._cache = KeptCode(function)
    return compiled


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

    overload(function, jit_options=OPTIONS, strict=False)(bare)
    return function


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


def by_kind(function: Callable) -> Any:
    """Let a function call a separate form for each type of its first argument.

    ``function.of(kind)`` adds the forms, which work in plain and compiled code; the function itself
    is called if there is none.
    """
    forms: dict[Any, Callable] = {}

    def call(first: Any, *rest: Any) -> Any:
        return forms.get(type(first), function)(first, *rest)

    def of(kind: type) -> Callable[[Function], Function]:
        def add(form: Function) -> Function:
            forms[kind] = form
            return form

        return add

    chosen(call, lambda first, *rest: forms.get(_tuple_of(first), function))  # noqa: ARG005
    call.of = of  # type: ignore[attr-defined]
    call.__doc__ = function.__doc__
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
