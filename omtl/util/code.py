"""Versions of code: a hash of the modules that produce a result."""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from importlib import import_module, invalidate_caches
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from omtl.util.errors import UserError, WriteError
from omtl.util.files import write_whole
from omtl.util.host import installed_version
from omtl.util.paths import private_cache
from omtl.util.providers import added_module, is_ours, module_file
from omtl.util.user_folder import calls_begun, own_folder

_PARSING = threading.Lock()

_BEGUN = time.time()

_IMPORTED: dict[str, str] = {}  # the version of each of the user's modules when it was imported

MOST_KEPT = 1000
"""Number of texts, of former versions mostly, above which the file of parsed ones is begun anew."""

UNHASHED = {
    "omtl": "the public names, which units do not use",
    "omtl.util.code": "how versions of code are told apart",
    "omtl.util.compile_cache": "where compiled code is kept",
    "omtl.util.errors": "how mistakes are named",
    "omtl.util.files": "how files are written",
    "omtl.sklearn": "estimators, which units do not use",
    "omtl.sklearn.parameters": "estimators, which units do not use",
    "omtl.util.host": "what is noted of the machine, beside the result",
    "omtl.kernel.not_compiled": "how faults of learners are worded",
    "omtl.util.user_folder": "where files are",
    "omtl.util.paths": "where files are",
    "omtl.util.providers": "where files are",
    "omtl.util.user_errors": "how faults of learners are worded",
}
"""Modules that units load but that affect no number, each with its purpose."""

PACKAGES = {
    "llvmlite": "llvmlite",
    "numba": "numba",
    "numpy": "numpy",
    "pyarrow": "pyarrow",
    "river": "river",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "torch": "torch",
}
"""Third-party packages that affect numbers, by import name."""


class Code(NamedTuple):
    """A module with everything that it imports from the project and the user.

    Parameters
    ----------
    version : str
        Hash of the code.
    modules, packages : frozenset of str
        The modules that count, and the third-party packages that they import.
    """

    version: str
    modules: frozenset[str]
    packages: frozenset[str]


def code_of(module: str) -> Code:
    """Return a module's code, with the project's and the user's code that it imports.

    Comments, docstrings and layout do not count: a unit stays valid when only they change.
    The user's files are read when a command has begun; what they contain then counts until it ends.

    Raises
    ------
    SyntaxError
        If it is not valid Python.
    UserError
        If a module of the package was edited after it was imported: its file is not what runs.
    """
    return _code_of(module, own_folder(), 0 if is_ours(module) else calls_begun())


def imported(module: str) -> ModuleType:
    """Import a module; one of the user's again, with those it imports, if their code has changed.

    Raises
    ------
    Exception
        Whatever importing it raises.
    """
    if is_ours(module) or added_module(module) is None:  # ours in no time: once for each point
        return import_module(module)
    theirs = {name: code_of(name).version for name in code_of(module).modules if added_module(name)}
    if any(_IMPORTED.get(name, version) != version for name, version in theirs.items()):
        for name in theirs:
            sys.modules.pop(name, None)
            # Python would take bytecode of the same second and size for that of the file.
            with suppress(OSError):
                Path(cache_from_source(str(added_module(name)))).unlink()
        invalidate_caches()
    _IMPORTED.update(theirs)
    return import_module(module)


@lru_cache
def _code_of(module: str, folder: Path | None, calls: int) -> Code:  # noqa: ARG001
    """Return a module's code as `code_of`, as it is after so many commands have begun."""
    digest = hashlib.sha256()
    seen: set[str] = set()
    asked: set[str] = set()
    others: set[str] = set()
    waiting = [module]
    path_kept = _cache()
    kept = _kept_parses(path_kept)
    n_known = len(kept)
    while waiting:
        name = waiting.pop()
        if name in asked:
            continue
        asked.add(name)
        path = None if name in UNHASHED else module_file(name)
        if path is None:
            others.add(name.partition(".")[0])
            continue
        seen.add(name)
        if is_ours(name) and name in sys.modules and path.stat().st_mtime > _BEGUN:
            raise UserError(f"{path} was edited after this program began; start the program again")
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        text = path.read_text(encoding="utf-8")
        parsed_as = "\n".join((platform.python_version(), package, text))
        key = hashlib.sha256(parsed_as.encode()).hexdigest()
        if key not in kept:
            kept[key] = _imports_and_code(text, path.name, package)
        imports, code = kept[key]
        waiting += filter(None, (name.rpartition(".")[0], *imports))
        digest.update(code.encode())
    if path_kept is not None and len(kept) > n_known:
        with suppress(WriteError):
            write_whole(path_kept, json.dumps(kept if len(kept) <= MOST_KEPT else {}))
    if "numba" in others:
        others.add("llvmlite")  # which it compiles by
    top = module.partition(".")[0]
    counted = PACKAGES.keys() | ({top} if not seen and module not in UNHASHED else set())
    return Code(digest.hexdigest(), frozenset(seen), frozenset(others & counted))


@lru_cache
def _kept_parses(path: Path | None) -> dict[str, tuple[list[str], str]]:
    """Return what is known of texts by their hashes, kept in a file: what they import, their code.

    Parsing the modules of a table takes longer than everything else if its units are stored.
    """
    with suppress(OSError, ValueError, TypeError):  # none yet, or damaged
        return dict(json.loads(path.read_text(encoding="utf-8")) if path else {})
    return {}


def syntax_tree(text: str, file: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of a module's text; SyntaxError if it has none.

    One thread at a time: Python 3.11 counts the depth of trees for all threads together, and two
    that parse at once may fail.
    """
    with _PARSING:
        return ast.parse(text, file)


def _imports_and_code(text: str, file: str, package: str) -> tuple[list[str], str]:
    """Return what a module imports, and the hash of its code."""
    tree = syntax_tree(text, file)
    code = ast.dump(_without_docstrings(tree)).encode()
    return _imports_of(tree, package), hashlib.sha256(code).hexdigest()


def _cache() -> Path | None:
    """Return the file of parsed modules: versions of code decide what is believed to be ours."""
    try:
        return private_cache() / "parsed_modules.json"
    except OSError:
        return None


def code_version(module: str) -> str:
    """Return the hash of a module's code and its imports (`code_of`)."""
    return code_of(module).version


def package_versions(modules: Iterable[str]) -> str:
    """Return a hash of the versions of Python and of the packages that affect numbers.

    They provide random generators, sums and compilers: another version may give different bits.
    """
    return _versions(frozenset().union(*(code_of(name).packages for name in modules)))


@lru_cache
def _versions(packages: frozenset[str]) -> str:
    python = ".".join(platform.python_version_tuple()[:2])
    named = [(name, installed_version(PACKAGES.get(name, name))) for name in sorted(packages)]
    versions = [python, *(f"{name} {found or 'none'}" for name, found in named)]
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()


def _imports_of(tree: ast.Module, package: str) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            module = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return sorted(found)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Return code without strings that are statements, those below constants included."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            if isinstance(statements := getattr(node, field, None), list):
                kept = [each for each in statements if not _is_docstring(each)]
                setattr(node, field, kept or [ast.Pass() for _ in statements[:1]])
    return tree


def _is_docstring(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
