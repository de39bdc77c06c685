"""The tables: under each reading, all cells, their distance from the printed numbers, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from omtl.compute.store import Store
from omtl.experiment.readings import Reading
from omtl.reproduction.provenance import command_of, names_of
from omtl.site import charts
from omtl.site.cells import cell_of, shown
from omtl.site.figures import kept_curves
from omtl.site.gather import Sources
from omtl.site.repeats import Repeats, stored_repeats
from omtl.site.text import code, plain, slug
from omtl.tables.committed import Run, place_of
from omtl.tables.diagnosis import diagnosis_of
from omtl.tables.layout import Line, lay_out
from omtl.tables.plan import Table
from omtl.tables.request import Request
from omtl.tables.verdict import (
    CLOSE,
    COMPATIBLE,
    JUDGED,
    MATCH,
    MISSING,
    NEAR,
    OFF,
    OURS,
    SUBSTITUTE,
    TIMING,
    VERDICTS,
)

ALL_VERDICTS = (*VERDICTS, OURS)

MEANING = {
    MATCH: f"within {100 * CLOSE:g} % of the published number, including the whole interval",
    NEAR: f"within {100 * CLOSE:g} % of the published number, but the interval reaches further",
    COMPATIBLE: f"more than {100 * CLOSE:g} % away, but the interval includes 0",
    OFF: f"more than {100 * CLOSE:g} % away, and not by chance; the reason is below the table",
    SUBSTITUTE: "stand-in data: only claims are judged",
    TIMING: "timings from different hardware: only ratios are judged",
    MISSING: "not run; the reason is below the table",
    OURS: "an extra baseline of ours that the paper does not have",
}
"""The meaning of each verdict."""


@dataclass(frozen=True)
class View:
    """A table under a reading, by a rule."""

    name: str
    subtitle: str
    heads: tuple[str, ...]
    rows: Sequence[Line]
    notes: list[Markup]
    counts: dict[str, int]
    agreement: Markup
    command: str
    meta: dict[str, Any]
    answers: dict[str, str]
    n_without_repeats: int


@dataclass(frozen=True)
class TablePage:
    """A table: what its paper says about it, and one view per reading.

    `counts` are the verdicts of the published cells, without those of our own baselines.
    """

    id: str
    paper: str
    title: str
    caption: str
    views: list[View]
    counts: dict[str, dict[str, int]]


def counted(rows: Iterable[Mapping[str, str]]) -> dict[str, int]:
    """Return the number of cells with each verdict."""
    tally = Counter(row["verdict"] for row in rows)
    return {verdict: tally[verdict] for verdict in ALL_VERDICTS if tally[verdict]}


def table_page(name: str, sources: Sources, store: Store | None) -> TablePage:
    """Return a table with its views."""
    description, runs = sources.tables[name], sources.runs[name]
    return TablePage(
        name,
        description.paper,
        description.title,
        plain(description.caption),
        [_view(run, sources, store) for run in runs],
        {run.name: counted(row for row in run.rows if row["published_mean"]) for run in runs},
    )


def _view(run: Run, sources: Sources, store: Store | None) -> View:
    description, meta = sources.tables[run.table], run.meta
    singly = {place: Repeats(values, None) for place, values in run.repeats.items()}
    if store:
        singly |= stored_repeats(run, description.paper, store)
    cells = [cell_of(row, run) for row in run.rows]
    written = meta.get("reading", {"name": run.reading, "paper": description.paper})
    table = Table(description, Reading.read(written), cells)
    n_repeats = meta.get("repeats", description.repeats)
    request = Request(run.reading, n_repeats, meta.get("seed", 0), run.selection or None)
    curves = {} if run.selection else kept_curves(sources, run.table, run.reading)
    scored = [
        shown(
            cell,
            row,
            id=f"{slug(run.name)}-{number}",
            digits=description.digits_of(cell.metric),
            command=f".venv/bin/python -m {command_of(table, name, request)}",
            why_off="" if run.selection else diagnosis_of(table, cell) or "",
            repeats=singly.get(cell.place),
            drawn=curves.get((cell.dataset, cell.algorithm)),
        )
        for number, (row, (name, cell)) in enumerate(
            zip(run.rows, names_of(table).items(), strict=True)
        )
    ]
    layout = lay_out(table, scored, request)
    _, _, notes = run.text("md").partition("## Notes")
    points = [
        (float(s.cell.mean), s.mean, s.verdict, f"{s.cell.algorithm} on {s.cell.dataset}")
        for s in scored
        if s.verdict in JUDGED and s.cell.mean and s.mean is not None
    ]
    counts = counted(run.rows)
    tally = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    return View(
        run.name,
        layout.subtitle,
        layout.heads,
        layout.lines,
        [code(line[2:]) for line in notes.splitlines() if line.startswith("- ")],
        counts,
        charts.agreement(points, f"How far our numbers are from the published ones: {tally}."),
        _table_command(run),
        meta | run.machine,
        {key: str(value) for key, value in table.reading.answers.items()},
        sum(1 for row in run.rows if row["ours_mean"] and place_of(row) not in singly),
    )


def _table_command(run: Run) -> str:
    if run.selection:
        words = f"{run.table} --reading {run.reading} --selection {run.selection}"
        return f".venv/bin/python -m omtl table {words}"
    return f"make reproduce-table TABLE={run.table} READING={run.reading}"
