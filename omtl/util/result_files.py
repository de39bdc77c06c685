"""Result files: CSV as text, tables in Markdown, and writing several files of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omtl.util.files import write_whole

if TYPE_CHECKING:
    import pandas as pd


def as_csv(rows: pd.DataFrame, digits: int | None = None) -> str:
    """Return rows as CSV, with numbers in full or to some significant digits."""
    form = None if digits is None else f"%.{digits}g"
    return rows.to_csv(index=False, lineterminator="\n", float_format=form)


def write_csv(path: Path, rows: pd.DataFrame) -> None:
    """Write rows to a CSV file."""
    write_whole(path, as_csv(rows))


def read_csv(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV file as text; a cell without any is empty."""
    import pandas as pd

    return pd.read_csv(path, dtype=str, keep_default_na=False)


def rows_in(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file as text; none if the file does not exist."""
    return read_csv(path).to_dict("records") if path.exists() else []  # type: ignore[return-value]


def text_of(path: Path) -> str:
    """Return a file's text; empty if it does not exist."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def write_all(folder: Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Write files of a folder by their names; return their paths."""
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]


def markdown_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]
