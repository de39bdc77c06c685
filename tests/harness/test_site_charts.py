"""The site's charts and texts: scales, dots, published points, indices, escaping."""

from __future__ import annotations

import re

import numpy as np
import pytest

from omtl.site import charts, text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("w_i^j + η", "w<sub>i</sub><sup>j</sup> + η"),
        ("(B⁻¹)_{j,k}", "(B⁻¹)<sub>j,k</sub>"),
        ("O(n_tasks · nonzeros)", "O(n_tasks · nonzeros)"),
        ("own_clip, alpha_last", "own_clip, alpha_last"),
        (
            "2^(m+1) < Σ_{j ≤ 2^m} α_j",
            "2<sup>(m+1)</sup> &lt; Σ<sub>j ≤ 2<sup>m</sup></sub> α<sub>j</sub>",
        ),
    ],
)
def test_indices_and_powers_are_set(written: str, shown: str) -> None:
    assert text.symbols(written) == shown


def test_text_of_files_is_escaped() -> None:
    assert "<script>" not in text.markdown("<script>alert(1)</script> **x**")
    assert text.code("a < b, `x<y`") == "a &lt; b, <code>x&lt;y</code>"
    assert text.inline("[here](../README.md)") == "here"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 2, 4, 8, 16, 32, 64, 128], "log1p"),
        ([1e-3, 1e-2, 0.1, 1, 10, 100], "log"),
        (list(range(31, 3090, 31)), "linear"),
        ([20, 40, 80, 160], "linear"),
        ([0, 0.2, 0.4, 0.6, 0.8, 1], "linear"),
    ],
)
def test_axes_have_the_scale_of_their_numbers(values: list[float], kind: str) -> None:
    assert charts.scale_of(np.array(values, dtype=float)) == kind


def test_dots_of_repeats_do_not_cover_each_other() -> None:
    places = [10.0, 10.5, 11.0, 30.0]
    heights = charts._stacked(places)
    assert heights[3] == 0
    assert len(set(heights[:3])) == 3


def test_the_scale_puts_its_ends_at_its_ends() -> None:
    scale = charts.Scale(1.0, 1000.0, 10.0, 40.0, "log")
    assert scale(1.0) == pytest.approx(10.0)
    assert scale(10.0) == pytest.approx(20.0)
    assert scale(1000.0) == pytest.approx(40.0)
    assert scale.ticks(6) == [1.0, 10.0, 100.0, 1000.0]


def test_published_points_are_drawn_where_they_belong() -> None:
    """At their own x; the end of a curve, which has none, at the right edge."""
    x, y = np.arange(1.0, 5.0), np.array([5.0, 6.0, 7.0, 8.0])
    ours = charts.Curve("PA", x, y)
    end = charts.Curve("PA", np.array([np.nan]), y[-1:], kind="published")
    both = charts.lines([ours, charts.Curve("PA", x, y, kind="published")], "", "", "")
    circles = re.findall(r'circle cx="([\d.]+)" cy="([\d.]+)"', both)
    assert re.findall(r'"M([\d.]+) ([\d.]+)l9', both) == circles
    assert len(circles) == 4
    assert (
        re.findall(r'"M([\d.]+) ([\d.]+)l9', charts.lines([ours, end], "", "", "")) == circles[3:]
    )
