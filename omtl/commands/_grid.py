"""Printing rows under heads: coloured on a terminal, plain where it is piped."""

from __future__ import annotations

from collections.abc import Sequence


def print_rows(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[str] = (),
    colours: Sequence[str] = (),
) -> None:
    """Print rows under their heads, as wide as they are.

    Parameters
    ----------
    heads : sequence of str
    rows : sequence of sequence of str
        A text for each head.
    right : sequence of str
        Heads whose columns are set to the right.
    colours : sequence of str
        A colour for each row; none where it is empty.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in heads:
        grid.add_column(head, justify="right" if head in right else "left", no_wrap=True)
    for number, row in enumerate(rows):
        grid.add_row(*map(Text, row), style=colours[number] if colours else "")
    console = Console()
    console.width = max(console.width, Console(width=10_000).measure(grid).maximum)
    console.print(grid)
