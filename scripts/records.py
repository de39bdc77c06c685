"""Writing what a script has measured: a file of results, and its place in a page of docs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from omtl.util.files import write_whole
from omtl.util.paths import RESULTS, ROOT

TRUST = RESULTS / "trust"


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a file of rows under their columns."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    write_whole(path, text.getvalue())


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file by their columns, none if it has not been made."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def put(
    path: Path, columns: Sequence[str], row: Sequence[str], order: Iterable[str]
) -> list[Sequence[str]]:
    """Put a row into a file, in place of the one with the same first cell; return all its rows.

    `order` has the order of first cells.
    """
    rows = {line[columns[0]]: [*line.values()] for line in read_csv(path)} | {row[0]: row}
    every = [rows[first] for first in order if first in rows]
    write_csv(path, columns, every)
    return every


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; columns after the first stand to the right."""
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def fill(name: str, lines: Iterable[str]) -> None:
    """Replace what stands between the marks of a name in the page of the documentation with them.

    The marks are the lines ``<!-- name -->`` and ``<!-- end of name -->``.
    """
    between = re.compile(f"(?<=<!-- {name} -->\n).*(?=<!-- end of {name} -->\n)", re.DOTALL)
    for page in (ROOT / "docs").glob("*.md"):
        text, found = between.subn(
            lambda _: "\n".join(lines) + "\n", page.read_text(encoding="utf-8")
        )
        if found:
            write_whole(page, text)
            return
    raise ValueError(f"no page has marks of {name!r}")


def publish(
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    head: str,
    folder: Path = TRUST,
) -> None:
    """Write ``<name>.csv`` into a folder and, if that is the project's, head and rows into docs."""
    write_csv(folder / f"{name}.csv", columns, rows)
    if folder == TRUST:
        fill(name, [head, "", *table(columns, rows)])


def record(name: str, columns: Sequence[str], row: Sequence[str], order: Iterable[str]) -> None:
    """Put a row into ``results/trust/<name>.csv``, and all rows into their page (`put`)."""
    fill(name, table(columns, put(TRUST / f"{name}.csv", columns, row, order)))
