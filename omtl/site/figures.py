"""The figures: the picture in ``results/``, and its numbers, which the script draws as charts."""

from __future__ import annotations

from typing import Any

import pandas as pd

from omtl.experiment.descriptions import Panel
from omtl.experiment.readings import by_reading
from omtl.figures.colours import colours_of
from omtl.figures.panels import y_label_of
from omtl.site.sources import Sources
from omtl.site.text import plain, slug
from omtl.tables.published_results import ordered

Curve = dict[str, Any]
"""A line of a chart: its label, kind (``run``, ``theory`` or ``published``), x, y and, where it has
them, standard deviations. A published point without x belongs at the right edge."""


def figure_page(name: str, sources: Sources) -> dict[str, Any]:
    """Return a figure: what its paper says about it, one view per reading, and their charts."""
    of, rows = sources.figures[name], sources.drawn[name]
    folder, views, drawn = sources.results / "figures", [], {}
    for reading in ordered(list(rows["reading"])):
        mine = rows[rows["reading"] == reading]
        x_label = mine["x_label"].replace("", None).groupby(mine["panel"]).ffill().fillna("")
        axes = mine.groupby(["panel", "part", x_label], sort=False)
        panels = {panel.label: panel for panel in of.panels}
        charts = [_chart(panels[str(key[0])], part) for key, part in axes]
        told = [f"panel {one['panel']}: {one['title']} ({one['names']})" for one in charts]
        views.append(
            {
                "name": reading,
                "picture": folder / f"{by_reading(name, reading)}.svg",
                "csv": folder / f"{by_reading(name, reading)}.csv",
                "described": "; ".join(told),
                "n_repeats": max(mine["n_repeats"], key=lambda n: int(n or 0)),
                "selection": mine["selection"].iloc[0],
            }
        )
        drawn[slug(reading)] = charts
    return {
        "id": name,
        "paper": of.paper,
        "name": of.title,
        "caption": plain(of.caption),
        "views": views,
        "drawn": drawn,
    }


def _chart(panel: Panel, rows: pd.DataFrame) -> dict[str, Any]:
    """Return a pair of axes: its lines with their colours or its weights, its labels, its notes.

    The colours are those of `omtl.figures.colours`, which the style sheet numbers alike.
    """
    lines = curves_in(rows)
    colours = colours_of([line["label"] for line in lines])
    weights = rows[rows["kind"] == "weight"].groupby("label", sort=False)["y"]
    return {
        "panel": panel.label,
        "title": panel.title,
        "part": rows["part"].iloc[0],
        "x": next(filter(None, rows["x_label"]), ""),
        "y": y_label_of(panel),
        "lines": lines,
        "colours": [colours[line["label"]] for line in lines],
        "names": ", ".join(line["label"] for line in lines if line["kind"] != "published"),
        "weights": [list(map(float, row)) for _, row in weights],
        "notes": list(rows.loc[rows["kind"].isin(("note", "reference")), "label"]),
    }


def curves_in(rows: pd.DataFrame) -> list[Curve]:
    """Return the lines of a pair of axes, of the points that have a finite y."""
    rows = rows[rows["kind"].isin(("run", "theory", "published"))]
    points = rows.assign(**{n: pd.to_numeric(rows[n]) for n in ("x", "y", "y_std")})
    points = points[points["y"].abs() < float("inf")]
    found = []
    for (kind, label), line in points.groupby(["kind", "label"], sort=False):
        x = [None if place != place else place for place in line["x"]]
        curve: Curve = {"label": label, "kind": kind, "x": x, "y": list(line["y"])}
        if line["y_std"].any():
            curve["std"] = list(line["y_std"].fillna(0.0))
        found.append(curve)
    return found


def curves_by_cell(sources: Sources, table: str, reading: str) -> dict[tuple[str, str], Curve]:
    """Return the learning curves of a table's cells that figures have, by data and algorithm."""
    found: dict[tuple[str, str], Curve] = {}
    for name, of in sources.figures.items():
        rows = sources.drawn[name]
        for panel in of.panels if of.published == table else ():
            if panel.kind != "learning_curves" or not panel.published:
                continue
            at = (rows["reading"] == reading) & (rows["panel"] == panel.label)
            curves = {one["label"]: one for one in curves_in(rows[at & (rows["kind"] == "run")])}
            for line in panel.lines:
                label = line.label or sources.algorithms[line.algorithm].label
                if label in curves and line.published:
                    found[panel.published, line.published] = curves[label]
    return found
