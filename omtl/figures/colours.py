"""The colour of each learner: the same in every figure and chart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

BLACK, GREY, ORANGE, SKY, PINK, GREEN, VERMILION, BLUE = range(8)
"""Numbers of the colours (`omtl.figures.drawing.STYLES`), the strongest last."""

OWN = {
    "AKLO Sample": BLUE,
    "AKLO Sum": VERMILION,
    "AROW": SKY,
    "AdaGrad": PINK,
    "COML": GREEN,
    "DA": SKY,
    "DOM-I": VERMILION,
    "DOM-II": BLUE,
    "DST": PINK,
    "ITOL": BLACK,
    "Majority": GREY,
    "Multi-P": PINK,
    "NS": ORANGE,
    "OGRSL": GREY,
    "OMTL": SKY,
    "OMTRSL": VERMILION,
    "OMTRSL-Active": BLUE,
    "OMTRSL-Random": SKY,
    "OSMTL-e": VERMILION,
    "OSMTL-t": BLUE,
    "OSTRSL": GREEN,
    "PA": GREY,
    "PM": BLACK,
    "PT": BLACK,
    "ROM-PGD": VERMILION,
    "ROM-RDA": BLUE,
    "SHAMO": PINK,
    "SMTL-e": VERMILION,
    "SMTL-t": BLUE,
    "TOL": GREY,
    "Unif Sample": SKY,
    "Unif Sum": ORANGE,
    "mtLMNN": BLACK,
}
"""Colours of learners. A label that starts with a learner's name, such as "PA-global", has its
colour."""

FIRST_FREE = (ORANGE, SKY, PINK, GREEN, BLACK, GREY, BLUE, VERMILION)
"""The order in which other lines take colours that no learner of their figure has."""


def own_colour(label: str) -> int | None:
    """Return the colour of the learner that a label names, or None."""
    learner = label.removeprefix("mistakes of ")
    for name in sorted(OWN, key=len, reverse=True):
        if learner.startswith(name) and not learner.removeprefix(name)[:1].isalnum():
            return OWN[name]
    return None


def colours_of(labels: Sequence[str]) -> dict[str, int]:
    """Return the colour of each line of a figure, by its label.

    Learners have their own colours, unless another line of the figure already has the same one;
    such a line, and lines without a learner, take a free colour. A number of 8 or more repeats a
    colour with a different dash.
    """
    found: dict[str, int] = {}
    for label in dict.fromkeys(labels):
        colour = own_colour(label)
        if colour is not None and colour not in found.values():
            found[label] = colour
    for label in dict.fromkeys(labels):
        if label not in found:
            free = (turn * len(FIRST_FREE) + c for turn in count() for c in FIRST_FREE)
            found[label] = next(colour for colour in free if colour not in found.values())
    return {label: found[label] for label in dict.fromkeys(labels)}
