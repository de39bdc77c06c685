"""The colour of each learner: the same in every figure and chart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

BLACK, GREY, ORANGE, SKY, PINK, GREEN, VERMILION, BLUE = range(8)
"""Numbers of the colours (`omtl.figures.drawing.STYLES`), the strongest last."""

LEARNERS = {
    BLACK: ("ITOL", "PM", "PT", "mtLMNN"),
    GREY: ("Majority", "OGRSL", "PA", "TOL"),
    ORANGE: ("NS", "Unif Sum"),
    SKY: ("AROW", "DA", "OMTL", "OMTRSL-Random", "Unif Sample"),
    PINK: ("AdaGrad", "DST", "Multi-P", "SHAMO"),
    GREEN: ("COML", "OSTRSL"),
    VERMILION: ("AKLO Sum", "DOM-I", "OMTRSL", "OSMTL-e", "ROM-PGD", "SMTL-e"),
    BLUE: ("AKLO Sample", "DOM-II", "OMTRSL-Active", "OSMTL-t", "ROM-RDA", "SMTL-t"),
}
"""The learners that have each colour. A label that starts with a learner's name, such as
"PA-global", has its colour."""

OWN = {learner: colour for colour, learners in LEARNERS.items() for learner in learners}

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
