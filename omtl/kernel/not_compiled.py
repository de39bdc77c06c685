"""Why numba cannot compile a learner, in a line."""

from __future__ import annotations

import re
from pathlib import Path

from numba.core.errors import NumbaError

import omtl

PACKAGE = Path(omtl.__file__).resolve().parent

COLOURS = re.compile(r"\x1b\[[0-9;]*m")

TELLING = {
    "Only accept returning of array": "it makes an array, which compiled rules may not",
    "NRT required but not enabled": "it makes an array, which compiled rules may not",
}
"""What numba says, each with what that means of a learner."""

OPENING = ("Failed in", "No implementation of function Function(<function")
"""How the lines begin by which numba only leads up to what is the matter."""


def why(fault: NumbaError) -> str:
    """Return what numba says is the matter, and of which line of the learner's file."""
    text = COLOURS.sub("", str(fault))
    lines = [line.strip() for line in text.splitlines()]
    meant = next((words for said, words in TELLING.items() if said in text), None)
    if meant is None:
        raised = [i for i, line in enumerate(lines) if re.match(r"\w*Error: Failed in", line)]
        starts = [lines[i + 1] for i in raised if i + 1 < len(lines)]
        meant = next((line for line in [*starts, *lines] if not line.startswith(OPENING)), "")
    place = _place(lines)
    return f"{meant}; {place}" if place else meant


def _place(lines: list[str]) -> str:
    """Return the line of code of the first file that is neither numba's nor this package's."""
    for number, line in enumerate(lines):
        found = re.fullmatch(r'File "(.+)", line (\d+):', line)
        if found and "site-packages" not in found[1] and not _ours(found[1]):
            marked = next((i for i in range(number, len(lines)) if lines[i] == "^"), 0)
            code = f": {lines[marked - 1]}" if marked else ""
            return f"{found[1].rpartition('/')[2]}, line {found[2]} on{code}"
    return ""


def _ours(path: str) -> bool:
    """Whether a file is this package's; numba tells paths from the current folder."""
    return Path(path).resolve().is_relative_to(PACKAGE)
