"""The error rate against one hyper-parameter, the others chosen for each of its values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from data_fetchers.fetch import DataMissing
from omtl.experiment.unit import Unit
from omtl.figures.panels.axes import (
    Axes,
    PlannedPanel,
    Played,
    Reference,
    label_of,
    line_of,
    number,
    points_with,
    rounded,
)
from omtl.figures.panels.hindsight import comparator_of, drawn_weights
from omtl.measures.metrics import METRICS
from omtl.theory import comparators, dom


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the panel's metric against one hyper-parameter, axes for each method.

    By default it is the error rate. For each value the rule chooses among the points that have it.
    """
    metric = METRICS[panel.description.metric or "error"]
    parts = []
    for one in played:
        asked = one.line.description
        name = asked.parameter
        at = one.line.experiment.algorithm["grid"][name]
        having = [one.among(points_with(one, name, value)) for value in at]
        errors = [each.over_repeats(partial(number, metric)) for each in having]
        params = tuple(each.most_chosen for each in having)
        references = [Reference(float(x), text) for x, text in asked.marks.items()]
        notes: tuple[str, ...] = ()
        if asked.theory == "b_star":
            try:
                found, notes = optimal_b(one.units[0])
                references += found
            except DataMissing as fault:
                notes = (f"no b*: {fault}",)
        parts.append(
            Axes(
                f"{asked.symbol or name} ({one.line.label})",
                label_of(metric),
                (line_of(one.line.label, at, np.transpose(errors), params=params),),
                x_scale=asked.scale or "linear",
                ticks=tuple(float(value) for value in at),
                references=tuple(references),
                notes=notes,
            )
        )
    return parts


def optimal_b(unit: Unit) -> tuple[list[Reference], tuple[str, ...]]:
    """Return remark 2's b* of a unit's data, and what is to be said of it."""
    weights = {"best in hindsight": comparator_of(unit, comparators.VANISHING).weights}
    drawn = drawn_weights(unit)
    if drawn is not None:
        weights["true weights"] = drawn
    references = [
        Reference(float(rounded(dom.b_star(U))[0]), f"b* = {dom.b_star(U):.3g}, {name}")
        for name, U in weights.items()
        if math.isfinite(dom.b_star(U))
    ]
    notes = tuple(
        f"{name}: b* = {dom.b_star(U):.4g} as printed in remark 2; L‖u‖_B is least at "
        f"b = {dom.b_minimiser(U):.4g}"
        for name, U in weights.items()
    )
    return references, notes
