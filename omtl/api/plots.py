"""Drawing results on axes of matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from omtl.figures.pictures import LOOK
from omtl.tables.verdict import CLOSE, JUDGED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = {
    "green": "#009e73",
    "yellow": "#e69f00",
    "bold red": "#d55e00",
    "bright_black": "#7f7f7f",
}
"""The colours of a terminal as they are drawn, told apart with any colour vision."""


def axes_for(ax: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    with plt.style.context(LOOK):
        return plt.subplots(figsize=(5.0, 3.6), layout="constrained")[1]


def draw_curves(curves: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw learning curves with a band of one standard deviation; return the axes.

    Parameters
    ----------
    curves : DataFrame
        Columns ``label``, which differs between curves, ``examples``, ``mean``, ``std``.
    ax : Axes, optional
        Where to draw; by default on a new figure.
    """
    from omtl.figures.colours import colours_of
    from omtl.figures.drawing import MARKERS, style_of

    ax = axes_for(ax)
    labels = list(dict.fromkeys(curves["label"]))
    styles: dict[Any, Any] = {name: style_of(n) for name, n in colours_of(labels).items()}
    for label, rows in curves.groupby("label", sort=False):
        x, mean, std = (rows[name].to_numpy(float) for name in ("examples", "mean", "std"))
        style = styles[label]
        ax.plot(x, mean, label=str(label), markevery=max(1, x.size // MARKERS), **style)
        ax.fill_between(x, mean - std, mean + std, color=style["color"], alpha=0.18, linewidth=0)
    ax.set(xlabel="examples", ylabel="cumulative error rate (%)")
    if labels:
        ax.legend()
    return ax


def draw_agreement(frame: pd.DataFrame, colours: Mapping[str, str], ax: Axes) -> Axes:
    """Draw our numbers against published ones, one point a cell; return the axes.

    Parameters
    ----------
    frame : DataFrame
        Columns ``published_mean``, ``ours_mean``, ``verdict``.
    colours : mapping
        A colour for each verdict, as on a terminal.
    ax : Axes
        Where to draw.
    """
    cells = frame[frame["verdict"].isin(JUDGED)].dropna(subset=["published_mean", "ours_mean"])
    if len(cells):
        both = cells[["published_mean", "ours_mean"]]
        ends = [float(both.min().min()), float(both.max().max())]
        low, high = ([(1.0 + share) * end for end in ends] for share in (-CLOSE, CLOSE))
        ax.fill_between(ends, low, high, color="#000000", alpha=0.08, linewidth=0)
        ax.plot(ends, ends, color="#777777", linewidth=0.8)
    for verdict in JUDGED:
        rows = cells[cells["verdict"] == verdict]
        if len(rows):
            colour = INK.get(colours[verdict], colours[verdict])
            label = f"{verdict} ({len(rows)})"
            ax.scatter(rows["published_mean"], rows["ours_mean"], s=22, color=colour, label=label)
    ax.set(xlabel="published", ylabel="ours")
    if len(cells):
        ax.legend()
    return ax
