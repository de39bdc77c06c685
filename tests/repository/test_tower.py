"""The tower of folders: each imports from those below it, and none from one above."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from omtl.util.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TOP_DOWN = re.findall(r"^\| `omtl/(\w+)/` \|", PAGE.partition("folder of `omtl/`")[2], re.MULTILINE)
FLOORS = list(reversed(TOP_DOWN))
FLOORS.insert(FLOORS.index("sklearn"), "data_fetchers")
MODULES = sorted([*(ROOT / "omtl").rglob("*.py"), *(ROOT / "data_fetchers").glob("*.py")])

INTERFACES = {"load", "parse", "play_grid", "run"}
"""Functions that a module is recognised by: of a data set, a protocol, a command."""

NOT_YET = ("kernel", "learners")
"""Folders whose vocabulary is counted apart: renaming it changes the learners' hashes."""


def floor(parts: tuple[str, ...]) -> int | None:
    """Return how high a module stands; None at the root of the package, and for others' modules."""
    if parts[0] not in ("omtl", "data_fetchers"):
        return None
    folder = parts[0] if parts[0] == "data_fetchers" else parts[1] if len(parts) > 1 else ""
    return FLOORS.index(folder) if folder in FLOORS else None


def imported(path: Path) -> set[str]:
    """Return all modules that a file imports, also within its functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_the_page_names_all_folders() -> None:
    """They are those that there are."""
    there = {path.parent.name for path in (ROOT / "omtl").glob("*/__init__.py")}
    assert set(TOP_DOWN) == there


def test_no_module_imports_from_above() -> None:
    """What stands below knows nothing of what stands above."""
    heights = {path: floor(path.relative_to(ROOT).with_suffix("").parts) for path in MODULES}
    above = [
        f"{path} imports {name}"
        for path, mine in heights.items()
        if mine is not None
        for name in imported(path)
        if (high := floor(tuple(name.split(".")))) is not None and high > mine
    ]
    assert not above


def test_public_names_are_defined_once() -> None:
    """Every data set has its `load`, every protocol its `play_grid`, every command its `run`."""
    found: dict[str, set[str]] = {}
    for path in MODULES:
        parts = path.relative_to(ROOT).parts
        if parts[1] not in NOT_YET:
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_":
                    found.setdefault(node.name, set()).add("/".join(parts))
    twice = {name: files for name, files in found.items() if len(files) > 1}
    assert twice.keys() <= INTERFACES, twice
