"""The figures: the picture in ``results/``, and its numbers, which the script draws as charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from omtl.experiment import descriptions
from omtl.figures.colours import colours_of
from omtl.figures.panels.axes import axis_label
from omtl.measures.metrics import METRICS
from omtl.site.sources import Sources
from omtl.site.text import plain
from omtl.tables.published_results import ordered, reading_file

PAGE_COLOURS = (5, 7, 4, 6, 3, 2, 1, 0)
"""The style sheet's number for each colour of `omtl.figures.colours`; further lines differ by their
dashes."""

Y_LABELS = {
    "last_task": "cumulative errors",
    "learning_curves": "cumulative error rate (%)",
    "lifelong_error": "average cumulative error rate (%)",
    "mistake_bound": "mistakes",
    "parameter_effect": "error rate (%)",
    "precision_at_k": "%",
    "query_ratio": "%",
    "regret_bound": "regret (hinge loss)",
    "rom_regret": "regret (loss and regulariser)",
    "sensitivity": "AP@10 on the validation part (%)",
    "smoothed_regret": "regret (hinge loss)",
    "task_bound": "errors on a task",
    "task_curves": "cumulative error rate (%)",
    "training_size": "area under the ROC curve",
}
"""The quantity on the y axis of each kind of panel that names no metric."""

Curve = dict[str, Any]
"""A line of a chart: its label, kind (``run``, ``theory`` or ``published``), x, y and, where it has
them, standard deviations. A published point without x belongs at the right edge."""


def figure_page(name: str, sources: Sources) -> dict[str, Any]:
    """Return a figure: what its paper says about it, and one view per reading."""
    description = sources.figures[name]
    by_reading: dict[str, list[dict[str, str]]] = {}
    for row in sources.drawn[name]:
        by_reading.setdefault(row["reading"], []).append(row)
    return {
        "id": name,
        "paper": description.paper,
        "title": description.title,
        "caption": plain(description.caption),
        "views": [
            _view(description, reading, by_reading[reading], sources.results / "figures")
            for reading in ordered(list(by_reading))
        ],
    }


def _view(
    description: descriptions.FigureDescription,
    reading: str,
    rows: list[dict[str, str]],
    folder: Path,
) -> dict[str, Any]:
    """Return a figure under a reading; `charts` has one for each pair of axes."""
    described = {panel.label: panel for panel in description.panels}
    charts = [
        _chart(part, list(of_part), described[label])
        for label, of_panel in groupby(rows, key=lambda row: row["panel"])
        for part, of_part in _by_axes(of_panel)
    ]
    sentences = [f"panel {one['panel']}: {one['title']} ({one['names']})" for one in charts]
    return {
        "name": reading,
        "picture": reading_file(folder, description.id, reading, "svg"),
        "csv": reading_file(folder, description.id, reading, "csv"),
        "charts": charts,
        "described": "; ".join(sentences),
        "n_repeats": max((row["n_repeats"] for row in rows), key=lambda n: int(n or 0)),
        "selection": rows[0]["selection"],
        "command": f"omtl figure {description.id} --reading {reading}",
    }


def _by_axes(rows: Iterable[dict[str, str]]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the rows of each pair of axes of a panel; rows without an x belong to the last."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    x_label = ""
    for row in rows:
        x_label = row["x_label"] or x_label
        found.setdefault((row["part"], x_label), []).append(row)
    for (part, _), each in found.items():
        yield part, each


def _chart(part: str, rows: list[dict[str, str]], panel: descriptions.Panel) -> dict[str, Any]:
    """Return a pair of axes: its lines with their looks or its weights, its labels, its notes."""
    lines = parsed_curves(rows)
    weights: dict[str, list[float]] = {}
    for row in rows:
        if row["kind"] == "weight":
            weights.setdefault(row["label"], []).append(float(row["y"]))
    return {
        "panel": panel.label,
        "title": panel.title,
        "part": part,
        "x": next((row["x_label"] for row in rows if row["x_label"]), ""),
        "y": axis_label(METRICS[panel.metric]) if panel.metric else Y_LABELS.get(panel.kind, ""),
        "lines": lines,
        "looks": looks_of([line["label"] for line in lines]),
        "names": ", ".join(line["label"] for line in lines if line["kind"] != "published"),
        "weights": list(weights.values()),
        "notes": [row["label"] for row in rows if row["kind"] in ("note", "reference")],
    }


def parsed_curves(rows: list[dict[str, str]]) -> list[Curve]:
    """Return the lines of a pair of axes."""
    found = []
    for (kind, label), points in groupby(rows, key=lambda row: (row["kind"], row["label"])):
        each = [row for row in points if math.isfinite(float(row["y"] or "nan"))]
        if kind in ("run", "theory", "published") and each:
            curve: Curve = {"label": label, "kind": kind, "y": [float(row["y"]) for row in each]}
            curve["x"] = [float(row["x"]) if row["x"] else None for row in each]
            if any(float(row["y_std"] or 0.0) for row in each):
                curve["std"] = [float(row["y_std"] or 0.0) for row in each]
            found.append(curve)
    return found


def looks_of(labels: Sequence[str]) -> list[tuple[int, int]]:
    """Return the style sheet's colour and dash numbers of each line."""
    found = colours_of(labels)
    looks = [divmod(found[label], len(PAGE_COLOURS)) for label in labels]
    return [(PAGE_COLOURS[colour], turn) for turn, colour in looks]


def curves_by_cell(sources: Sources, table: str, reading: str) -> dict[tuple[str, str], Curve]:
    """Return the learning curves of a table's cells that figures have, by data and algorithm."""
    found: dict[tuple[str, str], Curve] = {}
    for name, description in sources.figures.items():
        for panel in description.panels if description.published == table else ():
            if panel.kind != "learning_curves" or not panel.published:
                continue
            rows = [
                row
                for row in sources.drawn[name]
                if row["reading"] == reading and row["panel"] == panel.label
            ]
            curves = {
                curve["label"]: curve for curve in parsed_curves(rows) if curve["kind"] == "run"
            }
            for line in panel.lines:
                label = line.label or sources.algorithms[line.algorithm].label
                if label in curves and line.published:
                    found[panel.published, line.published] = curves[label]
    return found
