"""Drawing average ranks: critical-difference diagrams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omtl.evidence.ranks import Ranking, cliques
from omtl.figures.pictures import SMALL, render
from omtl.util.result_files import write_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Drawn
    from matplotlib.figure import Figure as Canvas


def draw_rankings(found: Sequence[Ranking], subtitle: str) -> Canvas:
    """Return the critical-difference diagrams of rankings, one below the other."""
    from matplotlib.figure import Figure as Canvas

    heights = [1.3 + 0.16 * len(one.average) for one in found]
    canvas = Canvas(figsize=(6.4, sum(heights)), layout="constrained")
    canvas.supxlabel(subtitle, color="#777777")
    axes = canvas.subplots(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for one, on in zip(found, axes, strict=True):
        draw_ranking(one, on)
    return canvas


def draw_ranking(one: Ranking, on: Drawn) -> None:
    """Draw a critical-difference diagram (Demšar 2006, figure 1): the best rank is at the left."""
    n, half = len(one.average), (len(one.average) + 1) // 2
    bars = cliques(list(one.average.values()), one.critical_difference)
    top, depth = 0.35 * (len(bars) + 1), 0.6
    test = "" if math.isnan(one.p) else f"; Friedman p = {one.p:.2g}"
    on.set_title(f"{one.metric}, {len(one.ranks)} data sets{test}", pad=16.0)
    on.set(xlim=(1.0 - 0.42 * (n - 1), n + 0.42 * (n - 1)), yticks=[])
    on.set_ylim(top + depth * half + 0.3, -1.0)
    on.grid(False)
    for side in on.spines.values():
        side.set_visible(False)
    on.set_xticks([])
    on.plot([1, n], [0, 0], color="black", linewidth=1.0)
    for tick in range(1, n + 1):
        on.plot([tick, tick], [0, -0.12], color="black", linewidth=0.8)
        on.text(tick, -0.2, str(tick), ha="center", va="bottom", fontsize=SMALL)
    for place, (name, average) in enumerate(one.average.items()):
        left = place < half
        down = top + depth * (place if left else n - 1 - place)
        end = 1.0 - 0.03 * n if left else n + 0.03 * n
        on.plot([average, average, end], [0, down, down], color="black", lw=0.7)
        on.text(
            end,
            down,
            f" {name} ({average:.2f}) ",
            ha="right" if left else "left",
            va="center",
            fontsize=8,
        )
    for level, (first, last) in enumerate(bars):
        y = 0.3 * (level + 1)
        on.plot([first - 0.03, last + 0.03], [y, y], color="#d55e00", linewidth=2.6)
    on.plot([1, min(n, 1 + one.critical_difference)], [-0.85, -0.85], color="black", linewidth=1.6)
    on.text(
        *(1.0, -0.92, f"critical difference {one.critical_difference:.2f}"),
        ha="left",
        va="bottom",
        fontsize=SMALL,
    )


def write_diagrams(
    found: Sequence[Ranking], stem: Path, subtitle: str, forms: Sequence[str] = ("svg",)
) -> list[Path]:
    """Write critical-difference diagrams in some forms; return their paths.

    The same rankings give the same bytes.
    """
    pictures = render(lambda: draw_rankings(found, subtitle), stem.name, forms)
    return write_all(stem.parent, {f"{stem.name}.{form}": p for form, p in pictures.items()})
