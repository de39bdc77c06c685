"""The source of a class that no module holds: one of a notebook, an interpreter or a script.

Worker processes, and the hashes that name finished units, need a file. So the class is written to
one, with everything of its module that it names.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import linecache
import sys
from collections.abc import Iterator, Mapping
from symtable import SymbolTable, symtable
from types import FunctionType, ModuleType
from typing import Any

from omtl.util.code import syntax_tree
from omtl.util.errors import UserError
from omtl.util.files import write_whole
from omtl.util.user_folder import make_importable, written_folder

CONSTANTS = (bool, int, str, tuple, type(None))
"""Types of a module's values that are written as they are."""


def written_class(kind: type) -> str:
    """Write a class to a module of its own, if necessary; return its dotted path there.

    Raises
    ------
    UserError
        If its source cannot be found, or it names what cannot be written.
    """
    lines = list(_written(kind, {}))
    text = "from __future__ import annotations\n\n" + "\n\n".join(lines) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    module = f"{kind.__name__.lower()}_{digest}"
    path = written_folder() / f"{module}.py"
    if not path.exists():
        write_whole(path, text)
    make_importable()
    importlib.invalidate_caches()  # Python may have looked for the folder before it was made
    return f"{module}.{kind.__name__}"


def _written(defined: Any, done: dict[int, str]) -> Iterator[str]:
    """Yield the source of a class or function, after that of all it names in its module."""
    done[id(defined)] = defined.__name__
    text, there = _source_of(defined)
    for name in sorted(set(_globals_in(symtable(text, "", "exec"))) & there.keys()):
        if id(there[name]) not in done:
            yield from _needed(name, there[name], done)
        if (written := done.get(id(there[name]), name)) != name:
            yield f"{name} = {written}"
    yield text


def _needed(name: str, value: Any, done: dict[int, str]) -> Iterator[str]:
    """Yield what gives a name of a module its value."""
    if isinstance(value, ModuleType):
        done[id(value)] = name
        yield f"import {value.__name__} as {name}"
        return
    home, known = getattr(value, "__module__", None), getattr(value, "__name__", "")
    if home not in (None, "__main__") and hasattr(sys.modules.get(home), known):
        done[id(value)] = name
        yield f"from {home} import {known} as {name}"
    elif isinstance(value, type | FunctionType):
        yield from _written(value, done)
    elif isinstance(value, float):  # also infinity and NumPy's numbers
        yield f"{name} = float({str(value)!r})"
    elif _is_literal(value):
        yield f"{name} = {value!r}"
    else:
        raise UserError(
            f"{name!r}, of type {type(value).__name__}, is used by a class but defined outside "
            "it; put the class into a module, or make it a hyper-parameter"
        )


def _is_literal(value: Any) -> bool:
    """Return whether a constant is one as it is written: an enumeration's member is not."""
    try:
        return isinstance(value, CONSTANTS) and bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False


def _globals_in(table: SymbolTable) -> Iterator[str]:
    """Yield the names that code takes from its module."""
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module"):
            yield symbol.get_name()
    for below in table.get_children():
        yield from _globals_in(below)


def _source_of(defined: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the text of a class or function, and the values of its module's names.

    Its file, or cell, is that of its code: of a class, that of its first method.
    """
    functions = [one for one in (defined, *vars(defined).values()) if isinstance(one, FunctionType)]
    for one in functions:
        text = "".join(linecache.getlines(one.__code__.co_filename))
        for node in reversed(syntax_tree(text).body):  # the last definition counts
            if getattr(node, "name", None) == defined.__name__:
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
                return "\n".join(text.splitlines()[first - 1 : node.end_lineno]), one.__globals__
    raise UserError(
        f"the source of {defined.__name__} cannot be found; put it into a file, such as "
        f"{defined.__name__.lower()}.py, and import it from there"
    )
