"""Explaining in one line why numba cannot compile a learner."""

from __future__ import annotations

import re
from pathlib import Path

from numba import NumbaError, UnsupportedBytecodeError

import omtl
from omtl.data.rows import NO_ARRAY
from omtl.util.providers import extension_of

PACKAGE = Path(omtl.__file__).resolve().parent

COLOURS = re.compile(r"\x1b\[[0-9;]*m")

REFUSALS = (NumbaError, UnsupportedBytecodeError)
"""The errors that numba raises if it cannot compile something."""

ALLOCATING = "Only accept returning of array|NRT required but not enabled"

ALLOCATES = "it makes an array, a text or another object, which compiled rules may not"

TELLING = (
    (
        r"No implementation of function Function\(<(?:built-in )?(?:function|class) '?([\w.]+)",
        "it calls {} in a way that numba does not know",
    ),
    (
        r"Untyped global name '(\w+)'.*Cannot determine Numba type of <class 'function'>",
        "it calls the plain function {}; decorate that with @inlined of omtl.ops",
    ),
    (r"Untyped global name '(\w+)'", "it uses {}, which numba does not know"),
    (r"NameError: name '(\w+)' is not defined", "{} is not defined"),
    (r"Unknown attribute '(\w+)'", "it asks for the attribute {}, which numba does not know there"),
    (r"unsupported opcode \((\w+)\)", "it has a statement that numba does not know ({})"),
)
"""Lines in numba's messages, and what they mean for a learner."""

ROW_AS_ARRAY = re.compile(r"\brows\[|@ *x\b|\bx *@|np\.(dot|inner)\(.*\bx\b")
"""Lines of code that take an example for a vector."""

OPENING = ("Failed in", "No implementation of function Function(<function", "- Resolution failure")
"""Starts of lines that only introduce the actual problem."""


def why(fault: Exception) -> str:
    """Return what numba refuses, and the line in the learner's file."""
    text = COLOURS.sub("", str(fault))
    lines = [line.strip() for line in text.splitlines()]
    meant = ALLOCATES if re.search(ALLOCATING, text) else _reworded(_matter(lines))
    place = _place(lines)
    if ROW_AS_ARRAY.search(place):
        meant = NO_ARRAY
    return f"{meant}; {place}" if place else meant


def _matter(lines: list[str]) -> str:
    """Return the line that states the problem."""
    raised = [i for i, line in enumerate(lines) if re.match(r"\w*Error: Failed in", line)]
    ordered = [*(lines[i + 1] for i in raised if i + 1 < len(lines)), *lines]
    telling = [line for line in ordered if line and not line.startswith(OPENING)]
    functions = [line for line in lines if line.startswith(OPENING[1])]
    candidates = [line for line in telling if not line.startswith(("File ", "There are"))]
    return next(iter([*candidates[:1], *functions, *lines]), "")


def _reworded(line: str) -> str:
    found = ((re.search(said, line), words) for said, words in TELLING)
    return next((words.format(*match.groups()) for match, words in found if match), line)


def _place(lines: list[str]) -> str:
    """Return the line of code in the first file outside numba and this package."""
    for number, line in enumerate(lines):
        found = re.fullmatch(r'File "(.+)", line (\d+):', line)
        found = found or re.search(r"Raised from (.+) \((\d+)\)", line)
        if found and not _is_installed(found[1]) and not _ours(found[1]):
            marked = next((i for i in range(number, len(lines)) if lines[i] == "^"), 0)
            code = f": {lines[marked - 1]}" if marked else ""
            return f"{found[1].rpartition('/')[2]}, line {found[2]}{code}"
    return ""


def _is_installed(path: str) -> bool:
    """Whether a file belongs to an installed package other than an extension."""
    return "site-packages" in path and extension_of(Path(path).resolve()) is None


def _ours(path: str) -> bool:
    """Whether a file belongs to this package; numba's paths are relative to the current folder."""
    return Path(path).resolve().is_relative_to(PACKAGE)
