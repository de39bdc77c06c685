"""Parts shared by the panels of theorems: measurements in each repeat, and their bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from omtl.experiment.unit import Result, Unit
from omtl.figures.panels.axes import Line, Played, line_of

Curves = dict[str, np.ndarray]
"""Curves by label, what was measured among them; over the repeats, shape (n_repeats, n)."""


def curves_of(one: Played, curves: Callable[[Unit, Result, int], Mapping[str, Any]]) -> Curves:
    """Return the curves of all repeats, each at the point that was chosen for it.

    Parameters
    ----------
    one : Played
    curves : callable
        ``curves(unit, result, point)`` gives a repeat's curves by label, all of one length.
    """
    repeats = [
        curves(unit, result, p) for unit, (result, p) in zip(one.units, one.at_chosen, strict=True)
    ]
    return {label: np.array([repeat[label] for repeat in repeats]) for label in repeats[0]}


def lines_of(
    one: Played, x: np.ndarray, found: Mapping[str, np.ndarray], measured: str
) -> tuple[Line, ...]:
    """Return a line for each label; all but `measured` are theory."""
    params = (one.most_chosen,)
    return tuple(
        line_of(label, x, curves, params=params, is_theory=label != measured)
        for label, curves in found.items()
    )


def times_above(what: str, found: Mapping[str, np.ndarray], measured: str) -> tuple[str, ...]:
    """Return in how many repeats what was measured is anywhere above which bound, as text."""
    above = {
        label: int(np.any(found[measured] > curves, axis=1).sum())
        for label, curves in found.items()
    }
    n_repeats = len(found[measured])
    return tuple(
        f"the {what} above “{label}” in {count} of {n_repeats} repeats"
        for label, count in above.items()
        if count
    )
