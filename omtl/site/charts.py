"""Charts as SVG, drawn with the page's own colours: numbers over repeats, and lines.

What a chart shows is also described in words (`aria-label`); lines can be read with the pointer and
the arrow keys (`script.js`), from the numbers that the chart carries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from matplotlib.ticker import LogLocator, MaxNLocator

from omtl.figures.colours import colours_of

N_COLOURS = 8
"""Number of line colours in the style sheet; further lines differ by their dashes."""

PAGE_COLOURS = (5, 7, 4, 6, 3, 2, 1, 0)
"""The style sheet's number for each colour of `omtl.figures.colours`."""

DOT = 3.2
"""Radius of the dot of a repeat."""


def shown(value: float) -> str:
    """Return a number as an axis label."""
    if value != 0 and (abs(value) >= 1e5 or abs(value) < 1e-3):
        mantissa, _, power = f"{value:.3g}".partition("e")
        if not power:
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
            found = [0.0, *(2.0**k for k in range(64))]
            found = [found[0], *found[1 :: 1 + int(math.log2(self.high + 1)) // most]]
        elif self.kind == "log" and self.high / self.low >= 100:
            found = list(LogLocator(numticks=most).tick_values(self.low, self.high))
        else:
            locator = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])
            found = list(locator.tick_values(self.low, self.high))
        slack = 1e-9 * (self.high - self.low)
        return [float(v) for v in found if self.low - slack <= v <= self.high + slack]


def _axis_below(scale: Scale, y: float, label: str, top: float) -> Markup:
    parts = [Markup('<g class="axis">')]
    for tick in scale.ticks(6):
        x = scale(tick)
        parts.append(
            Markup('<line x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>').format(x, top, y)
            + Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(
                x, y + 15, shown(tick)
            )
        )
    middle = (scale.start + scale.end) / 2
    parts.append(
        Markup(
            '<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text></g>'
        ).format(middle, y + 32, label)
    )
    return Markup("").join(parts)


def _stacked(places: Sequence[float]) -> list[int]:
    """Return how high to stack each dot so that none covers another."""
    heights = [0] * len(places)
    for number in sorted(range(len(places)), key=lambda i: places[i]):
        near = {
            heights[other]
            for other in range(len(places))
            if other != number
            and places[other] <= places[number]
            and (places[other], other) < (places[number], number)
            and places[number] - places[other] < 2 * DOT
        }
        heights[number] = next(h for h in range(len(places) + 1) if h not in near)
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
    ends = [ours[0] - ours[1], ours[0] + ours[1], *values]
    if published:
        spread = published[1] or 0.0
        ends += [published[0] - spread, published[0] + spread]
    low, high = min(ends), max(ends)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    scale = Scale(low - room, high + room, 82, 548)
    finite = [v for v in values if math.isfinite(v)]
    heights = _stacked([scale(v) for v in finite])
    step = min(2 * DOT, 60 / (max(heights, default=0) + 1))
    tall = (max(heights, default=0) + 1) * step if finite else 0
    parts = []
    y = 18.0
    rows = [("published", published)] if published else []
    for name, pair in [*rows, ("ours", ours)]:
        assert pair is not None
        mean, std = pair[0], pair[1] or 0.0
        parts.append(
            Markup(
                '<g class="{}"><text x="72" y="{:.1f}" text-anchor="end">{}</text>'
                '<line x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>'
                '<circle cx="{:.1f}" cy="{:.1f}" r="5"/></g>'
            ).format(name, y + 4, name, scale(mean - std), scale(mean + std), y, y, scale(mean), y)
        )
        y += 24
    if finite:
        base = y + tall - DOT
        parts.append(
            Markup('<g class="repeats"><text x="72" y="{:.1f}" text-anchor="end">{}</text>').format(
                base - tall / 2 + 6, "repeats"
            )
        )
        parts += [
            Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>').format(
                scale(v), base - h * step, DOT, shown(v)
            )
            for v, h in zip(finite, heights, strict=True)
        ]
        parts.append(Markup("</g>"))
        y = base + 6
    y += 6
    axis = _axis_below(scale, y, unit, 6)
    return Markup(
        '<svg class="chart numbers" viewBox="0 0 560 {:.0f}" role="img" aria-label="{}">{}{}</svg>'
    ).format(y + (38 if unit else 22), label, axis, Markup("").join(parts))


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


def _spans_decades(curves: Sequence[Curve]) -> bool:
    values = np.concatenate([c.y for c in curves])
    positive = values[values > 0]
    return positive.size == values.size and positive.max() / max(np.median(positive), 1e-300) > 20


def lines(
    curves: Sequence[Curve], x_label: str, y_label: str, label: str, width: int = 560
) -> Markup:
    """Return a chart of lines, with standard deviations as bands.

    An axis is logarithmic where its numbers are spaced by ratios (x) or span decades (y).
    """
    drawn = [c for c in curves if c.kind != "published" and c.x.size]
    if not drawn:
        return Markup("")
    height = 300 if len(curves) > 1 else 190
    all_x = np.concatenate([c.x for c in drawn])
    log_y = len(drawn) > 1 and _spans_decades(drawn)
    low, high = _reach(curves, log_y)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    y_range = (low / 1.2, high * 1.2) if log_y else (low - room, high + room)
    left, right, top, bottom = 62.0, width - 14.0, 10.0, height - 42.0
    sx = Scale(float(all_x.min()), float(all_x.max()), left, right, scale_of(all_x))
    sy = Scale(*y_range, bottom, top, "log" if log_y else "linear")
    parts = [_axis_below(sx, bottom, x_label, top), Markup('<g class="axis">')]
    for tick in sy.ticks(6):
        y = sy(tick)
        parts.append(
            Markup('<line x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(left, right, y, y)
            + Markup('<text x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(
                left - 6, y + 4, shown(tick)
            )
        )
    middle = (top + bottom) / 2
    parts.append(
        Markup(
            '<text class="label" x="12" y="{0:.1f}" text-anchor="middle" '
            'transform="rotate(-90 12 {0:.1f})">{1}</text></g>'
        ).format(middle, y_label)
    )

    # What leaves the axes is cut off, not drawn along their edge.
    window = Markup(
        '<svg x="{0}" y="{1}" width="{2}" height="{3}" viewBox="{0} {1} {2} {3}">'
    ).format(left, top, right - left, bottom - top)
    looks = looks_of([c.label for c in curves])
    for number, c in enumerate(curves):
        colour, turn = looks[number]
        parts.append(
            Markup('<g class="line c{} d{} {}" data-line="{}">').format(
                colour, turn, c.kind, number
            )
        )
        if c.kind == "published":
            parts += [  # an end of a curve has no x
                Markup('<path d="M{:.1f} {:.1f}l9 -5v10z"/>').format(
                    right if np.isnan(x) else sx(x), sy(y)
                )
                for x, y in zip(c.x, c.y, strict=True)
            ]
        else:
            parts.append(window)
            if c.std is not None and not log_y:
                above = [(sx(x), sy(y + s)) for x, y, s in zip(c.x, c.y, c.std, strict=True)]
                below = [(sx(x), sy(y - s)) for x, y, s in zip(c.x, c.y, c.std, strict=True)]
                parts.append(
                    Markup('<path class="band" d="{}Z"/>').format(_path([*above, *below[::-1]]))
                )
            points = [(sx(x), sy(y)) for x, y in zip(c.x, c.y, strict=True)]
            parts.append(Markup('<path class="mean" d="{}"/></svg>').format(_path(points)))
            if len(points) <= 12:
                parts += [
                    Markup('<circle cx="{:.1f}" cy="{:.1f}" r="2.6"/>').format(*point)
                    for point in points
                    if top <= point[1] <= bottom
                ]
        parts.append(Markup("</g>"))
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
        '<svg class="chart lines" viewBox="0 0 {} {}" role="img" tabindex="0" aria-label="{}" '
        'data-numbers="{}">{}<line class="cursor" y1="{}" y2="{}" hidden=""/></svg>'
    ).format(
        width,
        height,
        label,
        escape(json.dumps(numbers, separators=(",", ":"))),
        Markup("").join(parts),
        top,
        bottom,
    )


def looks_of(labels: Sequence[str]) -> list[tuple[int, int]]:
    """Return the style sheet's colour and dash numbers of each line."""
    found = colours_of(labels)
    return [(PAGE_COLOURS[found[one] % N_COLOURS], found[one] // N_COLOURS) for one in labels]


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
        Markup(
            '<rect x="{}" y="{}" width="{}" height="{}" fill-opacity="{:.3f}">'
            "<title>{}</title></rect>"
        ).format(
            26 + size * j,
            6 + size * i,
            size - 1,
            size - 1,
            shades[i, j],
            f"task {i + 1} from task {j + 1}: {weights[i, j]:.4g}",
        )
        for i in range(n_rows)
        for j in range(n_columns)
    ]
    return Markup(
        '<svg class="chart heat" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(32 + size * n_columns, 12 + size * n_rows, label, Markup("").join(squares))


def agreement(points: Sequence[tuple[float, float, str, str]], label: str) -> Markup:
    """Return a chart of our numbers relative to the published ones, as ticks on one axis.

    Parameters
    ----------
    points : sequence of (published, ours, verdict, name)
    """
    ratios = [(ours / published - 1.0) * 100 for published, ours, _, _ in points if published]
    if not ratios:
        return Markup("")
    reach = min(60.0, max(12.0, *(abs(r) for r in ratios)))
    scale = Scale(-reach, reach, 24, 696)
    parts = [_axis_below(scale, 62, "ours above or below the published number (%)", 8)]
    parts.append(
        Markup('<rect class="near-zone" x="{:.1f}" width="{:.1f}" y="8" height="54"/>').format(
            scale(-10), scale(10) - scale(-10)
        )
    )
    for (_, _, verdict, name), ratio in zip([p for p in points if p[0]], ratios, strict=True):
        at = max(-reach, min(reach, ratio))
        parts.append(
            Markup('<line class="tick {}" x1="{x:.1f}" x2="{x:.1f}" y1="16" y2="54">').format(
                verdict, x=scale(at)
            )
            + Markup("<title>{}: {}</title></line>").format(name, f"{ratio:+.1f} %")
        )
    return Markup(
        '<svg class="chart agreement" viewBox="0 0 720 100" role="img" aria-label="{}">{}</svg>'
    ).format(label, Markup("").join(parts))
