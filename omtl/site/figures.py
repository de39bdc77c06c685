"""The figures: the stored plot, and its numbers as interactive charts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from markupsafe import Markup

from omtl.experiment import descriptions
from omtl.figures.panels.axes import label_of
from omtl.measures.metrics import METRICS
from omtl.site import charts
from omtl.site.charts import Curve
from omtl.site.gather import Sources
from omtl.site.text import plain
from omtl.tables.committed import ordered, reading_file

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


@dataclass(frozen=True)
class Part:
    """One pair of axes of a panel: its chart, the names of its lines, and its notes."""

    title: str
    chart: Markup
    lines: list[tuple[str, str]]
    notes: list[str]

    @property
    def looks(self) -> list[tuple[int, int]]:
        """The colour and dash numbers of each line."""
        return charts.looks_of([label for label, _ in self.lines])


@dataclass(frozen=True)
class Panel:
    """A panel of a figure."""

    label: str
    title: str
    parts: list[Part]


@dataclass(frozen=True)
class View:
    """A figure under a reading."""

    name: str
    picture: Path
    csv: Path
    panels: list[Panel]
    told: str
    n_repeats: str
    selection: str
    command: str


@dataclass(frozen=True)
class FigurePage:
    """A figure: what its paper says about it, and one view per reading."""

    id: str
    paper: str
    title: str
    caption: str
    views: list[View]


def figure_page(name: str, sources: Sources) -> FigurePage:
    """Return a figure with its views."""
    description, rows = sources.figures[name], sources.drawn[name]
    folder = sources.results / "figures"
    described = {panel.label: panel for panel in description.panels}
    views = []
    for reading in ordered([row["reading"] for row in rows]):
        mine = [row for row in rows if row["reading"] == reading]
        panels = []
        for label, of_panel in groupby(mine, key=lambda row: row["panel"]):
            panel = described[label]
            parts = [_part(part, of_part, panel) for part, of_part in _by_axes(of_panel)]
            panels.append(Panel(label, panel.title, parts))
        told = "; ".join(
            f"panel {p.label}: {p.title} ({', '.join(dict.fromkeys(_names(p)))})" for p in panels
        )
        views.append(
            View(
                reading,
                reading_file(folder, name, reading, "svg"),
                reading_file(folder, name, reading, "csv"),
                panels,
                told,
                max((row["n_repeats"] for row in mine), key=lambda n: int(n or 0)),
                mine[0]["selection"],
                f"make reproduce-figure FIGURE={name} READING={reading}",
            )
        )
    caption = plain(description.caption)
    return FigurePage(name, description.paper, description.title, caption, views)


def _by_axes(rows: Iterable[dict[str, str]]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the rows of each pair of axes of a panel; rows without an x belong to the last."""
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    x_label = ""
    for row in rows:
        x_label = row["x_label"] or x_label
        found.setdefault((row["part"], x_label), []).append(row)
    for (part, _), each in found.items():
        yield part, each


def _names(panel: Panel) -> list[str]:
    return [name for part in panel.parts for name, kind in part.lines if kind != "published"]


def _part(title: str, rows: list[dict[str, str]], panel: descriptions.Panel) -> Part:
    notes = [row["label"] for row in rows if row["kind"] in ("note", "reference")]
    weights = [row for row in rows if row["kind"] == "weight"]
    where = ", ".join(filter(None, (panel.title, title)))
    if weights:
        tasks = list(dict.fromkeys(row["label"] for row in weights))
        matrix = np.array([float(row["y"]) for row in weights]).reshape(len(tasks), -1)
        words = f"{where}: how much each task learns from each other one"
        return Part(title, charts.heat_map(matrix, words), [], notes)
    curves = curves_of(rows)
    x_label = next((row["x_label"] for row in rows if row["x_label"]), "")
    ends = ", ".join(
        f"{c.label} ends at {charts.shown(float(c.y[-1]))}" for c in curves if c.kind != "published"
    )
    y_label = label_of(METRICS[panel.metric]) if panel.metric else Y_LABELS.get(panel.kind, "")
    chart = charts.lines(curves, x_label, y_label, f"{where}: {ends}.", width=640)
    return Part(title, chart, [(c.label, c.kind) for c in curves], notes)


def curves_of(rows: list[dict[str, str]]) -> list[Curve]:
    """Return the lines of a pair of axes."""
    found = []
    for (kind, label), points in groupby(rows, key=lambda row: (row["kind"], row["label"])):
        if kind not in ("run", "theory", "published"):
            continue
        each = list(points)
        y = np.array([float(row["y"] or np.nan) for row in each])
        x = np.array([float(row["x"]) if row["x"] else np.nan for row in each])
        kept = np.isfinite(y)
        if not kept.any():
            continue
        std = np.array([float(row["y_std"] or 0.0) for row in each])
        found.append(Curve(label, x[kept], y[kept], std[kept] if std.any() else None, kind))
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
                label = line.label or sources.algorithms[line.algorithm]["label"]
                if label in of_label and line.published:
                    c = of_label[label]
                    words = f"{line.published}, {ALL}"
                    found[panel.published, line.published] = Curve(words, c.x, c.y, c.std)
    return found
