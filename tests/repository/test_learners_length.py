"""A learner is about as long as its reference, so that it can be read as its paper's equations."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from omtl.reference import vocabulary
from omtl.reference.transcriptions import transcriptions

MOST = 1.5
"""The most lines of a learner to a line of its reference."""

LONGER = {"ROMRDA"}
"""ROM-RDA has the two terms of its objective, which take 15 of its lines."""

PAIRS = [pair for pair in transcriptions().items() if pair[0].__module__.startswith("omtl.")]


@cache
def lines_of(path: Path) -> dict[str, tuple[int, frozenset[str]]]:
    """Return of each function and class of a file its lines of code, and the names it uses.

    Comments, docstrings, decorators and blank lines do not count.
    """
    found = {}
    for each in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(each, ast.ClassDef | ast.FunctionDef):
            continue
        for part in ast.walk(each):
            if isinstance(part, ast.ClassDef | ast.FunctionDef):
                part.decorator_list = []
                if ast.get_docstring(part):
                    part.body = part.body[1:] or [ast.Pass()]
        names = frozenset(part.id for part in ast.walk(each) if isinstance(part, ast.Name))
        found[each.name] = len(ast.unparse(each).replace("\n\n", "\n").splitlines()), names
    return found


def n_lines(start: Any, *more: Any) -> int:
    """Return the lines of a class or function, and of what it uses of its file and of others."""
    defined = {}
    for of in (*more, start):
        defined |= lines_of(Path(inspect.getfile(of)))
    seen: set[str] = set()
    left = {start.__name__}
    while left:
        seen |= left
        left = {name for one in left for name in defined[one][1] if name in defined} - seen
    return sum(defined[name][0] for name in seen)


@pytest.mark.parametrize(("kind", "plain"), PAIRS, ids=[kind.__name__ for kind, _ in PAIRS])
def test_a_learner_is_about_as_long_as_its_reference(kind: type, plain: Any) -> None:
    """Both with the functions beside them that they use; the kernel's vocabulary is not counted."""
    ratio = n_lines(kind) / n_lines(plain, vocabulary)
    assert (ratio > MOST) == (kind.__name__ in LONGER)
