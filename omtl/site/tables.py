"""The tables: the frame of the cells of each run in ``results/``, and what a cell opens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from omtl.experiment.descriptions import TableDescription
from omtl.measures.metrics import METRICS
from omtl.reproduction.explain import cell_names_in, command_of_cell
from omtl.site.figures import curves_by_cell
from omtl.site.sources import Sources, yaml_value
from omtl.site.text import code, plain, slug
from omtl.tables.cells import ALL_TASKS, each_cell, place_of, places_in, planned
from omtl.tables.layout import layout_lines, plural, subtitle_of, with_texts
from omtl.tables.notes import reason_of
from omtl.tables.proofread import suspects
from omtl.tables.published_results import PublishedRun, with_results
from omtl.tables.request import Request
from omtl.tables.verdict import CLOSE, CLOSEST_SHARE, CONFIDENCE, JUDGED, OURS, VERDICTS

ALL_VERDICTS = (*VERDICTS, OURS)

MEANING = dict(
    zip(
        ALL_VERDICTS,
        (
            f"within {100 * CLOSEST_SHARE:g}% of the published number",
            f"within {100 * CLOSE:g}% of the published number",
            f"more than {100 * CLOSE:g}% away; the reason is below the table",
            "stand-in data: only claims are judged",
            "timings from different hardware: only ratios are judged",
            "not run; the reason is below the table",
            "an extra baseline of ours that the paper does not have",
        ),
        strict=True,
    )
)
"""The meaning of each verdict."""

REACHES = {12: (-10, -5, 0, 5, 10), 60: (-50, -25, 0, 25, 50)}
"""The ends of the strip of differences in per cent, each with its marks."""

TEXTS = (
    *("place", "metric", "verdict", "interval", "selection", "shown_ours", "printed", "command"),
    *("published_mean", "published_std", "n_repeats", "n_draws"),
)
NUMBERS = ("ours_mean", "ours_std", "delta", "low", "high", "share")
"""Columns of the frame of cells that a cell opens."""


def table_page(name: str, sources: Sources) -> dict[str, Any]:
    """Return a table with its views, one for each run in ``results/``.

    `counts` are the verdicts of the published cells by view, without those of our own baselines;
    `details` is what each cell opens, by view and anchor; `atlas` has a row per compared cell.
    """
    of = sources.tables[name]
    frames = [(run, cells_of(run, of)) for run in sources.runs[name]]
    return {
        "id": name,
        "paper": of.paper,
        "title": of.title,
        "caption": plain(of.caption),
        "views": [_view(run, cells, of) for run, cells in frames],
        "counts": {
            run.name: count_verdicts(cells["verdict"][cells["kind"] != OURS])
            for run, cells in frames
        },
        "details": {run.name: _details(run, cells, of, sources) for run, cells in frames},
        "atlas": [
            {"paper": of.paper, "view": run.name, **_difference(cell)}
            for run, cells in frames
            for cell in each_cell(compared(cells))
        ],
    }


def count_verdicts(verdicts: Iterable[str]) -> dict[str, int]:
    """Return the number of cells with each verdict."""
    tally = Counter(verdicts)
    return {verdict: tally[verdict] for verdict in ALL_VERDICTS if tally[verdict]}


def cells_of(run: PublishedRun, of: TableDescription) -> pd.DataFrame:
    """Return the judged cells of a run in ``results/``, with the texts of a page.

    ``anchor`` is a cell's id on its page, ``place`` names its row and column, ``printed`` is the
    published number with all its digits, and ``command`` makes the cell alone.
    """
    meta = run.meta
    request = Request(run.reading, meta.get("repeats"), meta.get("seed", 0), run.selection or None)
    cells = with_texts(with_results(planned(run.table, request), run), of)
    pairs = zip(each_cell(cells), cell_names_in(cells), strict=True)
    tasks = cells["task"].str.replace("task", ", task ").where(cells["task"] != ALL_TASKS, "")
    spread = cells["published_std"] != ""
    return cells.assign(
        anchor=[f"{slug(run.name)}-{number}" for number in range(len(cells))],
        place=cells["algorithm"] + " on " + cells["dataset"] + tasks,
        printed=cells["published_mean"] + (" ± " + cells["published_std"]).where(spread, ""),
        command=[command_of_cell(cell, name, of.selection) for cell, name in pairs],
    )


def compared(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that were compared with a published number, on a scale other than 0."""
    return cells[cells["verdict"].isin(JUDGED) & np.isfinite(cells["share"].astype(float))]


def _difference(cell: Any) -> dict[str, Any]:
    """Return the row of a compared cell in the atlas: differences in % of the metric's scale."""
    unit = METRICS[cell.metric].scale(float(cell.published_mean)) / 100.0
    texts = ("table", "anchor", "place", "dataset", "algorithm", "metric", "verdict")
    return {
        **{name: getattr(cell, name) for name in texts},
        **{name: round(getattr(cell, name) / unit, 2) for name in ("delta", "low", "high")},
    }


def _view(run: PublishedRun, cells: pd.DataFrame, of: TableDescription) -> dict[str, Any]:
    """Return a table under a reading, by a rule."""
    _, _, notes = run.text("md").partition("## Notes")
    by_rule = f" --selection {run.selection}" if run.selection else ""
    listed = [code(line[2:]) for line in notes.splitlines() if line.startswith("- ")]
    if gone := {place_of(row) for row in run.rows} - set(places_in(cells)):
        listed.append(code(f"{plural(len(gone), 'row')} of the CSV: cells the table no longer has"))
    return {
        "name": run.name,
        "subtitle": subtitle_of(cells),
        "heads": list(dict.fromkeys(cells["head"])),
        "lines": layout_lines(cells, of),
        "notes": listed,
        "counts": count_verdicts(cells["verdict"]),
        "strip": _strip(compared(cells)),
        "command": f"omtl table {run.table} --reading {run.reading}{by_rule}",
        "meta": run.meta | run.machine,
        "answers": run.meta.get("reading", {}).get("answers", {}),
    }


def _strip(cells: pd.DataFrame) -> dict[str, Any] | None:
    """Return the differences of compared cells: each a tick with its place, 0 to 100."""
    if cells.empty:
        return None
    shares = 100 * cells["share"]
    reach = next((reach for reach in REACHES if shares.abs().max() <= reach), max(REACHES))

    def place(share: float) -> float:
        return round(50 + 50 * max(-reach, min(reach, share)) / reach, 2)

    return {
        "ticks": list(
            zip(shares.map(place), cells["verdict"], cells["place"], shares, strict=True)
        ),
        "marks": [(place(mark), mark) for mark in REACHES[reach]],
        "band": (place(-100 * CLOSE), place(100 * CLOSE) - place(-100 * CLOSE)),
    }


def _details(
    run: PublishedRun, cells: pd.DataFrame, of: TableDescription, sources: Sources
) -> dict[str, dict[str, Any]]:
    """Return what each cell opens, by its anchor; what is empty is left out."""
    curves = {} if run.selection else curves_by_cell(sources, run.table, run.reading)
    odd, found = suspects(run.table), {}
    for cell, place in zip(each_cell(cells), places_in(cells), strict=True):
        algorithm, metric = cell.experiment.algorithm, METRICS[cell.metric]
        names = sorted(cell.params, key=lambda name: name not in algorithm.grid)
        details = {
            **{name: getattr(cell, name) for name in TEXTS},
            **{name: float(f"{getattr(cell, name):.6g}") for name in NUMBERS},
            "unit": f"{metric.name} ({metric.unit})" if metric.unit else metric.name,
            "level": f"{100 * CONFIDENCE:g}%",
            "reason": reason_of(cell, of).removeprefix("off: ") if cell.n_repeats else "",
            "suspect": "; ".join(one["says"] for one in odd.get(place, [])),
            "repeats": [float(f"{value:.6g}") for value in cell.values if np.isfinite(value)],
            "curve": curves.get((cell.dataset, cell.algorithm)) if cell.n_repeats else None,
            "parameters": [
                (
                    name,
                    yaml_value(cell.params[name]),
                    [*map(yaml_value, algorithm.grid.get(name, ()))],
                )
                for name in names
            ],
            "learner": algorithm.learner.rpartition(".")[2].lower(),
            "data": cell.experiment.dataset.loaded_by,
            "hash": cell.data_sha256[:16],
        }
        found[cell.anchor] = {key: value for key, value in details.items() if _is_given(value)}
    return found


def _is_given(value: Any) -> bool:
    """Whether there is a value: no empty text or list, and a number that is finite."""
    return math.isfinite(value) if isinstance(value, int | float) else bool(value)
