"""Versions of code: a hash of the modules that make a result."""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from pathlib import Path

from omtl.own import module_in, own_module
from omtl.paths import PACKAGE


@lru_cache
def code_version(module: str) -> str:
    """Return a hash of a module's code and of the project's and the user's code that it imports.

    Comments, docstrings and layout do not count: a unit stays valid when only they change.
    """
    digest = hashlib.sha256()
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _source_of(name)
        if name in seen or path is None:
            continue
        seen.add(name)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        waiting += _imports_of(tree, package)
        digest.update(ast.dump(_without_docstrings(tree)).encode())
    return digest.hexdigest()


def _source_of(module: str) -> Path | None:
    """Return the file of a module of the project or the user whose code makes results."""
    if module in ("omtl", "omtl.errors", "omtl.own", "omtl.paths", "data_fetchers.fetch"):
        return None  # they decide what is said, where files are, how many threads: never a number
    ours = module.split(".")[0] in ("omtl", "data_fetchers")
    return (module_in(PACKAGE.parent, module) if ours else None) or own_module(module)


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
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree
