"""The kinds of panels of a figure, one module each; they compute its numbers and run no learner.

A kind has ``axes_of(panel, played, rule)``, which takes a panel's plan with what the store holds
for its lines and returns `Axes`: lines, vertical references and published marks, rounded as they
are written. How they look is not decided here (`omtl.figures.drawing`).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from omtl.experiment.config import choose

SHARED = ("axes", "beside_bounds", "hindsight")
"""Modules that are no kind of panel."""


def kind_of(name: str) -> Callable:
    """Return ``axes_of`` of a kind of panel; raise a UserError if there is none of that name."""
    known = [module.name for module in iter_modules(__path__) if module.name not in SHARED]
    return import_module(f"{__name__}.{choose('kind of panel', name, known)}").axes_of
