"""Printing tables: coloured on a terminal, plain when piped."""

from __future__ import annotations

from collections.abc import Sequence

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

    def grid(kept: list[str], wraps: bool) -> Table:
        made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=not wraps)
        for head in kept:
            side = "right" if head in right else "left"
            made.add_column(head, justify=side, no_wrap=not wraps, overflow="fold")  # type: ignore[arg-type]
        places = [list(heads).index(head) for head in kept]
        for number, row in enumerate(rows):
            texts = [Text(row[place]) for place in places]
            made.add_row(*texts, style=colours[number] if colours else "")
        return made

    def wide(made: Table) -> int:
        return Console(width=10_000).measure(made).maximum

    console, limit, kept = Console(), width(), list(heads)
    table = grid(kept, wraps=False)
    if limit is None:
        limit = max(console.width, wide(table))
    for head in spare:
        if wide(table) > limit and head in kept:
            kept.remove(head)
            table = grid(kept, wraps=False)
    if wide(table) > limit:
        table = grid(kept, wraps=True)
    console.width = limit
    console.print(table)
    if left_out := [head.strip() for head in heads if head not in kept]:
        names = ", ".join(dict.fromkeys(left_out))
        console.print(Text(f"not shown here: {names} (--json has all)"))
