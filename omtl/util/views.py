"""How a result is shown: one table of texts, for a terminal, a notebook, a file and LaTeX."""

from __future__ import annotations

import html
import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any, Literal

from omtl.util.result_files import for_latex, latex_table
from omtl.util.screen import say, width

if TYPE_CHECKING:
    import pandas as pd

WIDEST = 10_000
"""Width at which a table's natural width is measured, in letters."""

CSS = {"dim": "gray", "bold": "", "": ""}
"""Colours of rows in HTML where they are called otherwise than on a terminal."""


@dataclass(frozen=True)
class View:
    """A table of texts.

    Parameters
    ----------
    heads : sequence of str
    rows : sequence of sequence of str
        One text per head.
    title : str
        What stands above.
    right : sequence of str
        Heads of right-aligned columns.
    colours : sequence of str or of sequence of str
        One colour per row, or one per cell; an empty string means none.
    spare : sequence of str
        Heads of columns to drop, in this order, if a terminal is too narrow.
    notes : sequence of str
        Sentences that stand below.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    right: Sequence[str] = ()
    colours: Sequence[str | Sequence[str]] = ()
    spare: Sequence[str] = ()
    notes: Sequence[str] = ()

    def show(self) -> None:
        """Print the table, coloured on a terminal and fitted to it."""
        if self.title:
            say(self.title)
        self._print(None, width())
        for note in self.notes:
            say(note)

    def text(self) -> str:
        """Return the table as plain text, at full width."""
        file = io.StringIO()
        self._print(file, WIDEST)
        lines = [file.getvalue().rstrip("\n"), *self.notes]
        return "\n".join([*filter(None, [self.title]), *lines]).strip("\n")

    def html(self) -> str:
        """Return the table as HTML, as a notebook shows it."""

        def row(kind: str, cells: Sequence[str], colour: Any = "") -> str:
            style = f' style="color:{colour}"' if (colour := CSS.get(str(colour), colour)) else ""
            return f"<tr{style}>{''.join(_html_cell(kind, cell) for cell in cells)}</tr>"

        of_rows = [one if isinstance(one, str) else "" for one in self._colours]
        rows = (row("td", *pair) for pair in zip(self.rows, of_rows, strict=True))
        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        notes = "".join(f"<p><small>{html.escape(note)}</small></p>" for note in self.notes)
        return f"<table>{caption}{row('th', self.heads)}{''.join(rows)}</table>{notes}"

    def latex(self) -> str:
        """Return the table in LaTeX (booktabs), with its title as the caption."""
        columns = "".join("r" if head in self.right else "l" for head in self.heads)
        heads, *rows = [map(for_latex, row) for row in (self.heads, *self.rows)]
        return latex_table(columns, [heads], rows, self.title)

    def _print(self, file: IO[str] | None, limit: int | None) -> None:
        """Print the rows, at full width or fitted to a limit: spare columns go, then texts wrap."""
        from rich.console import Console
        from rich.text import Text

        console = Console(file=file, force_terminal=False if file else None)
        kept, shown = [*range(len(self.heads))], self
        limit = limit or max(console.width, self.width)
        for head in self.spare:
            if shown.width > limit and head in shown.heads:
                kept.remove(self.heads.index(head))
                shown = self.part(kept)
        console.width = limit
        with console.capture() as drawn:
            console.print(shown._grid(wraps=shown.width > limit))
        print("\n".join(line.rstrip() for line in drawn.get().splitlines()), file=file)
        if left_out := [head.strip() for head in self.heads if head not in shown.heads]:
            names = ", ".join(dict.fromkeys(left_out))
            console.print(Text(f"not shown here: {names}"))

    def part(self, columns: Sequence[int]) -> View:
        """Return some columns, by number."""

        def taken(row: Any) -> Any:
            return row if isinstance(row, str) else [row[column] for column in columns]

        rows, colours = [*map(taken, self.rows)], [*map(taken, self.colours)]
        return replace(self, heads=taken(self.heads), rows=rows, colours=colours)

    @property
    def width(self) -> int:
        """The width that it needs on a terminal, in letters."""
        from rich.console import Console

        return Console(width=WIDEST).measure(self._grid()).maximum

    @property
    def _colours(self) -> Sequence[str | Sequence[str]]:
        return self.colours or [""] * len(self.rows)

    def _grid(self, wraps: bool = False) -> Any:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=not wraps)
        for head in self.heads:
            side: Literal["left", "right"] = "right" if head in self.right else "left"
            grid.add_column(Text(head), justify=side, no_wrap=not wraps, overflow="fold")
        for row, colour in zip(self.rows, self._colours, strict=True):
            each = [colour] * len(row) if isinstance(colour, str) else colour
            grid.add_row(*map(Text, row, each))
        return grid


def _html_cell(kind: str, text: str) -> str:
    return f"<{kind}>{html.escape(text)}</{kind}>"


def view_of(frame: pd.DataFrame, title: str = "") -> View:
    """Return a data frame as a table of texts."""
    numbers = [str(name) for name in frame.select_dtypes("number")]
    rows = [[as_shown(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return View([str(name) for name in frame], rows, title, right=numbers)


def as_shown(value: Any) -> str:
    """Return a value of a data frame as text, numbers to six digits; empty where there is none."""
    from pandas import isna
    from pandas.api.types import is_scalar

    if is_scalar(value) and isna(value):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class DisplayedResult(ABC):
    """A result that shows itself, by its `view`, in a terminal, a notebook, a file and LaTeX."""

    @property
    @abstractmethod
    def view(self) -> View:
        """What is shown of it."""

    def show(self) -> None:
        """Print it, coloured on a terminal and fitted to it."""
        self.view.show()

    def to_latex(self) -> str:
        """Return it as a LaTeX table (booktabs)."""
        return self.view.latex()

    def __repr__(self) -> str:
        """Return it as plain text."""
        return replace(self.view, notes=()).text()

    def _repr_html_(self) -> str:
        """Return it as HTML, for notebooks."""
        return self.view.html()
