"""Result files: CSV as text, strict JSON, text in Markdown and LaTeX, several files of a folder."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omtl.util.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

APART = " "
"""Separates the values of a field of folded rows."""


NUMBER = r"(?:inf|nan|[\d.]+(?:e[+-]?\d+)?)"
FORMULA = re.compile(rf"'*(?:[=@\t\n]|[+-](?!{NUMBER}(?:\s|$))|[+-].*(?:[|!]|\w\())", re.DOTALL)
"""Text that a spreadsheet may take for a formula: a label of a stranger's, never a number."""


def as_csv(rows: pd.DataFrame, digits: int | None = None) -> str:
    """Return rows as CSV, with numbers in full or to some significant digits.

    An apostrophe before text that a spreadsheet would compute lets it show the text; `read_csv`
    removes it.
    """
    form = None if digits is None else f"%.{digits}g"
    rows = rows.copy()
    for name, column in rows.select_dtypes(exclude="number").items():
        values = column.tolist()  # quicker than `map`, which also infers types of objects
        if column.dtype == object or [*map(_no_formula, values)] != values:
            rows[name] = column.map(_no_formula)
    return rows.to_csv(index=False, lineterminator="\n", float_format=form)


def _no_formula(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\r", "\n")  # which pandas writes in quotes
    return f"'{text}" if FORMULA.match(text) else text


def write_csv(path: Path, rows: pd.DataFrame) -> None:
    """Write rows to a CSV file."""
    write_whole(path, as_csv(rows))


def as_parquet(**frames: pd.DataFrame) -> dict[str, bytes]:
    """Return frames as Parquet, by name; none without pyarrow, and a line that says so."""
    if find_spec("pyarrow") is None:
        print(
            "no Parquet is written, as pyarrow is not installed: pip install 'omtl[tables]'",
            file=sys.stderr,
        )
        return {}
    return {name: frame.to_parquet(index=False) for name, frame in frames.items()}


def read_csv(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV file as text; a cell without any is empty."""
    import pandas as pd

    content = path.read_bytes()
    rows = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    marked = b"'" in content  # most files have no such text, and to look for it takes longest
    return rows.replace(rf"^'(?={FORMULA.pattern})", "", regex=True) if marked else rows


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


MARKUP = re.compile(
    r"[\\`*<>|\[\]~&]"
    r"|(?<![^\W_])_|_(?![^\W_])"
    r"|^(?:#|[-+=](?=\s|[-=]|$)|\d+(?=[.)](?:\s|$)))"
)
"""Characters that Markdown may read as markup, except underscores within words."""

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "%": r"\%",
    "_": r"\_",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "—": "---",
}


def one_line(text: str) -> str:
    """Return text on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def for_markdown(text: str) -> str:
    """Return Markdown that shows exactly this text, on one line."""

    def escaped(found: re.Match[str]) -> str:
        return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"

    return MARKUP.sub(escaped, one_line(text))


def for_latex(text: str) -> str:
    """Return LaTeX that shows exactly this text, on one line."""
    line = one_line(text)
    read_by_line_break = "{}" if line.startswith(("[", "*")) else ""
    return read_by_line_break + "".join(LATEX.get(character, character) for character in line)


Cells = Iterable[Iterable[str]]
"""Lines of a table, each of some texts."""


def latex_table(columns: str, heads: Cells, rows: Cells, caption: str | None = None) -> str:
    """Return a table in LaTeX (booktabs), in a floating environment if a caption is given.

    Parameters
    ----------
    columns : str
        One letter each: ``lrr``.
    heads, rows : iterable of iterable of str
        In LaTeX.
    caption : str, optional
        As text; empty for a float without one.
    """
    above, below = ([" & ".join(line) + r" \\" for line in part] for part in (heads, rows))
    body = [r"\toprule", *above, r"\midrule", *below, r"\bottomrule"]
    lines = [rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}"]
    if caption is not None:
        named = [rf"\caption{{{for_latex(caption)}}}"] if caption else []
        lines = [r"\begin{table}", r"\centering", *named, *lines, r"\end{table}"]
    return "\n".join(lines) + "\n"


def markdown_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]


def fold(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return rows of text, with adjacent rows merged if they differ only in `columns`."""
    same = [name for name in rows.columns if name not in columns]
    folded = []
    for _, each in groupby(rows.to_dict("records"), key=lambda row: [row[name] for name in same]):
        run = list(each)
        folded.append(run[0] | {name: APART.join(row[name] for row in run) for name in columns})
    return type(rows)(folded, columns=rows.columns)


def unfold(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows before folding."""
    return [
        {**row, **dict(zip(columns, values, strict=True))}
        for row in rows
        for values in zip(*(row[name].split(APART) for name in columns), strict=True)
    ]


def strict_json(content: Any, indent: int | None = 1) -> str:
    """Return a value as strict JSON: infinity and NaN become ``"inf"`` and null."""
    return json.dumps(_finite(content), indent=indent, ensure_ascii=False, default=str)


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None if math.isnan(content) else str(content)
    return content
