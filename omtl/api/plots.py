"""Drawing results on axes of matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from omtl.figures.pictures import LOOK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        Columns ``label``, ``examples``, ``mean``, ``std``, and one or more that tell curves apart.
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
