"""Drawing a figure: panels with axes, line styles, and one legend."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from omtl.experiment.descriptions import PanelGrid
from omtl.figures.colours import colours_of
from omtl.figures.numbers import ShownPanel
from omtl.figures.panels.axes import Axes, Curve, HeatMap, Reference
from omtl.figures.pictures import SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Drawn
    from matplotlib.figure import Figure as Canvas
    from matplotlib.figure import SubFigure
    from matplotlib.transforms import Transform

MARKERS = 8
"""About how many markers a line gets."""

FIRST_SHOWN = 10
"""One part in this many of a line's points, from the first, may run out of the range of y."""

PUBLISHED: dict[str, Any] = {
    "marker": "<",
    "markersize": 5,
    "markerfacecolor": "white",
    "linestyle": "none",
}
"""How published values are marked."""

ERROR_BARS: dict[str, Any] = {"fmt": "none", "elinewidth": 0.8, "capsize": 2.0}
"""How deviations at the points of a line are drawn."""

ROOM = 0.07
"""Room left and right of lines with error bars, as a part of their range."""

BESIDE = 2.5
"""How far the bars of two lines at the same point are from each other, in points."""

COLOURS = "cividis"
"""The colours of heat maps: the same to all kinds of colour vision, and ascending in grey."""

# Okabe and Ito's colours, told apart with any colour vision; grey stands in for their yellow, which
# is too pale for a line. Each has a dash and a marker of its own, so that no line needs its colour.
STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#000000", "linestyle": (0, (1, 1.2)), "marker": "v"},
    {"color": "#7f7f7f", "linestyle": (0, (5, 1.5)), "marker": "^"},
    {"color": "#e69f00", "linestyle": (0, (4, 1, 1, 1)), "marker": "D"},
    {"color": "#56b4e9", "linestyle": (0, (3, 1.2)), "marker": "P"},
    {"color": "#cc79a7", "linestyle": (0, (6, 1.2, 1, 1.2, 1, 1.2)), "marker": "X"},
    {"color": "#009e73", "linestyle": (0, (8, 1.5)), "marker": "s"},
    {"color": "#d55e00", "linestyle": "-", "marker": "o"},
    {"color": "#0072b2", "linestyle": "-", "marker": "*"},
)

THEORY_STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#56b4e9", "linestyle": (0, (3, 1.2))},
    {"color": "#7f7f7f", "linestyle": (0, (5, 1.5))},
    {"color": "#000000", "linestyle": (0, (1, 1.2))},
    {"color": "#cc79a7", "linestyle": (0, (6, 1.2, 1, 1.2))},
    {"color": "#009e73", "linestyle": (0, (5, 1.5))},
    {"color": "#d55e00", "linestyle": "-"},
)


Styles = Mapping[str, dict[str, Any]]
"""How each line is drawn, by its label."""


def draw(grid: PanelGrid, shown: Sequence[ShownPanel], subtitle: str) -> Canvas:
    """Return a figure drawn, panel beside panel, with one legend for all."""
    from matplotlib.figure import Figure as Canvas

    n_columns = min(grid.columns, len(shown))
    rows = [shown[i : i + n_columns] for i in range(0, len(shown), n_columns)]
    styles = styles_of(shown)
    width, height = grid.panel_size
    canvas = Canvas(figsize=(width * n_columns, height * len(rows)), layout="constrained")
    canvas.supxlabel(subtitle, color="#777777")
    for row, across in zip(rows, canvas.subfigures(len(rows), 1, squeeze=False)[:, 0], strict=True):
        places = across.subfigures(1, n_columns, squeeze=False)[0]
        for panel, place in zip(row, places, strict=False):
            draw_panel(panel, place, styles)
    draw_legend(grid, shown, canvas, styles)
    return canvas


def styles_of(shown: Sequence[ShownPanel]) -> Styles:
    """Return how each line of a figure is drawn, by its label; learners have their own styles."""
    lines = [line for panel in shown for part in panel.axes for line in part.lines]
    played = colours_of([line.label for line in lines if not line.is_theory])
    theory = dict.fromkeys(line.label for line in lines if line.is_theory)
    styles = {label: style_of(colour) for label, colour in played.items()}
    taken = {style["color"] for style in styles.values()}
    free = [kind for kind in THEORY_STYLES if kind["color"] not in taken] or THEORY_STYLES
    return styles | dict(zip(theory, cycle(free), strict=False))


def style_of(colour: int) -> dict[str, Any]:
    """Return the style of a colour; where it is used again, with the dash and marker of another."""
    turn, place = divmod(colour, len(STYLES))
    other = STYLES[(place + 3 * turn) % len(STYLES)]
    return other | {"color": STYLES[place]["color"]}


def draw_panel(panel: ShownPanel, place: SubFigure, styles: Styles) -> None:
    """Draw a panel's axes side by side, or what it misses."""
    place.suptitle(f"({panel.label}) {panel.title}")
    why = "\n".join(
        textwrap.fill(f"missing: {text}", 46, break_on_hyphens=False) for text in panel.missing
    )
    if not panel.parts:
        empty = place.subplots()
        empty.set(xticks=[], yticks=[])
        middle: dict[str, Any] = {"ha": "center", "va": "center", "transform": empty.transAxes}
        empty.text(0.5, 0.5, why, color="#555555", **middle)
        return
    axes = place.subplots(1, len(panel.parts), sharey=True, squeeze=False)[0]
    axes[0].set_ylabel(panel.parts[0].y_label)
    if panel.axes:
        axes[0].set_yscale(panel.axes[0].y_scale)
        if panel.axes[0].y_scale == "linear":
            axes[0].set_ylim(*limits_of(panel.axes))
    for part, on in zip(panel.parts, axes, strict=True):
        if isinstance(part, HeatMap):
            draw_heat_map(part, on)
        else:
            draw_axes(part, on, styles)
    if why:
        place.supxlabel(why, color="#a03000")


def limits_of(parts: Sequence[Axes]) -> tuple[float, float]:
    """Return the range of y without the first checkpoints, where one mistake is many per cent."""
    ends = [mark.y for part in parts for mark in part.marks]
    for part in parts:
        for line in part.lines:
            first = 0 if part.error_bars else line.x.size // FIRST_SHOWN
            mean, std = line.mean[first:], line.std[first:]
            ends += [float(np.min(mean - std)), float(np.max(mean + std))]
    margin = 0.04 * (max(ends) - min(ends)) or 0.5
    return min(ends) - margin, max(ends) + margin


def draw_axes(part: Axes, on: Drawn, styles: Styles) -> None:
    """Draw lines with bands, references with their labels, and published values."""
    scales = {"log1p": ("function", {"functions": (np.log1p, np.expm1)})}
    name, options = scales.get(part.x_scale, (part.x_scale, {}))
    on.set_xscale(name, **options)
    on.set_xlabel(part.x_label)
    on.set_title(f"{part.title} ({part.warning})" if part.warning else part.title)
    if part.ticks:
        on.set_xticks(part.ticks, [f"{tick:g}" for tick in part.ticks], fontsize=SMALL)
        on.minorticks_off()
    if part.error_bars:  # what stands aside is not seen by the drawing's own limits
        first, last = (f(float(f(line.x)) for line in part.lines) for f in (min, max))
        room = ROOM * (last - first) or 1.0
        on.set_xlim(first - room, last + room)
    for i, line in enumerate(part.lines):
        few = line.x.size <= 2 * MARKERS
        marked = None if few else (i / len(part.lines) / MARKERS, 1.0 / MARKERS)
        style = styles[line.label] | {"zorder": 3 + i / 100}
        beside = aside(i, len(part.lines), on) if part.error_bars else on.transData
        on.plot(line.x, line.mean, markevery=marked, transform=beside, **style)
        low, high = line.mean - line.std, line.mean + line.std
        if part.y_scale == "log":
            low = np.where(low > 0.0, low, line.mean)
        if part.error_bars:
            bars = ERROR_BARS | {"color": style["color"], "transform": beside}
            on.errorbar(line.x, line.mean, [line.mean - low, high - line.mean], **bars)
        else:
            on.fill_between(line.x, low, high, color=style["color"], alpha=0.18, linewidth=0)
    for mark in part.marks:
        color = styles[mark.label]["color"]
        edge = on.get_yaxis_transform()  # x in widths of the axes, y in the data's unit
        x, along = (1.015, edge) if mark.x is None else (mark.x, on.transData)
        on.plot(x, mark.y, transform=along, color=color, clip_on=False, **PUBLISHED)
    for i, reference in enumerate(sorted(part.references)):
        last = i == len(part.references) - 1
        draw_reference(reference, on, part.lines[0], alone=len(part.references) == 1, last=last)


def aside(i: int, n: int, on: Drawn) -> Transform:
    """Return the transformation of data for line i of n, so that their bars stand side by side."""
    from matplotlib.transforms import offset_copy

    return offset_copy(
        on.transData, fig=on.get_figure(root=True), x=BESIDE * (i - (n - 1) / 2.0), units="points"
    )


def draw_heat_map(part: HeatMap, on: Drawn) -> None:
    """Draw a matrix with its groups named and bounded; the colours end at the largest weight
    between two different rows and columns, as those on the diagonal would drown the others."""
    n, weights = len(part.lines), np.array([line.mean for line in part.lines])
    most = float(weights[~np.eye(n, dtype=bool)].max())
    image = on.imshow(weights, cmap=COLOURS, vmin=0.0, vmax=most, interpolation="nearest")
    on.set_title(part.title, pad=2.0 * SMALL)
    on.grid(False)
    ticks = [i for i in range(n) if i % 2 == 0]
    for axis in (on.xaxis, on.yaxis):
        axis.set_ticks(ticks, [str(i + 1) for i in ticks], fontsize=SMALL)
    ends = np.cumsum(list(part.groups.values()))
    for end in ends[:-1]:
        on.axhline(end - 0.5, color="white", linewidth=1.2)
        on.axvline(end - 0.5, color="white", linewidth=1.2)
    for name, end, size in zip(part.groups, ends, part.groups.values(), strict=True):
        middle = end - 0.5 - size / 2.0
        on.text(*(middle, -0.8, name), ha="center", va="bottom", fontsize=SMALL, color="#444444")
    on.set_xlabel("\n".join([part.x_label, *part.notes[:1]]), fontsize=8)
    bar = on.figure.colorbar(image, ax=on, shrink=0.8, extend="max", pad=0.02)
    bar.set_label(part.unit, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)


def draw_reference(
    reference: Reference, on: Drawn, line: Curve, *, alone: bool, last: bool
) -> None:
    """Draw a vertical line with its label beside it, where the axes' own line is not."""
    to_axes = on.transData + on.transAxes.inverted()
    height = float(np.interp(reference.x, line.x, line.mean))
    across, up = to_axes.transform((reference.x, height))
    leftwards = across > 0.5 if alone else not last
    below = up > 0.5
    on.axvline(reference.x, color="#444444", linewidth=0.9, linestyle=(0, (4, 2)), zorder=2)
    on.annotate(
        reference.label,
        (reference.x, 0.03 if below else 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(-2 if leftwards else 2, 0),
        textcoords="offset points",
        rotation=90,
        ha="right" if leftwards else "left",
        va="bottom" if below else "top",
        fontsize=SMALL,
        color="#444444",
    )


def draw_legend(
    grid: PanelGrid, shown: Sequence[ShownPanel], canvas: Canvas, styles: Styles
) -> None:
    """Draw one legend for all panels, above them."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=label, **style) for label, style in styles.items()]
    if marks := [mark for panel in shown for part in panel.axes for mark in part.marks]:
        what = "published final rate" if marks[0].x is None else "published"
        handles.append(Line2D([], [], label=what, color="#444444", **PUBLISHED))
    if handles:
        canvas.legend(
            handles=handles,
            loc="outside upper center",
            ncols=grid.legend_columns,
            handlelength=3.2,
            columnspacing=1.4,
        )
