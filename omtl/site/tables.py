"""The tables: the frame of the cells of each run in ``results/``, and what a cell opens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from omtl.experiment.descriptions import TableDescription
from omtl.measures.metrics import METRICS
from omtl.site.figures import curves_by_cell
from omtl.site.sources import Sources, shown_value
from omtl.site.text import code, plain, short, slug
from omtl.tables import verdict
from omtl.tables.cells import ALL_TASKS, cell_names_in, each_cell, place_of, places_in, planned
from omtl.tables.layout import layout_lines, mark_of, subtitle_of, with_texts
from omtl.tables.notes import command_of_cell, why_of
from omtl.tables.proofread import suspects
from omtl.tables.published_results import PublishedRun, with_results
from omtl.util.screen import plural

MEANING = {
    verdict.MATCH: f"within {verdict.MATCH_WITHIN:.0%} of the published number",
    verdict.NEAR: f"within {verdict.NEAR_WITHIN:.0%} of the published number",
    verdict.OFF: f"more than {verdict.NEAR_WITHIN:.0%} away; the reason is below the table",
    verdict.SUBSTITUTE: "stand-in data: only claims are judged",
    verdict.TIMING: "timings from different hardware: only ratios are judged",
    verdict.MISSING: "not run; the reason is below the table",
    verdict.OURS: "an extra baseline of ours that the paper does not have",
}
"""The verdicts, in the order in which pages show them, with their meaning."""

OPENED = (
    *("place", "metric", "verdict", "selection", "shown_ours", "printed", "command"),
    *("published_mean", "published_std", "n_repeats"),
)
"""Columns of the frame of cells that a cell opens."""


def table_page(name: str, sources: Sources) -> dict[str, Any]:
    """Return a table with its views by name, one for each run in ``results/``."""
    of = sources.tables[name]
    files = sorted((sources.results / "reproduced").glob(f"{name}.*"))
    return {
        "id": name,
        "paper": of.paper,
        "name": of.title,
        "caption": plain(of.caption),
        "views": {run.name: _view(run, of, sources) for run in sources.runs[name]},
        "forms": [path for path in files if path.suffix != ".json"],
    }


def cells_of(run: PublishedRun, of: TableDescription) -> pd.DataFrame:
    """Return the judged cells of a run in ``results/``, with the texts of a page.

    ``anchor`` is a cell's id on its page, ``place`` names its row and column, ``printed`` is the
    published number with all its digits, and ``command`` makes the cell alone.
    """
    cells = with_texts(with_results(planned(run.table, run.request), run), of)
    pairs = zip(each_cell(cells), cell_names_in(cells), strict=True)
    tasks = cells["task"].str.replace("task", ", task ").where(cells["task"] != ALL_TASKS, "")
    spread = cells["published_std"] != ""
    return cells.assign(
        anchor=[f"{slug(run.name)}-{number}" for number in range(len(cells))],
        place=cells["algorithm"] + " on " + cells["dataset"] + tasks,
        printed=cells["published_mean"] + (" ± " + cells["published_std"]).where(spread, ""),
        command=[command_of_cell(cell, name, of.selection) for cell, name in pairs],
    )


def _difference(cell: Any) -> dict[str, Any]:
    """Return the row of a compared cell in the atlas: differences in % of the metric's scale."""
    unit = METRICS[cell.metric].scale(float(cell.published_mean)) / 100.0
    texts = ("table", "anchor", "place", "dataset", "algorithm", "metric", "verdict")
    return {
        **{name: getattr(cell, name) for name in texts},
        **{name: round(getattr(cell, name) / unit, 2) for name in ("delta", "low", "high")},
    }


def _view(run: PublishedRun, of: TableDescription, sources: Sources) -> dict[str, Any]:
    """Return a table under a reading, by a rule.

    `counts` are the verdicts of its cells, `published` without those of our own baselines, and
    `by_row` those of each row; `opened` is what each cell opens, and `atlas` has a row per cell
    that was compared with a published number, on a scale other than 0. The strip of differences has
    `ticks`, in per cent, and a `reach` to either side.
    """
    cells = cells_of(run, of)
    compared = cells[
        cells["verdict"].isin(verdict.JUDGED) & np.isfinite(cells["share"].astype(float))
    ]
    shares, by_row = 100 * compared["share"], cells.groupby("algorithm")["verdict"]
    _, _, notes = run.text("md").partition("## Notes")
    by_rule = f" --selection {run.selection}" if run.selection else ""
    listed = [code(line[2:]) for line in notes.splitlines() if line.startswith("- ")]
    if gone := {*places_in(run.rows)} - {*places_in(cells)}:
        listed.append(code(f"{plural(len(gone), 'row')} of the CSV: cells the table no longer has"))
    return {
        "name": run.name,
        "subtitle": subtitle_of(cells),
        "heads": list(dict.fromkeys(cells["head"])),
        "lines": layout_lines(cells, of),
        "notes": listed,
        "counts": Counter(cells["verdict"]),
        "published": Counter(cells["verdict"][cells["kind"] != verdict.OURS]),
        "by_row": {str(label): Counter(verdicts) for label, verdicts in by_row},
        "opened": _opened(run, cells, of, sources),
        "atlas": [
            {"paper": of.paper, "view": run.name, **_difference(cell)}
            for cell in each_cell(compared)
        ],
        "ticks": list(zip(compared["verdict"], compared["place"], shares, strict=True)),
        "reach": 12 if shares.abs().max() <= 12 else 60,
        "command": f"omtl table {run.table} --reading {run.reading}{by_rule}",
        "answers": run.meta.get("reading", {}).get("answers", {}),
        "about": [*_circumstances(run.meta | run.machine)],
    }


def _circumstances(meta: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield how, when and on what machine a run was made, by name."""
    yield from ((n, meta[n]) for n in ("repeats", "seed", "selection", "seconds") if n in meta)
    if host := meta.get("host"):
        yield "commit", code(f"`{host['commit']}`")
        yield "machine", "{cpu}, {cores} cores, {system}, Python {python}".format(**host)
        yield "packages", ", ".join(" ".join(each) for each in host["packages"].items())
    elif "cpu" in meta:
        yield "machine", meta["cpu"]


def _opened(
    run: PublishedRun, cells: pd.DataFrame, of: TableDescription, sources: Sources
) -> dict[str, dict[str, Any]]:
    """Return what each cell opens, by its anchor; what is empty is left out."""
    curves = {} if run.selection else curves_by_cell(sources, run.table, run.reading)
    odd, found = suspects(run.table), dict[str, dict[str, Any]]()
    for cell, place in zip(each_cell(cells), places_in(cells), strict=True):
        grid, metric = cell.experiment.algorithm.grid, METRICS[cell.metric]
        about = {name: getattr(cell, name) for name in OPENED} | {
            "mark": mark_of(cell),
            "unit": f"{metric.name} ({metric.unit})" if metric.unit else metric.name,
            "why": why_of(cell, of) or MEANING[cell.verdict],
            "suspect": "; ".join(one["says"] for one in odd if place_of(one) == place),
            "ours_mean": short(cell.ours_mean),
            "ours_std": short(cell.ours_std),
            "repeats": [*map(short, cell.values[np.isfinite(cell.values)])],
            "curve": curves.get((cell.dataset, cell.algorithm)) if cell.n_repeats else None,
            "parameters": [
                (name, shown_value(cell.params[name]), [*map(shown_value, grid.get(name, ()))])
                for name in sorted(cell.params, key=lambda name: name not in grid)
            ],
            "learner": cell.experiment.algorithm.learner.rpartition(".")[2].lower(),
            "data": cell.experiment.dataset.loaded_by,
            "hash": cell.data_sha256[:16],
        }
        found[cell.anchor] = {name: one for name, one in about.items() if one not in (None, "", [])}
    return found
