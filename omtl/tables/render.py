"""The forms of a laid-out table: for the terminal, Markdown and LaTeX."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from omtl.tables.escape import for_latex, for_markdown, one_line
from omtl.tables.layout import SUSPECT, Layout, LayoutLine
from omtl.tables.verdict import (
    CONTAINS,
    EXCLUDES,
    MATCH,
    MISSING,
    NEAR,
    OFF,
    OURS,
    SUBSTITUTE,
    TIMING,
)
from omtl.util.result_files import markdown_table
from omtl.util.screen import width

STYLES = {
    MATCH: ("✓", "green"),
    NEAR: ("~", "yellow"),
    OFF: ("✗", "bold red"),
    SUBSTITUTE: ("≈", "cyan"),
    TIMING: ("t", "blue"),
    OURS: ("+", "magenta"),
    MISSING: ("·", "dim"),
}
"""The mark and the colour of each verdict."""

MARKS = {verdict: mark for verdict, (mark, _) in STYLES.items()}

SURE = {CONTAINS: "", EXCLUDES: "≠", "": ""}
"""The second mark: that the interval of the difference excludes print."""

LEGEND_OF_SURE = f"{SURE[EXCLUDES]} not by chance"

WIDEST = 1000


def mark_of(cell: Any) -> str:
    """Return the two marks of a cell: how far it is from print, and how sure that is."""
    return MARKS[cell.verdict] + SURE[cell.interval]


def show(layout: Layout, console: Console) -> None:
    """Print a table to a terminal: published, ours and a mark, coloured where there is colour."""
    limit = width()
    console.print(Text(layout.title, style="bold"))
    console.print(Text(layout.subtitle))
    for grid in _fitting(turned(layout) if is_broad(layout) else layout, limit):
        console.width = max(limit or console.width, _wide(grid))
        console.print(grid)
    console.width = limit or console.width
    legend = Text()
    for verdict, (mark, colour) in STYLES.items():
        legend.append(f"{mark} {verdict}  ", style=colour)
    legend.append(f"{LEGEND_OF_SURE}  ")
    if layout.has_suspects:
        legend.append(f"{SUSPECT} suspect in print")
    console.print(legend)
    for note in layout.notes:
        console.print(Text(note), soft_wrap=limit is None)


def is_broad(layout: Layout) -> bool:
    """Whether a table has more columns than rows, so that it reads better turned."""
    return len(layout.heads) > len(layout.lines)


def turned(layout: Layout) -> Layout:
    """Return a table with its rows as columns; a data set that all columns name is left out."""
    rows = [line for line in layout.lines if not line.is_group]
    datasets = {head.rpartition(" ")[0] for head in layout.heads}
    labels = [head.rpartition(" ")[2] if len(datasets) == 1 else head for head in layout.heads]
    columns = zip(*(line.cells for line in rows), strict=True)
    lines = [LayoutLine(label, cells) for label, cells in zip(labels, columns, strict=True)]
    return layout._replace(heads=[line.label for line in rows], lines=lines)


def _wide(grid: RichTable) -> int:
    return Console(width=WIDEST).measure(grid).maximum


def _fitting(layout: Layout, limit: int | None) -> list[RichTable]:
    """Return the table in as many parts as the width asks for, each with some of its columns."""
    parts: list[list[int]] = []
    for column in range(len(layout.heads)):
        wider = [*parts[-1], column] if parts else [column]
        if parts and (limit is None or _wide(_grid(layout, wider)) <= limit):
            parts[-1] = wider
        else:
            parts.append([column])
    return [_grid(layout, part) for part in parts]


def _grid(layout: Layout, columns: list[int]) -> RichTable:
    """Return some columns of a table."""
    grid = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    grid.add_column("", no_wrap=True)
    for column in columns:
        grid.add_column(layout.heads[column].replace(" ", "\n"), justify="right", no_wrap=True)
        grid.add_column("ours", justify="right", no_wrap=True)
        grid.add_column("", no_wrap=True)
    for line in layout.lines:
        shown = [Text(line.label, style="italic" if line.is_group else "")]
        for cell in [line.cells[column] for column in columns if line.cells]:
            if cell is None:
                shown += [Text("-"), Text(""), Text("")]
                continue
            _, colour = STYLES[cell.verdict]
            shown += [
                Text(cell.shown_published.replace(" ", "")),
                Text(cell.shown_ours.replace(" ", ""), style=colour),
                Text(mark_of(cell), style=colour),
            ]
        grid.add_row(*shown)
    return grid


def layout_markdown(layout: Layout) -> str:
    """Return a table in Markdown: published → **ours** verdict."""
    title, subtitle = for_markdown(layout.title), for_markdown(layout.subtitle)
    lines = [f"# {title}", "", subtitle[0].upper() + subtitle[1:] + ".", ""]
    marked = f" `{SUSPECT}`: suspect in print." if layout.has_suspects else ""
    lines += [f"Each cell: published, **ours**, verdict; {LEGEND_OF_SURE}.{marked}", ""]
    lines.append("| | " + " | ".join(map(for_markdown, layout.heads)) + " |")
    lines.append("| --- |" + " --- |" * len(layout.heads))
    for line in layout.lines:
        if line.is_group:
            lines.append(f"| *{for_markdown(line.label)}* |" + " |" * len(layout.heads))
            continue
        cells = [
            "-"
            if cell is None
            else ", ".join(filter(None, (cell.shown_published, f"**{cell.shown_ours}**")))
            + f" {cell.verdict} {SURE[cell.interval]}".rstrip()
            for cell in line.cells
        ]
        lines.append(f"| {for_markdown(line.label)} | " + " | ".join(cells) + " |")
    if layout.notes:
        lines += ["", "## Notes", ""] + [f"- {for_markdown(note)}" for note in layout.notes]
    return "\n".join(lines) + "\n"


def claims_markdown(claims: pd.DataFrame) -> str:
    """Return in Markdown what the paper says of a table: true of its own numbers, and of ours?"""
    if claims.empty:
        return ""
    rows = (
        [
            f"{for_markdown(row['says'])} ({for_markdown(row['place'])})",
            *(row["in_print"], f"**{row['outcome']}**"),
        ]
        for row in claims.to_dict("records")
    )
    lines = ["", "## Claims", "", *markdown_table(["the paper says", "in print", "ours"], rows)]
    return "\n".join(lines) + "\n"


def latex(layout: Layout) -> str:
    """Return a table in LaTeX (booktabs): published and ours, our matches in bold, as it says."""
    width = 1 + 2 * len(layout.heads)
    heads = " & ".join(rf"\multicolumn{{2}}{{c}}{{{for_latex(head)}}}" for head in layout.heads)
    pairs = " & ".join(["published & ours"] * len(layout.heads))
    lines = [
        rf"% {one_line(f'{layout.title}; {layout.subtitle}')}",
        rf"\begin{{tabular}}{{l{'rr' * len(layout.heads)}}}",
        r"\toprule",
        rf" & {heads} \\",
        rf" & {pairs} \\",
        r"\midrule",
    ]
    for line in layout.lines:
        if line.is_group:
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{\emph{{{for_latex(line.label)}}}}} \\")
            continue
        cells = []
        for cell in line.cells:
            if cell is None:
                cells += ["-", ""]
                continue
            ours = for_latex(cell.shown_ours)
            cells += [
                for_latex(cell.shown_published),
                rf"\textbf{{{ours}}}" if cell.verdict == MATCH else ours,
            ]
        lines.append(f"{for_latex(line.label)} & " + " & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines.append(r"\par\smallskip\footnotesize Bold: our number is within 5\,\% of print.")
    return "\n".join(lines) + "\n"
