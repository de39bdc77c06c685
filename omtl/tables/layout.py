"""A table laid out as in its paper, and its forms: for the terminal, Markdown and LaTeX."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
from rich.console import Console
from rich.text import Text

from omtl.experiment.descriptions import TableDescription
from omtl.tables import verdict
from omtl.tables.agreement import agreement, agreement_sentence
from omtl.tables.cells import (
    ALL_TASKS,
    Place,
    description_of,
    each_cell,
    first_cell,
    place_of,
    places_in,
    with_columns,
)
from omtl.tables.proofread import suspects
from omtl.util.result_files import for_latex, for_markdown, latex_table, markdown_table, one_line
from omtl.util.screen import plural, width
from omtl.util.views import View

GROUP_OF_OURS = "Ours (not in the paper)"

SUSPECT = "!"
"""After a published number that is suspect in print."""


class LayoutLine(NamedTuple):
    """A row of a laid-out table: a group's name, or an algorithm with its cells.

    The cells are rows of the frame of cells, or None where the table has none.
    """

    label: str
    cells: tuple[Any, ...] = ()

    @property
    def is_group(self) -> bool:
        """Whether the line only names a group of algorithms."""
        return not self.cells

    @property
    def is_ours(self) -> bool:
        """Whether it is of a learner that the paper does not have."""
        return any(cell is not None and cell.kind == verdict.OURS for cell in self.cells)

    @property
    def texts(self) -> list[tuple[str, str, str, str]]:
        """The published number, ours, its marks and their colour in each column."""
        return [
            ("-", "", "", "")
            if cell is None
            else (cell.shown_published, cell.shown_ours, mark_of(cell), STYLES[cell.verdict][1])
            for cell in self.cells
        ]


class TableLayout(NamedTuple):
    """A laid-out table: what every output format shows.

    The cells of its lines have their texts: ``shown_published`` and ``shown_ours``. Its `agreement`
    with print, which is the first of the notes too, is None if no cell is compared. It
    `has_suspects` if a published number is suspect in print.
    """

    title: str
    subtitle: str
    heads: list[str]
    lines: list[LayoutLine]
    notes: list[str]
    agreement: dict[str, float] | None
    has_suspects: bool

    @property
    def view(self) -> View:
        """Three columns for each head: the published number, ours and the marks."""
        heads = ["", *(text for head in self.heads for text in (head, "ours", ""))]
        rows, colours = [], []
        for line in self.lines:
            texts = line.texts or [("", "", "", "")] * len(self.heads)
            rows.append([line.label, *(text for shown in texts for text in shown[:3])])
            of_ours = (one for *_, colour in texts for one in ("", colour, colour))
            colours.append(["italic" if line.is_group else "", *of_ours])
        title = f"{self.title} ({self.subtitle})"
        return View(heads, rows, title, right=[*self.heads, "ours"], colours=colours)

    @property
    def legend(self) -> Text:
        """What the marks mean."""
        words = [(f"{mark} {word}  ", colour) for word, (mark, colour) in STYLES.items()]
        suspect = f"{SUSPECT} suspect in print" if self.has_suspects else ""
        return Text.assemble(*words, f"{LEGEND_OF_SURE}  ", suspect)

    def parts(self, limit: int | None) -> list[View]:
        """Return the table in as many parts as the width asks for, each with some of its columns.

        It is turned if it is broad, because then it reads better.
        """
        whole = (turned(self) if len(self.heads) > len(self.lines) else self).view
        heads = [head.replace(" ", "\n") for head in whole.heads]
        rows = [[label, *(text.replace(" ", "") for text in row)] for label, *row in whole.rows]
        whole = replace(
            whole, title="", heads=heads, rows=rows, right=[one for one in heads if one]
        )
        parts: list[list[int]] = []
        for first in range(1, len(heads), 3):
            more = [first, first + 1, first + 2]
            if parts and (limit is None or whole.part([*parts[-1], *more]).width <= limit):
                parts[-1] += more
            else:
                parts.append([0, *more])
        return [whole.part(part) for part in parts]

    def show(self) -> None:
        """Print it to a terminal: published, ours and a mark, coloured where there is colour."""
        console = Console()
        console.print(Text(self.title, style="bold"))
        console.print(Text(self.subtitle))
        for part in self.parts(width()):
            part.show()
        console.print(self.legend, soft_wrap=width() is None)


def counts(cells: pd.DataFrame) -> str:
    """Return the number of the paper's cells with each verdict, as text."""
    tally = Counter(cells["verdict"][cells["kind"] != verdict.OURS])
    parts = [f"{word} {tally[word]}" for word in verdict.VERDICTS if tally[word]]
    if not parts:
        return "no cell of the paper"
    return f"{plural(tally.total(), 'cell')}: {', '.join(parts)}"


def lay_out(cells: pd.DataFrame, notes: list[str]) -> TableLayout:
    """Return a table in its paper's layout.

    With ``blocks: dataset`` in the description, there is a block of rows per data set, with the
    tasks as columns; otherwise the data sets are columns, each with its metrics. Our extra
    baselines are a separate group.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.verdict.judged`.
    notes : list of str
        What else stands below the table (`omtl.tables.notes.notes`).
    """
    of, found = description_of(cells), agreement(cells)
    cells = with_texts(cells, of)
    heads = list(dict.fromkeys(cells["head"]))
    notes = notes if found is None else [agreement_sentence(found), *notes]
    marked = bool(cells["shown_published"].str.endswith(SUSPECT).any())
    lines = layout_lines(cells, of)
    return TableLayout(of.title, subtitle_of(cells), heads, lines, notes, found, marked)


def with_texts(cells: pd.DataFrame, of: TableDescription) -> pd.DataFrame:
    """Return cells with what a reader sees of each.

    That is the texts of its published number and of ours, the ``head`` of its column, and the
    ``block`` of rows in which it stands, if there are blocks.
    """
    odd, in_blocks = {place_of(one) for one in suspects(of.id)}, of.blocks == "dataset"
    several = cells["metric"].nunique() > 1

    def texts(cell: Any, place: Place) -> dict[str, str]:
        digits = of.digits_of(cell.metric)
        published = with_spread(cell.published_mean, cell.published_std, digits)
        ours = "diverged" if cell.diverged else "—"
        if cell.n_repeats and not cell.diverged:
            ours = with_spread(cell.ours_mean, cell.ours_std, digits)
        task = "" if cell.task == ALL_TASKS else f"task {cell.task.removeprefix('task')}"
        head = ("" if in_blocks else cell.dataset, task, cell.metric if several else "")
        return {
            "shown_published": published + (SUSPECT if place in odd else ""),
            "shown_ours": ours,
            "head": " ".join(filter(None, head)),
            "block": cell.dataset if in_blocks else "",
        }

    return with_columns(cells, list(map(texts, each_cell(cells), places_in(cells))))


def subtitle_of(cells: pd.DataFrame) -> str:
    """Return the reading, the selection rule, the repeats and the verdicts' counts."""
    asked, experiments = first_cell(cells), list(cells["experiment"])
    plays = max(experiment.plays for experiment in experiments)
    drawn = any(experiment.drawn for experiment in experiments)
    apart = [f"{plays} for each of the paper's"] * (plays > 1)
    apart += ["synthetic data: one draw each"] * drawn
    least, most = (plays * cells["asked_repeats"].agg(end) for end in ("min", "max"))
    repeats = plural(most, "repeat") if least == most else f"{least} to {most} repeats"
    repeats += f" ({'; '.join(apart)})" if apart else ""
    return (
        f"reading {asked.reading}, selection {asked.selection}, {repeats}, "
        f"seed {asked.seed}; {counts(cells)}"
    )


def layout_lines(cells: pd.DataFrame, of: TableDescription) -> list[LayoutLine]:
    """Return the rows of a table, those of each block together, of cells with their texts."""
    heads = list(dict.fromkeys(cells["head"]))
    place = {(cell.block, cell.algorithm, cell.head): cell for cell in each_cell(cells)}
    lines = []
    for block in dict.fromkeys(cells["block"]):
        part = [LayoutLine(block)] if block else []
        group = ""
        for row in of.rows:
            here = tuple(place.get((block, row.label, head)) for head in heads)
            group = row.group or (GROUP_OF_OURS if row.ours else group)
            if any(cell is not None for cell in here):
                if group and LayoutLine(group) not in part:
                    part.append(LayoutLine(group))
                part.append(LayoutLine(row.label, here))
        lines += part
    return lines


def with_spread(mean: Any, std: Any, digits: int) -> str:
    """Return a mean with its spread, as in the papers; nothing without a mean."""
    if mean == "":
        return ""
    shown = f"{float(mean):.{digits}f}"
    return shown if std == "" or pd.isna(std) else f"{shown} ± {float(std):.{digits}f}"


STYLES = {
    verdict.MATCH: ("✓", "green"),
    verdict.NEAR: ("~", "yellow"),
    verdict.OFF: ("✗", "bold red"),
    verdict.SUBSTITUTE: ("≈", "cyan"),
    verdict.TIMING: ("t", "blue"),
    verdict.OURS: ("+", "magenta"),
    verdict.MISSING: ("·", "dim"),
}
"""The mark and the colour of each verdict."""

MARKS = {word: mark for word, (mark, _) in STYLES.items()}

SURE = {verdict.CONTAINS: "", verdict.EXCLUDES: "≠", "": ""}
"""The second mark: that the interval of the difference excludes print."""

LEGEND_OF_SURE = f"{SURE[verdict.EXCLUDES]} not by chance"


def mark_of(cell: Any) -> str:
    """Return the two marks of a cell: how far it is from print, and how sure that is."""
    return MARKS[cell.verdict] + SURE[cell.interval]


def turned(layout: TableLayout) -> TableLayout:
    """Return a table with its rows as columns; a data set that all columns name is left out."""
    rows = [line for line in layout.lines if not line.is_group]
    datasets = {head.rpartition(" ")[0] for head in layout.heads}
    labels = [head.rpartition(" ")[2] if len(datasets) == 1 else head for head in layout.heads]
    columns = zip(*(line.cells for line in rows), strict=True)
    lines = [LayoutLine(label, cells) for label, cells in zip(labels, columns, strict=True)]
    return layout._replace(heads=[line.label for line in rows], lines=lines)


def layout_markdown(layout: TableLayout) -> str:
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


def captioned_latex(layout: TableLayout) -> str:
    """Return a table in LaTeX (booktabs): published and ours, our matches in bold, captioned."""
    n = len(layout.heads)
    heads = [rf"\multicolumn{{2}}{{c}}{{{for_latex(head)}}}" for head in layout.heads]
    rows = []
    for line in layout.lines:
        label = for_latex(line.label)
        if line.is_group:
            rows.append([rf"\multicolumn{{{1 + 2 * n}}}{{l}}{{\emph{{{label}}}}}"])
            continue
        row = [label]
        for published, ours, mark, _ in line.texts:
            is_match = mark.startswith(MARKS[verdict.MATCH])
            shown = rf"\textbf{{{for_latex(ours)}}}" if is_match else for_latex(ours)
            row += [for_latex(published), shown]
        rows.append(row)
    above = [["", *heads], ["", *["published & ours"] * n]]
    caption = (
        f"{for_latex(layout.title)}. For each algorithm the published number, then ours; bold: "
        "ours matches the published number (not: the best of its column)."
    )
    bold = r"\par\smallskip\footnotesize Bold: our number is within 5\,\% of print."
    lines = [
        *(r"\begin{table}", r"\centering", rf"\caption{{{caption}}}"),
        f"% {one_line(f'{layout.title}; {layout.subtitle}')}",
        latex_table(f"l{'rr' * n}", above, rows) + bold,
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
