"""The numbers that a figure shows, from the store and the data alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from data_fetchers.fetch import DataMissing
from omtl.compute.parallel_jobs import Failure, why_lacking
from omtl.figures.panels import kind_of
from omtl.figures.panels.axes import DIGITS, Axes, HeatMap, PlannedPanel, Played
from omtl.figures.plan import Figure
from omtl.tables.committed import rows
from omtl.tables.plan import rule_of
from omtl.tables.request import Request
from omtl.util.folding import unfold

COLUMNS = (
    "figure",
    "panel",
    "part",
    "reading",
    "selection",
    "kind",
    "label",
    "x_label",
    "x",
    "y",
    "y_std",
    "n_repeats",
    "params",
)


FOLDED = ("x", "y", "y_std")
"""Columns of which a row of the kept csv has those of a whole line."""


def drawn_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a figure's kept csv, one per point; none where there is no file."""
    return unfold(rows(path), FOLDED)


@dataclass(frozen=True)
class Shown:
    """A panel as it is drawn.

    Parameters
    ----------
    parts : tuple of Axes or HeatMap
        Its axes, which share y; none where all its data are missing.
    missing : tuple of str
        What is missing, and why.
    repeats_are_of : str
        One data set or fresh draws (`omtl.experiment.experiment.Experiment.repeats_are_of`).
    """

    label: str
    title: str
    parts: tuple[Axes | HeatMap, ...]
    missing: tuple[str, ...] = ()
    repeats_are_of: str = ""

    @property
    def axes(self) -> list[Axes]:
        """Those of the parts that have lines."""
        return [part for part in self.parts if isinstance(part, Axes)]


def show_panel(
    figure: Figure, panel: PlannedPanel, request: Request, failed: Mapping[str, Failure]
) -> Shown:
    """Return a panel with its numbers, from the store and the data alone."""
    n_repeats = request.n_repeats(figure.description)
    rule = rule_of(request.rule(figure.description), figure.reading)
    played: list[Played] = []
    lacking: dict[str, list[str]] = {}
    for line in panel.lines:
        units = line.experiment.repeats(request.seed, n_repeats)
        results = [result for unit in units if (result := request.store.load(unit)) is not None]
        if len(results) == n_repeats:
            played.append(Played(line, units, results, rule))
            continue
        why = why_lacking(units, len(results), failed)
        lacking.setdefault(why, []).append(line.label)
    missing = [f"{', '.join(dict.fromkeys(labels))}: {why}" for why, labels in lacking.items()]
    parts: list[Axes | HeatMap] = []
    if played:
        try:
            parts = kind_of(panel.description)(panel, played)
        except DataMissing as fault:  # the units are stored, but a formula needs the data
            missing.append(str(fault))
    return Shown(
        panel.description.label,
        panel.description.title,
        tuple(parts),
        tuple(missing),
        panel.lines[0].experiment.repeats_are_of if panel.lines else "",
    )


def show_figure(
    figure: Figure, request: Request, failed: Mapping[str, Failure] | None = None
) -> list[Shown]:
    """Return all panels of a figure with their numbers, from the store and the data alone.

    Parameters
    ----------
    figure : Figure
    request : Request
        Which repeats, by which rule.
    failed : dict, optional
        Why units failed, by key.
    """
    return [show_panel(figure, panel, request, failed or {}) for panel in figure.panels]


def frame(figure: Figure, shown: Sequence[Shown], selection: str) -> pd.DataFrame:
    """Return the rows of a figure's csv: every number that is drawn, as text.

    The column `kind` tells lines of played runs (``run``) from formulas (``theory``), weights of a
    heat map (``weight``; the label is the row, x the column, from 1), vertical lines
    (``reference``), published values (``published``), ``note`` and ``missing``; the text of the
    last two is the label.
    """

    def number(value: float) -> str:
        return f"{value:.{DIGITS}g}"

    found: list[tuple[str, ...]] = []
    for panel in shown:

        def add(kind: str, part: str, *more: str, panel: str = panel.label) -> None:
            row = (figure.id, panel, part, figure.reading["name"], selection, kind, *more)
            found.append(row + ("",) * (len(COLUMNS) - len(row)))

        for part in panel.parts:
            if isinstance(part, HeatMap):
                for (i, j), mean in np.ndenumerate(part.mean):
                    place = (f"{part.y_label} {i + 1}", part.x_label, str(j + 1))
                    values = (
                        number(float(mean)),
                        number(float(part.std[i, j])),
                        str(part.n_repeats),
                    )
                    add("weight", part.title, *place, *values, part.params)
                for note in part.notes:
                    add("note", part.title, note)
                continue
            for line in part.lines:
                params = line.params * (line.x.size if len(line.params) == 1 else 1)
                kind = "theory" if line.is_theory else "run"
                for x, y, std, point in zip(line.x, line.mean, line.std, params, strict=True):
                    numbers = (number(x), number(y), number(std), str(line.n_repeats), point)
                    add(kind, part.title, line.label, part.x_label, *numbers)
            for reference in part.references:
                add("reference", part.title, reference.label, part.x_label, number(reference.x))
            for mark in part.marks:
                x = "" if mark.x is None else number(mark.x)
                add("published", part.title, mark.label, part.x_label, x, number(mark.y))
            for note in part.notes:
                add("note", part.title, note)
        for why in panel.missing:
            add("missing", "", why)
    return pd.DataFrame(found, columns=COLUMNS)
