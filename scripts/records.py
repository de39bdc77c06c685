"""Writing what a script has measured: a file of results, and its place in a page of docs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from omtl.util.files import write_whole
from omtl.util.paths import RESULTS, ROOT

TRUST = RESULTS / "trust"


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a file of rows under their columns."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    write_whole(path, text.getvalue())


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


def record(name: str, columns: Sequence[str], row: Sequence[str], order: Sequence[str]) -> None:
    """Put a row into ``results/trust/<name>.csv`` and all its rows into the page on trust.

    It replaces the row with the same first cell; `order` has the order of first cells.
    """
    path = TRUST / f"{name}.csv"
    rows: dict[str, Sequence[str]] = {}
    with suppress(FileNotFoundError), path.open(encoding="utf-8", newline="") as file:
        rows = {known[0]: known for known in [*csv.reader(file)][1:]}
    rows[row[0]] = row
    every = [rows[first] for first in order if first in rows]
    write_csv(path, columns, every)
    fill(ROOT / "docs" / "trust.md", name, table(columns, every))
