"""Putting what a script has measured into a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from omtl.util.files import write_whole


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; columns after the first stand to the right."""
    lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)], *map(list, rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def fill(page: Path, name: str, lines: Iterable[str]) -> None:
    """Replace what stands between the marks of a name in a page.

    The marks are the lines ``<!-- name -->`` and ``<!-- end of name -->``.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page} has no marks of {name!r}")
    write_whole(page, before + begin + "\n".join(lines) + "\n" + end + after)
