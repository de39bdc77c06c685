"""The style that all drawings share, and saving them reproducibly."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

DOTS_PER_INCH = 200

FORMS: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}
"""The formats of a picture, each with the option that omits the time of drawing."""

LOOK = Path(__file__).parent / "look.mplstyle"

SMALL = 7.0
"""Size of the smallest text, in points."""


def render(
    drawing: Callable[[], Canvas], salt: str, forms: Sequence[str] = ("svg",)
) -> dict[str, bytes]:
    """Return a drawing in some `FORMS`, in the project's style, whatever the user's settings.

    The same drawing gives the same bytes; `salt` names it, for the ids within the svg.
    """
    from matplotlib import style

    pictures = {}
    with style.context(["default", LOOK, {"svg.hashsalt": salt}]):
        canvas = drawing()
        for form in forms:
            content = io.BytesIO()
            canvas.savefig(content, format=form, dpi=DOTS_PER_INCH, metadata=FORMS[form])
            pictures[form] = content.getvalue()
    if "svg" in pictures:
        pictures["svg"] = shorter(pictures["svg"].decode()).encode()
    return pictures


FONTS = re.compile(r"(font-family: 'DejaVu Sans'|'DejaVu Sans'), [^;\"]*(?=[;\"])")
PATHS = re.compile(r' d="([^"]*)"')
PLACES = re.compile(r' (?:d|x|y|points|transform)="[^"]*"')
FINER = re.compile(r"(\.\d)\d+")
ZERO = re.compile(r"\.0(?=[ \",)])")
METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
INDENT = re.compile(r"(?<=>)\n\s+(?=<)")
NAMED = re.compile(r'<g id="[^"]*"')


def shorter(svg: str) -> str:
    """Return an SVG with the same look at half the size.

    Positions are rounded to a tenth of a point, there is one font, and names of groups, indentation
    and metadata are left out.
    """
    svg = PATHS.sub(lambda path: f' d="{short_path(path[1].split())}"', METADATA.sub("", svg))
    svg = PLACES.sub(lambda place: ZERO.sub("", FINER.sub(r"\1", place[0])), svg)
    return INDENT.sub("\n", NAMED.sub("<g", FONTS.sub(r"\1, sans-serif", svg)))


def short_path(words: Sequence[str]) -> str:
    """Return the commands of a path; a line after a line or a move needs no letter."""
    shortened, command = [], ""
    for word in words:
        if word == "L" and command in ("M", "L"):
            continue
        if word.isalpha():
            command = word
        shortened.append(word)
    return " ".join(shortened)
