"""The tables: the frame of the cells of each run in ``results/``, and what a cell opens."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from omtl.experiment.descriptions import TableDescription
from omtl.experiment.experiment import Experiment
from omtl.experiment.specs import AlgorithmSpec, DataSetSpec, ProtocolSpec
from omtl.measures.metrics import METRICS
from omtl.reproduction.explain import command_of, names_of
from omtl.site.figures import learning_curves
from omtl.site.sources import Sources, yaml_value
from omtl.site.text import code, plain, slug
from omtl.tables.cells import ALL_TASKS, each_cell, place_of
from omtl.tables.diagnosis import diagnosis_of
from omtl.tables.layout import heads_of, lines_of, subtitle_of
from omtl.tables.proofread import suspects
from omtl.tables.published_results import PublishedRun
from omtl.tables.verdict import CLOSE, CONFIDENCE, FAR, JUDGED, MATCH, NEAR, OFF, OURS, VERDICTS

ALL_VERDICTS = (*VERDICTS, OURS)

MEANING = dict(
    zip(
        ALL_VERDICTS,
        (
            f"within {100 * CLOSE:g}% of the published number, including the whole interval",
            f"within {100 * CLOSE:g}% of the published number, but the interval reaches further",
            f"more than {100 * CLOSE:g}% away, but the interval includes 0",
            f"more than {100 * CLOSE:g}% away, and not by chance; the reason is below the table",
            "stand-in data: only claims are judged",
            "timings from different hardware: only ratios are judged",
            "not run; the reason is below the table",
            "an extra baseline of ours that the paper does not have",
        ),
        strict=True,
    )
)
"""The meaning of each verdict."""

NO_EXPERIMENT = Experiment(
    AlgorithmSpec(name="", label="", learner="", networked=False, fixed={}, grid={}),
    DataSetSpec(name="", label="", options={}, normalise="", bias=False),
    ProtocolSpec(name="", module="", draw=""),
)
"""Replaces a cell's experiment if none is stored with the table."""

REACHES = {12: (-10, -5, 0, 5, 10), 60: (-50, -25, 0, 25, 50)}
"""The ends of the strip of differences in per cent, each with its marks."""


def table_page(name: str, sources: Sources) -> dict[str, Any]:
    """Return a table with its views, one for each run in ``results/``.

    `counts` are the verdicts of the published cells by view, without those of our own baselines;
    `details` is what each cell opens, by view and anchor; `atlas` has a row per compared cell.
    """
    description, runs = sources.tables[name], sources.runs[name]
    frames = {run.name: cells_of(run, description) for run in runs}
    rows = {name: list(each_cell(cells)) for name, cells in frames.items()}
    return {
        "id": name,
        "paper": description.paper,
        "title": description.title,
        "caption": plain(description.caption),
        "views": [_view(run, frames[run.name], description) for run in runs],
        "counts": {
            name: counted(c for c in cells if c.kind != OURS) for name, cells in rows.items()
        },
        "details": {
            run.name: dict(_details(run, frames[run.name], description, sources)) for run in runs
        },
        "atlas": [
            {"paper": description.paper, "table": name, "view": view, **atlas_row(cell)}
            for view, cells in rows.items()
            for cell in cells
            if is_compared(cell)
        ],
    }


def counted(cells: Iterable[Any]) -> dict[str, int]:
    """Return the number of cells with each verdict."""
    tally = Counter(cell.verdict for cell in cells)
    return {name: tally[name] for name in ALL_VERDICTS if tally[name]}


def cells_of(run: PublishedRun, description: TableDescription) -> pd.DataFrame:
    """Return the frame of the cells of a run in ``results/``, from its files alone.

    It has the columns of the reproduced table, as text, and those of `omtl.tables.cells.planned`
    that a layout needs; ``anchor`` is the cell's id on its page, and ``ours`` and ``spread`` are
    our mean and deviation as they are shown.
    """
    experiments = {name: Experiment.read(found) for name, found in run.experiments.items()}
    odd = suspects(run.table)
    rows: list[Any] = [
        row
        | {
            "anchor": f"{slug(run.name)}-{number}",
            "kind": "value" if row["published_mean"] else OURS,
            "experiment": experiments.get(f"{row['algorithm']} on {row['dataset']}", NO_EXPERIMENT),
            "place": _place(row),
            "suspect": "; ".join(one["says"] for one in odd.get(place_of(row), [])),
            "ours": _shown(row["ours_mean"], description.digits_of(row["metric"])),
            "spread": _shown(row["ours_std"], description.digits_of(row["metric"])),
        }
        for number, row in enumerate(run.rows)
    ]
    return pd.DataFrame(rows).assign(
        rule=[row["selection"] for row in rows],
        selection=run.selection or description.selection,
        seed=run.meta.get("seed", 0),
        asked_repeats=run.meta.get("repeats", description.repeats),
    )


def _place(row: Mapping[str, str]) -> str:
    task = "" if row["task"] == ALL_TASKS else f", task {row['task'].removeprefix('task')}"
    return f"{row['algorithm']} on {row['dataset']}{task}"


def _shown(number: str, digits: int) -> str:
    return f"{float(number):.{digits}f}" if number else ""


def is_compared(cell: Any) -> bool:
    """Whether our number was compared with the published one, with an interval."""
    return cell.verdict in JUDGED and bool(cell.low) and float(cell.published_mean) != 0.0


def atlas_row(cell: Any) -> dict[str, Any]:
    """Return a compared cell: its place, its verdict, its difference in % of the printed mean."""
    unit = abs(float(cell.published_mean)) / 100.0
    return {
        **{name: getattr(cell, name) for name in ("anchor", "place", "dataset", "algorithm")},
        **{name: getattr(cell, name) for name in ("metric", "reading", "verdict")},
        **{end: round(float(getattr(cell, end)) / unit, 2) for end in ("delta", "low", "high")},
    }


def _view(run: PublishedRun, cells: pd.DataFrame, description: TableDescription) -> dict[str, Any]:
    """Return a table under a reading, by a rule."""
    _, _, notes = run.text("md").partition("## Notes")
    words = f"{run.table} --reading {run.reading}"
    return {
        "name": run.name,
        "subtitle": subtitle_of(cells),
        "heads": heads_of(cells, description),
        "lines": lines_of(cells, description),
        "notes": [code(line[2:]) for line in notes.splitlines() if line.startswith("- ")],
        "counts": counted(each_cell(cells)),
        "strip": _strip(cells),
        "command": f"omtl table {words}"
        + (f" --selection {run.selection}" if run.selection else ""),
        "meta": run.meta | run.machine,
        "answers": run.meta.get("reading", {}).get("answers", {}),
    }


def _strip(cells: pd.DataFrame) -> dict[str, Any] | None:
    """Return the differences of the compared cells: each a tick with its place, 0 to 100."""
    shares = [
        (100 * (float(cell.ours_mean) / float(cell.published_mean) - 1.0), cell)
        for cell in each_cell(cells)
        if cell.verdict in JUDGED and cell.ours_mean and float(cell.published_mean)
    ]
    if not shares:
        return None
    most = max(abs(share) for share, _ in shares)
    reach = next((reach for reach in REACHES if most <= reach), max(REACHES))

    def place(share: float) -> float:
        return round(50 + 50 * max(-reach, min(reach, share)) / reach, 2)

    return {
        "ticks": [(place(share), cell.verdict, cell.place, share) for share, cell in shares],
        "marks": [(place(mark), mark) for mark in REACHES[reach]],
        "band": (
            place(-100 * CLOSE),
            place(100 * CLOSE) - place(-100 * CLOSE),
        ),
    }


def _details(
    run: PublishedRun, cells: pd.DataFrame, description: TableDescription, sources: Sources
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what each cell opens, by its anchor; what is empty is left out."""
    curves = {} if run.selection else learning_curves(sources, run.table, run.reading)
    for cell, name in zip(each_cell(cells), names_of(cells), strict=True):
        metric = METRICS[cell.metric]
        algorithm, data = cell.experiment.algorithm, cell.experiment.dataset
        repeats = run.repeats.get((cell.dataset, cell.algorithm, cell.task, cell.metric))
        details = {
            **{column: getattr(cell, column) for column in ("place", "metric", "verdict", "rule")},
            **{column: getattr(cell, column) for column in ("ours", "spread", "suspect")},
            "unit": f"{metric.name} ({metric.unit})" if metric.unit else metric.name,
            "mean": _number(cell.ours_mean),
            "std": _number(cell.ours_std),
            "printed": cell.published_mean,
            "printed_spread": cell.published_std,
            "comparison": _comparison(cell),
            "diagnosis": "" if run.selection else _diagnosis(cell, description.paper),
            "n": cell.n_repeats,
            "repeats": [] if repeats is None else [float(f"{value:.6g}") for value in repeats],
            "curve": curves.get((cell.dataset, cell.algorithm)) if cell.ours_mean else None,
            "parameters": list(_parameters(cell)),
            "command": command_of(cell, name, description.selection),
            "learner": algorithm.learner.rpartition(".")[2].lower(),
            "data": data.loaded_by,
            "hash": cell.data_sha256[:16],
        }
        yield cell.anchor, {key: value for key, value in details.items() if value}


def _number(text: str) -> float | None:
    number = float(text) if text else math.nan
    return number if math.isfinite(number) else None


def _comparison(cell: Any) -> str:
    """Return the arithmetic behind a verdict, in words."""
    if not is_compared(cell):
        return ""
    delta, low, high, share = (float(getattr(cell, n)) for n in ("delta", "low", "high", "share"))
    counted_in = "draws of the data" if int(cell.n_draws) > 1 else "repeats"
    return (
        f"ours − published = {delta:.4g} ({100 * share:+.1f}%), {100 * CONFIDENCE:g}% interval "
        f"{low:.4g} to {high:.4g}, over {cell.n_repeats} {counted_in}"
    )


def _diagnosis(cell: Any, paper: str) -> str:
    """Return why a cell is off, or within 10% of print but many standard errors away."""
    is_far = cell.verdict == OFF
    quantities = [cell.delta, cell.ours_se, cell.published_se]
    if cell.verdict in (MATCH, NEAR) and all(quantities):
        delta, ours, theirs = map(float, quantities)
        is_far = abs(delta) > FAR * math.hypot(ours, theirs)
    return diagnosis_of(cell, paper) if is_far and cell.kind != OURS else ""


def _parameters(cell: Any) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the chosen hyper-parameters with their grids, those of the grid first."""
    params = json.loads(cell.params) if cell.params and cell.experiment is not NO_EXPERIMENT else {}
    grid = cell.experiment.algorithm.grid
    for name in [*(n for n in grid if n in params), *(n for n in params if n not in grid)]:
        yield name, yaml_value(params[name]), [yaml_value(value) for value in grid.get(name, [])]
