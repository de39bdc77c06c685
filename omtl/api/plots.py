"""Drawing results on axes of matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from omtl.figures.pictures import LOOK
from omtl.tables.layout import STYLES
from omtl.tables.verdict import JUDGED, NEAR_WITHIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from omtl.figures.panels.axes import Axes as Lines

INK = {
    "green": "#009e73",
    "yellow": "#e69f00",
    "bold red": "#d55e00",
}
"""The colours of a terminal as they are drawn, told apart with any colour vision."""


def axes_for(ax: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    with plt.style.context(LOOK):
        return plt.subplots(figsize=(5.0, 3.6), layout="constrained")[1]


def draw_lines(part: Lines, ax: Axes | None) -> Axes:
    """Draw lines with their bands, as a figure's panel has them, and a legend; return the axes.

    Parameters
    ----------
    part : Axes
        The lines and their labels.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    """
    from omtl.figures.drawing import draw_axes, styles_of
    from omtl.figures.numbers import ShownPanel

    ax = axes_for(ax)
    styles = styles_of([ShownPanel("", "", (part,))])
    draw_axes(part, ax, {label: style | {"label": label} for label, style in styles.items()})
    ax.set_ylabel(part.y_label)
    if part.lines:
        ax.legend()
    return ax


def draw_agreement(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Draw our numbers against published ones, one point per cell, in the colours of a terminal.

    Parameters
    ----------
    frame : DataFrame
        Columns ``published_mean``, ``ours_mean``, ``verdict``.
    ax : Axes
        Where to draw.
    """
    cells = frame[frame["verdict"].isin(JUDGED)].dropna(subset=["published_mean", "ours_mean"])
    if len(cells):
        both = cells[["published_mean", "ours_mean"]]
        ends = [float(both.min().min()), float(both.max().max())]
        low, high = ([(1.0 + share) * end for end in ends] for share in (-NEAR_WITHIN, NEAR_WITHIN))
        ax.fill_between(ends, low, high, color="#000000", alpha=0.08, linewidth=0)
        ax.plot(ends, ends, color="#777777", linewidth=0.8)
    for verdict in JUDGED:
        rows = cells[cells["verdict"] == verdict]
        if len(rows):
            colour = INK[STYLES[verdict][1]]
            label = f"{verdict} ({len(rows)})"
            ax.scatter(rows["published_mean"], rows["ours_mean"], s=22, color=colour, label=label)
    ax.set(xlabel="published", ylabel="ours")
    if len(cells):
        ax.legend()
    return ax
