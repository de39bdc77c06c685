"""The decorator `@compiled`, which turns a learner in plain Python into a compiled one."""

from __future__ import annotations

from collections import namedtuple
from inspect import get_annotations
from typing import Any, TypeVar, cast, dataclass_transform

from omtl.util.errors import UserError

Class = TypeVar("Class", bound=type)

NOT_TAKEN = ("__dict__", "__weakref__", "__annotations__")


@dataclass_transform(frozen_default=True)
def compiled(kind: Class) -> Class:
    """Turn a class of hyper-parameters and rules into a learner for the compiled loop.

    It replaces ``@dataclass``, with which a learner is played as plain Python. The class becomes a
    tuple of its annotated fields with the same methods (`omtl.kernel.rules`), which numba can
    compile. Only the class's own members count: a class that inherits is refused.

    Parameters
    ----------
    kind : type
        A class with annotated fields, those with defaults last, and a learner's methods, without
        base classes.

    Raises
    ------
    UserError
        If a field without a default follows one that has one, or the class inherits.
    """
    if kind.__bases__ != (object,):
        raise UserError(
            f"{kind.__name__}: a @compiled class inherits nothing; write the fields and methods of "
            f"{', '.join(base.__name__ for base in kind.__bases__)} in it, or make it a @dataclass"
        )
    kinds = get_annotations(kind)
    fields = list(kinds)
    defaults = [kind.__dict__[name] for name in fields if name in kind.__dict__]
    without = fields[: len(fields) - len(defaults)]
    if any(name in kind.__dict__ for name in without):
        raise UserError(f"{kind.__name__}: fields with defaults must come after those without")
    make: Any = namedtuple  # a type checker does not know the fields
    made = make(kind.__name__, fields, defaults=defaults, module=kind.__module__)
    for name, member in kind.__dict__.items():
        if name not in (*fields, *NOT_TAKEN):
            setattr(made, name, member)
    made.__annotations__ = kinds
    return cast(Class, made)
