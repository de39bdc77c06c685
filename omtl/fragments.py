"""Compiling functions that are only ever inlined into others.

Numba optimises and turns to machine code every function that compiled code calls, also one that is
inlined at each call, whose machine code nobody asks for: half of the time to compile a learner went
there. Such functions, known by having no wrapper for Python, are here left as they were lowered,
until they are inlined into a loop that Python calls.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder


class Fragment(JITCodeLibrary):
    """The code of a function that is to be inlined into other code, and not to be run."""

    def _optimize_final_module(self) -> None:
        """Leave what spans functions to the code that this is inlined into."""

    def _finalize_final_module(self) -> None:
        """Be ready to be linked, without machine code."""
        self._finalized = True

    @property
    def codegen(self) -> Fragment:
        """Whom numba gives the function's environment to."""
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
