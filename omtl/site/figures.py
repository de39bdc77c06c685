"""The figures: the stored plot, and its numbers as interactive charts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from omtl.experiment import descriptions
from omtl.figures.panels.axes import label_of
from omtl.measures.metrics import METRICS
from omtl.site import charts
from omtl.site.charts import Curve
from omtl.site.gather import Sources
from omtl.site.text import plain
from omtl.tables.published_results import ordered, reading_file

ALL = "all tasks together"

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


def figure_page(name: str, sources: Sources) -> dict[str, Any]:
    """Return a figure: what its paper says about it, and one view per reading."""
    description, rows = sources.figures[name], sources.drawn[name]
    by_reading: dict[str, list[dict[str, str]]] = {}
    for row in rows:
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
    """Return a figure under a reading."""
    name, sentences = description.id, []
    described = {panel.label: panel for panel in description.panels}
    panels = []
    for label, of_panel in groupby(rows, key=lambda row: row["panel"]):
        panel = described[label]
        parts = [_part(part, of_part, panel) for part, of_part in _by_axes(of_panel)]
        names = dict.fromkeys(line for part in parts for line, *_ in part["lines"])
        sentences.append(f"panel {label}: {panel.title} ({', '.join(names)})")
        panels.append({"label": label, "title": panel.title, "parts": parts})
    return {
        "name": reading,
        "picture": reading_file(folder, name, reading, "svg"),
        "csv": reading_file(folder, name, reading, "csv"),
        "panels": panels,
        "described": "; ".join(sentences),
        "n_repeats": max((row["n_repeats"] for row in rows), key=lambda n: int(n or 0)),
        "selection": rows[0]["selection"],
        "command": f"make reproduce-figure FIGURE={name} READING={reading}",
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


def _part(title: str, rows: list[dict[str, str]], panel: descriptions.Panel) -> dict[str, Any]:
    """Return a pair of axes of a panel: its chart, the names and looks of its lines, its notes."""
    notes = [row["label"] for row in rows if row["kind"] in ("note", "reference")]
    part: dict[str, Any] = {"title": title, "notes": notes}
    weights = [row for row in rows if row["kind"] == "weight"]
    where = ", ".join(filter(None, (panel.title, title)))
    if weights:
        n_tasks = len({row["label"] for row in weights})
        matrix = np.array([float(row["y"]) for row in weights]).reshape(n_tasks, -1)
        words = f"{where}: how much each task learns from each other one"
        return part | {"chart": charts.heat_map(matrix, words), "lines": []}
    curves = curves_of(rows)
    looks = charts.looks_of([c.label for c in curves])
    played = [(c, look) for c, look in zip(curves, looks, strict=True) if c.kind != "published"]
    x_label = next((row["x_label"] for row in rows if row["x_label"]), "")
    y_label = label_of(METRICS[panel.metric]) if panel.metric else Y_LABELS.get(panel.kind, "")
    ends = ", ".join(f"{c.label} ends at {charts.shown(float(c.y[-1]))}" for c, _ in played)
    chart = charts.lines(curves, x_label, y_label, f"{where}: {ends}.", width=640)
    return part | {"chart": chart, "lines": [(c.label, c.kind, *look) for c, look in played]}


def curves_of(rows: list[dict[str, str]]) -> list[Curve]:
    """Return the lines of a pair of axes."""
    found = []
    for (kind, label), points in groupby(rows, key=lambda row: (row["kind"], row["label"])):
        each = [row for row in points if np.isfinite(float(row["y"] or "nan"))]
        if kind in ("run", "theory", "published") and each:
            x = np.array([float(row["x"] or "nan") for row in each])
            y = np.array([float(row["y"]) for row in each])
            std = np.array([float(row["y_std"] or 0.0) for row in each])
            found.append(Curve(label, x, y, std if std.any() else None, kind))
    return found


def kept_curves(sources: Sources, table: str, reading: str) -> dict[tuple[str, str], Curve]:
    """Return the learning curves of a table's cells stored with figures, by data and algorithm."""
    found: dict[tuple[str, str], Curve] = {}
    for name, description in sources.figures.items():
        if description.published != table:
            continue
        for panel in description.panels:
            if panel.kind != "learning_curves" or not panel.published:
                continue
            rows = [
                row
                for row in sources.drawn[name]
                if row["reading"] == reading and row["panel"] == panel.label
            ]
            of_label = {c.label: c for c in curves_of(rows) if c.kind == "run"}
            for line in panel.lines:
                label = line.label or sources.algorithms[line.algorithm].label
                if label in of_label and line.published:
                    c = of_label[label]
                    words = f"{line.published}, {ALL}"
                    found[panel.published, line.published] = Curve(words, c.x, c.y, c.std)
    return found
