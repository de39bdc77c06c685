"""Compiling rules as parts of one loop: everything private to numba that this takes.

Numba optimises and turns to machine code every function that compiled code calls, also one that is
inlined at each call, whose machine code nobody asks for: half of the time to compile a learner went
there (1.45 times today's without this module for ROM-PGD, 2.64 times for DOM-I). Such functions,
known by having no wrapper for Python, are left as they were lowered until they are inlined into a
loop that Python calls.
"""

from __future__ import annotations

from collections.abc import Callable
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
    """The code of a function that is to be inlined into other code, and not to be run."""

    def _optimize_final_module(self) -> None:
        """Leave what spans functions to the code that this is inlined into."""

    def _finalize_final_module(self) -> None:
        """Be ready to be linked, without machine code."""
        self._finalized = True

    @property
    def codegen(self) -> Fragment:
        """Stand in for the code generator, which numba hands the function's environment to."""
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        """Leave the environment, which serves Python objects, to the code this is inlined into."""


class Inlining(CompilerBase):
    """Numba's own compiler, but for functions that Python cannot call."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        state = self.state
        if state.flags.no_cpython_wrapper:
            state.flags.no_cfunc_wrapper = True
            fragment = Fragment(state.targetctx.codegen(), state.func_id.func_qualname)
            state.update(library=fragment)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function; give its code the environments of all that is inlined into it."""
        result = super().compile_extra(func)
        if not self.state.flags.no_cpython_wrapper:
            for environment in result._find_referenced_environments():
                result.codegen.set_env(environment.env_name, environment)
        return result


OPTIONS = {"_nrt": False, "forceinline": True, "pipeline_class": Inlining}
"""Options of all compiled code. Views of the state are borrowed, not counted: counting references
made each view of a weight vector cost more than the product with it. Nothing may be allocated in
the loop over examples, which numba then enforces. All is inlined: to pass a state of many arrays
to a function costs as much as a short product."""


def inlined(function: Function) -> Function:
    """Let compiled code call a plain function, which is inlined where it is called."""
    return register_jitable(**OPTIONS)(function)


class KeptCode(FunctionCache):
    """Compiled code on disk, in a file of its own for classes of each module outside the package.

    Numba reads all that it keeps of a function at once, classes by the names of their modules. One
    learner of a script or a test would so keep every other process, which cannot import it, from
    reading any.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kept code for types of arguments, if there is any."""
        self._cache_file = self._file_for(sig)
        return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code."""
        self._cache_file = self._file_for(sig)
        super().save_overload(sig, data)

    def _file_for(self, kinds: Any) -> IndexDataCacheFile:
        modules = sorted(_modules_of(kinds))
        name = ".".join([self._impl.filename_base, *modules])
        return IndexDataCacheFile(self._cache_path, name, self._impl.locator.get_source_stamp())


def _modules_of(kinds: Any) -> set[str]:
    """Return the modules outside the package whose classes are among types."""
    modules: set[str] = set()
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            modules |= _modules_of(kind.types)
        if (of := _tuple_of(kind)) is not None and of.__module__.split(".")[0] != "omtl":
            modules.add(of.__module__)
    return modules


def loop(function: Callable) -> Any:
    """Return a function compiled as a loop that Python calls, kept on disk between processes."""
    compiled = njit(nogil=True, **OPTIONS)(function)
    compiled._cache = KeptCode(function)
    return compiled


def chosen(function: Function, choose: Callable[..., Callable]) -> Function:
    """Let compiled code call in place of a plain function what the types of its arguments choose.

    Arguments are matched by their places, not by their names.

    Parameters
    ----------
    function : callable
        The plain function, which stays as it is.
    choose : callable
        Called with numba's types of the arguments; returns the function to compile.
    """

    def bare(*kinds: Any) -> Callable:
        choice = choose(*kinds)  # numba would compare the annotations, which are not wanted
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
    """Return a decorator: compiled code calls one of two functions, by the kind of the rows.

    Parameters
    ----------
    dense, sparse : callable, optional
        What is called where one of the arguments is `DenseRows`, and where it is `SparseRows`; the
        function itself where it is left out.
    """
    forms: dict[Any, Callable | None] = {DenseRows: dense, SparseRows: sparse}

    def decorate(function: Function) -> Function:
        def choose(*kinds: Any) -> Callable:
            of = next(_tuple_of(kind) for kind in kinds if _tuple_of(kind) in forms)
            return forms[of] or function

        return chosen(function, choose)

    return decorate


def by_kind(function: Callable) -> Any:
    """Make of a function one that calls a form of its own for each kind of its first argument.

    The forms are added by ``function.of(kind)``; they serve plain and compiled code alike, and the
    function itself is what is called where there is none.
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
        What is called where the class has no such method.
    """

    def of(kind: Any) -> Any:
        return getattr(kind, name) if otherwise is None else getattr(kind, name, otherwise)

    def call(self: Any, *arguments: Any) -> Any:
        return of(type(self))(self, *arguments)

    return chosen(call, lambda self, *rest: of(self.instance_class))  # noqa: ARG005


def _tuple_of(kind: Any) -> type | None:
    """Return the class of a NamedTuple by numba's type of it; None of what is none."""
    return getattr(kind, "instance_class", None)
