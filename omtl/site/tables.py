"""The tables: under each reading, all cells, their distance from the printed numbers, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from omtl.compute.store import Store
from omtl.reproduction.explain import command_of, names_of
from omtl.site import charts
from omtl.site.cells import CellView, cells_of
from omtl.site.figures import kept_curves
from omtl.site.gather import Sources
from omtl.site.repeats import Repeats, stored_repeats
from omtl.site.text import code, plain, slug
from omtl.tables.cells import each_cell, place_of
from omtl.tables.diagnosis import diagnosis_of
from omtl.tables.layout import Line, heads_of, lines_of, subtitle_of
from omtl.tables.published_results import PublishedRun
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
    heads: list[str]
    rows: list[Line]
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


def _view(run: PublishedRun, sources: Sources, store: Store | None) -> View:
    description, meta = sources.tables[run.table], run.meta
    singly = {place: Repeats(values, None) for place, values in run.repeats.items()}
    if store:
        singly |= stored_repeats(run, description.paper, store)
    cells = cells_of(run, description)
    curves = {} if run.selection else kept_curves(sources, run.table, run.reading)
    views = [
        CellView(
            cell,
            cell.row,
            id=f"{slug(run.name)}-{cell.Index}",
            digits=description.digits_of(cell.metric),
            command=f".venv/bin/python -m {command_of(cell, name, description.selection)}",
            why_off="" if run.selection else diagnosis_of(cell, description.paper),
            repeats=singly.get(place_of(cell.row)),
            drawn=curves.get((cell.dataset, cell.algorithm)),
        )
        for cell, name in zip(each_cell(cells), names_of(cells), strict=True)
    ]
    lines = [
        Line(line.label, tuple(cell and views[cell.Index] for cell in line.cells))
        for line in lines_of(cells, description)
    ]
    _, _, notes = run.text("md").partition("## Notes")
    points = [
        (float(view.row["published_mean"]), view.mean, view.verdict, view.place.split(", task")[0])
        for view in views
        if view.verdict in JUDGED and view.row["published_mean"] and view.mean is not None
    ]
    counts = counted(run.rows)
    tally = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    return View(
        run.name,
        subtitle_of(cells),
        heads_of(cells, description),
        lines,
        [code(line[2:]) for line in notes.splitlines() if line.startswith("- ")],
        counts,
        charts.agreement(points, f"How far our numbers are from the published ones: {tally}."),
        _table_command(run),
        meta | run.machine,
        {key: str(value) for key, value in meta.get("reading", {}).get("answers", {}).items()},
        sum(1 for row in run.rows if row["ours_mean"] and place_of(row) not in singly),
    )


def _table_command(run: PublishedRun) -> str:
    if run.selection:
        words = f"{run.table} --reading {run.reading} --selection {run.selection}"
        return f".venv/bin/python -m omtl table {words}"
    return f"make reproduce-table TABLE={run.table} READING={run.reading}"
