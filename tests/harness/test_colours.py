"""A learner's colour is its own: the same wherever its line stands, and no other line's."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from omtl.experiment.readings import Reading
from omtl.figures.colours import OWN, colours_of, own_colour
from omtl.figures.drawing import STYLES, styles_of
from omtl.figures.numbers import ShownPanel
from omtl.figures.panels.axes import Axes, line_of
from omtl.figures.plan import plan_figure
from omtl.tables.plan import descriptions


@pytest.mark.parametrize("figure", descriptions("figure"))
def test_the_lines_of_a_figure_differ(figure: str) -> None:
    """In colour while there are colours."""
    planned = plan_figure(figure, Reading.of(figure.partition("-")[0], "as_written"))
    labels = [line.label for panel in planned.panels for line in panel.lines]
    found = colours_of(labels)
    assert len(set(found.values())) == len(found)


def test_a_learner_has_its_colour_in_every_order() -> None:
    labels = ["PM", "COML", "DOM-I", "DOM-II", "DA"]
    expected = {label: OWN[label] for label in labels}
    for turn in range(len(labels)):
        assert colours_of(labels[turn:] + labels[:turn]) == expected


def test_labels_that_go_on_after_a_name_are_of_that_learner() -> None:
    assert own_colour("PA-global") == OWN["PA"]
    assert own_colour("NS (Ring)") == OWN["NS"]
    assert own_colour("DOM-II") == OWN["DOM-II"] != OWN["DOM-I"]
    assert own_colour("PAUL") is None


def test_styles_differ_even_where_colours_are_used_again() -> None:
    """By their dash."""
    labels = [f"b = {2**k}" for k in range(12)]
    lines = tuple(line_of(label, [1.0], np.ones((2, 1))) for label in labels)
    styles = styles_of([ShownPanel("a", "", (Axes("", "", lines),))])
    looks = [(style["color"], style["linestyle"]) for style in styles.values()]
    assert len(set(looks)) == len(looks) > len(STYLES)
    assert all(one != two for one, two in pairwise(looks))
