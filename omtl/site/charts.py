"""Charts as SVG, drawn with the page's own colours: numbers over repeats, and lines.

What a chart shows is also described in words (`aria-label`); lines can be read with the pointer and
the arrow keys (`script.js`), from the numbers that the chart carries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from markupsafe import Markup, escape
from matplotlib.ticker import LogLocator, MaxNLocator

from omtl.figures.colours import colours_of

PAGE_COLOURS = (5, 7, 4, 6, 3, 2, 1, 0)
"""The style sheet's number for each colour of `omtl.figures.colours`; further lines differ by their
dashes."""

DOT = 3.2
"""Radius of the dot of a repeat."""


def shown(value: float) -> str:
    """Return a number as an axis label."""
    if value != 0 and (abs(value) >= 1e5 or abs(value) < 1e-3):
        mantissa, _, power = f"{value:.2e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"10{raised}" if mantissa == "1" else f"{mantissa}·10{raised}"
    return f"{value:.6g}".replace("-", "−")


UNITS: dict[str, Callable[[float], float]] = {
    "linear": float,
    "log": lambda value: math.log10(max(value, 1e-300)),
    "log1p": math.log1p,
}
"""The transformation of numbers on each kind of scale."""


@dataclass(frozen=True)
class Scale:
    """Maps numbers to places along an axis.

    Parameters
    ----------
    low, high : float
        The numbers at its ends.
    start, end : float
        Their places.
    kind : {"linear", "log", "log1p"}
    """

    low: float
    high: float
    start: float
    end: float
    kind: str = "linear"

    def __call__(self, value: float) -> float:
        """Return the place of a number."""
        low, high, v = map(UNITS[self.kind], (self.low, self.high, value))
        share = (v - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int) -> list[float]:
        """Return round numbers along the axis."""
        if self.kind == "log1p":
            step = 1 + int(math.log2(self.high + 1)) // most
            found = [0.0, *(2.0**k for k in range(0, 64, step))]
        elif self.kind == "log" and self.high / self.low >= 100:
            found = list(LogLocator(numticks=most).tick_values(self.low, self.high))
        else:
            locator = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])
            found = list(locator.tick_values(self.low, self.high))
        slack = 1e-9 * (self.high - self.low)
        return [float(v) for v in found if self.low - slack <= v <= self.high + slack]


def picture(kind: str, width: float, height: float, label: str, parts: Iterable[str]) -> Markup:
    """Return parts of a chart as one picture, which its label describes."""
    return Markup(
        f'<svg class="chart {kind}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _axis_below(scale: Scale, y: float, label: str, top: float) -> str:
    ticks = [
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{y:.1f}"/>'
        f'<text x="{x:.1f}" y="{y + 15:.1f}" text-anchor="middle">{shown(tick)}</text>'
        for tick in scale.ticks(6)
        for x in [scale(tick)]
    ]
    middle = (scale.start + scale.end) / 2
    return (
        f'<g class="axis">{"".join(ticks)}<text class="label" x="{middle:.1f}" '
        f'y="{y + 32:.1f}" text-anchor="middle">{escape(label)}</text></g>'
    )


def _stacked(places: Sequence[float]) -> list[int]:
    """Return how high to stack each dot so that none covers another."""
    heights = [0] * len(places)
    order = sorted(range(len(places)), key=lambda i: places[i])
    first = 0  # of those so far that are near
    for rank, i in enumerate(order):
        while places[i] - places[order[first]] >= 2 * DOT:
            first += 1
        near = {heights[j] for j in order[first:rank]}
        heights[i] = next(height for height in count() if height not in near)
    return heights


def number_line(
    published: tuple[float, float | None] | None,
    ours: tuple[float, float],
    values: Sequence[float],
    unit: str,
    label: str,
) -> Markup:
    """Return a chart of the published number, ours, their standard deviations and our repeats.

    Parameters
    ----------
    published : tuple of float, float or None; or None
        What the paper prints, and its spread if there is one.
    ours : tuple of float
        Mean and standard deviation.
    values : sequence of float
        Our number in each repeat; empty if they are not at hand.
    unit, label : str
        The unit of the axis, and what the chart tells in words.
    """
    pairs = [("published", *published)] if published else []
    rows = [(name, mean, std or 0.0) for name, mean, std in (*pairs, ("ours", *ours))]
    ends = [end for _, mean, std in rows for end in (mean - std, mean + std)] + list(values)
    low, high = min(ends), max(ends)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    scale = Scale(low - room, high + room, 82, 548)
    parts = []
    y = 18.0
    for name, mean, std in rows:
        parts.append(
            f'<g class="{name}"><text x="72" y="{y + 4:.1f}" text-anchor="end">{name}</text>'
            f'<line x1="{scale(mean - std):.1f}" x2="{scale(mean + std):.1f}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/><circle cx="{scale(mean):.1f}" cy="{y:.1f}" r="5"/></g>'
        )
        y += 24
    if values:
        heights = _stacked([scale(v) for v in values])
        levels = max(heights) + 1
        step = min(2 * DOT, 60 / levels)
        base = y + levels * step - DOT
        middle = base - levels * step / 2 + 6
        dots = [
            f'<circle cx="{scale(v):.1f}" cy="{base - height * step:.1f}" r="{DOT}">'
            f"<title>{shown(v)}</title></circle>"
            for v, height in zip(values, heights, strict=True)
        ]
        parts.append(
            f'<g class="repeats"><text x="72" y="{middle:.1f}" text-anchor="end">repeats</text>'
            f"{''.join(dots)}</g>"
        )
        y = base + 6
    axis = _axis_below(scale, y + 6, unit, 6)
    return picture("numbers", 560, y + 44, label, [axis, *parts])


@dataclass(frozen=True)
class Curve:
    """A line of a chart: x, y, and optional standard deviations.

    `kind` is ``run``, ``theory`` or ``published`` (a level at the right edge).
    """

    label: str
    x: np.ndarray
    y: np.ndarray
    std: np.ndarray | None = None
    kind: str = "run"


def scale_of(values: np.ndarray) -> str:
    """Return the scale of an axis: logarithmic if its numbers are spaced by ratios."""
    v = np.unique(values)
    positive = v[v > 0]
    if v.size < 4 or v[0] < 0 or positive[-1] / positive[0] < 50:
        return "linear"
    steps, ratios = np.diff(positive), np.diff(np.log(positive))
    if np.std(ratios) / np.mean(ratios) > 0.5 * np.std(steps) / np.mean(steps):
        return "linear"
    return "log" if v[0] > 0 else "log1p"


def _reach(curves: Sequence[Curve], log_y: bool) -> tuple[float, float]:
    """Return the range to show; the first tenth of a run may exceed it."""
    ends = []
    for c in curves:
        start = c.y.size // 10 if c.kind == "run" and not log_y else 0
        spread = np.zeros_like(c.y) if c.std is None or log_y else c.std
        ends += [np.min((c.y - spread)[start:]), np.max((c.y + spread)[start:])]
    return float(min(ends)), float(max(ends))


def lines(
    curves: Sequence[Curve], x_label: str, y_label: str, label: str, width: int = 560
) -> Markup:
    """Return a chart of lines, with standard deviations as bands.

    An axis is logarithmic where its numbers are spaced by ratios (x) or span decades (y).
    """
    drawn = [c for c in curves if c.kind != "published"]
    if not drawn:
        return Markup("")
    height = 300 if len(curves) > 1 else 190
    x, y = np.concatenate([c.x for c in drawn]), np.concatenate([c.y for c in drawn])
    log_y = len(drawn) > 1 and y.min() > 0 and y.max() / np.median(y) > 20
    low, high = _reach(curves, log_y)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    y_range = (low / 1.2, high * 1.2) if log_y else (low - room, high + room)
    left, right, top, bottom = 62.0, width - 14.0, 10.0, height - 42.0
    sx = Scale(float(x.min()), float(x.max()), left, right, scale_of(x))
    sy = Scale(*y_range, bottom, top, "log" if log_y else "linear")
    groups = [
        f'<g class="line c{colour} d{turn} {c.kind}" data-line="{number}">'
        f"{_marks(c, sx, sy) if c.kind == 'published' else _curve(c, sx, sy, not log_y)}</g>"
        for number, (c, (colour, turn)) in enumerate(
            zip(curves, looks_of([c.label for c in curves]), strict=True)
        )
    ]
    numbers = {
        "scale": [sx.low, sx.high, sx.start, sx.end, sx.kind],
        "top": top,
        "bottom": bottom,
        "x": x_label,
        "lines": [
            {
                "label": c.label,
                "x": [float(f"{x:.6g}") for x in c.x],
                "y": [float(f"{y:.5g}") for y in c.y],
            }
            for c in drawn
        ],
    }
    return Markup(
        f'<svg class="chart lines" viewBox="0 0 {width} {height}" role="img" tabindex="0" '
        f'aria-label="{escape(label)}" '
        f'data-numbers="{escape(json.dumps(numbers, separators=(",", ":")))}">'
        f"{_axis_below(sx, bottom, x_label, top)}{_axis_left(sy, left, right, y_label)}"
        f'{"".join(groups)}<line class="cursor" y1="{top}" y2="{bottom}" hidden=""/></svg>'
    )


def _axis_left(scale: Scale, left: float, right: float, label: str) -> str:
    ticks = [
        f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{shown(tick)}</text>'
        for tick in scale.ticks(6)
        for y in [scale(tick)]
    ]
    middle = (scale.start + scale.end) / 2
    return (
        f'<g class="axis">{"".join(ticks)}<text class="label" x="12" y="{middle:.1f}" '
        f'text-anchor="middle" transform="rotate(-90 12 {middle:.1f})">{escape(label)}</text></g>'
    )


def _marks(c: Curve, sx: Scale, sy: Scale) -> str:
    """Return published values, which are at the right edge where they have no x."""
    places = [(sx.end if np.isnan(x) else sx(x), sy(y)) for x, y in zip(c.x, c.y, strict=True)]
    return "".join(f'<path d="M{x:.1f} {y:.1f}l9 -5v10z"/>' for x, y in places)


def _curve(c: Curve, sx: Scale, sy: Scale, with_band: bool) -> str:
    """Return a line; what leaves the axes is cut off, not drawn along their edge."""
    places = [sx(x) for x in c.x]
    points = [(x, sy(y)) for x, y in zip(places, c.y, strict=True)]
    band = ""
    if c.std is not None and with_band:
        above = [(x, sy(y)) for x, y in zip(places, c.y + c.std, strict=True)]
        below = [(x, sy(y)) for x, y in zip(places, c.y - c.std, strict=True)]
        band = f'<path class="band" d="{_path([*above, *below[::-1]])}Z"/>'
    dots = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>'
        for x, y in points
        if len(points) <= 12 and sy.end <= y <= sy.start
    ]
    width, height = sx.end - sx.start, sy.start - sy.end
    return (
        f'<svg x="{sx.start}" y="{sy.end}" width="{width}" height="{height}" '
        f'viewBox="{sx.start} {sy.end} {width} {height}">{band}'
        f'<path class="mean" d="{_path(points)}"/></svg>{"".join(dots)}'
    )


def looks_of(labels: Sequence[str]) -> list[tuple[int, int]]:
    """Return the style sheet's colour and dash numbers of each line."""
    found = colours_of(labels)
    looks = [divmod(found[label], len(PAGE_COLOURS)) for label in labels]
    return [(PAGE_COLOURS[colour], turn) for turn, colour in looks]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def heat_map(weights: np.ndarray, label: str) -> Markup:
    """Return a matrix of weights, one row per learning task; each square shows its weight."""
    n_rows, n_columns = weights.shape
    size = 14
    # A weight of a task on itself can hide all others: colours are spread over these.
    others = weights[~np.eye(n_rows, n_columns, dtype=bool)]
    least, most = float(others.min()), float(others.max())
    shades = np.clip((weights - least) / (most - least or 1.0), 0.0, 1.0)
    squares = [
        f'<rect x="{26 + size * j}" y="{6 + size * i}" width="{size - 1}" height="{size - 1}" '
        f'fill-opacity="{shades[i, j]:.3f}"><title>task {i + 1} from task {j + 1}: '
        f"{weight:.4g}</title></rect>"
        for (i, j), weight in np.ndenumerate(weights)
    ]
    return picture("heat", 32 + size * n_columns, 12 + size * n_rows, label, squares)


def agreement(points: Sequence[tuple[float, float, str, str]], label: str) -> Markup:
    """Return a chart of our numbers relative to the published ones, as ticks on one axis.

    Parameters
    ----------
    points : sequence of (published, ours, verdict, name)
    """
    shares = [
        (100 * (ours / published - 1.0), verdict, name)
        for published, ours, verdict, name in points
        if published
    ]
    if not shares:
        return Markup("")
    reach = min(60.0, max(12.0, *(abs(share) for share, *_ in shares)))
    scale = Scale(-reach, reach, 24, 696)
    near, band = scale(-10), scale(10) - scale(-10)
    parts = [
        _axis_below(scale, 62, "ours above or below the published number (%)", 8),
        f'<rect class="near-zone" x="{near:.1f}" width="{band:.1f}" y="8" height="54"/>',
    ]
    for share, verdict, name in shares:
        x = scale(max(-reach, min(reach, share)))
        parts.append(
            f'<line class="tick {verdict}" x1="{x:.1f}" x2="{x:.1f}" y1="16" y2="54">'
            f"<title>{escape(name)}: {share:+.1f} %</title></line>"
        )
    return picture("agreement", 720, 100, label, parts)
