"""Printing tables: coloured on a terminal, plain when piped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from omtl.util.screen import width


def print_rows(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[str] = (),
    colours: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """Print rows under their heads, at full width or fitted to the terminal.

    Parameters
    ----------
    heads : sequence of str
    rows : sequence of sequence of str
        One text per head.
    right : sequence of str
        Heads of right-aligned columns.
    colours : sequence of str
        One colour per row; an empty string means none.
    spare : sequence of str
        Heads of columns to drop, in this order, if the terminal is too narrow. If the rest is still
        too wide, texts are wrapped.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def grid(wraps: bool = False) -> Table:
        made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=not wraps)
        for head in kept:
            side: Literal["left", "right"] = "right" if head in right else "left"
            made.add_column(head, justify=side, no_wrap=not wraps, overflow="fold")
        places = [heads.index(head) for head in kept]
        for row, colour in zip(rows, colours or [""] * len(rows), strict=True):
            made.add_row(*(Text(row[place]) for place in places), style=colour)
        return made

    def wide(made: Table) -> int:
        return Console(width=10_000).measure(made).maximum

    console, limit, kept = Console(), width(), list(heads)
    table = grid()
    if limit is None:
        limit = max(console.width, wide(table))
    for head in spare:
        if wide(table) > limit and head in kept:
            kept.remove(head)
            table = grid()
    if wide(table) > limit:
        table = grid(wraps=True)
    console.width = limit
    console.print(table)
    if left_out := [head.strip() for head in heads if head not in kept]:
        names = ", ".join(dict.fromkeys(left_out))
        console.print(Text(f"not shown here: {names} (--json has all)"))
