"""Weights known in hindsight only: the best fixed ones, and those that labelled the data."""

from __future__ import annotations

import inspect

import numpy as np

from omtl.experiment.loading import is_synthetic, load_prepared, module_of
from omtl.experiment.unit import Unit
from omtl.theory import comparators
from omtl.util.seeds import generator


def drawn_weights(unit: Unit) -> np.ndarray | None:
    """Return the weights that labelled a unit's synthetic data, or None if it has none to tell."""
    module = module_of(unit.dataset)
    if not is_synthetic(unit.dataset) or not hasattr(module, "true_weights"):
        return None
    taken = inspect.signature(module.true_weights).parameters
    options = {name: value for name, value in unit.dataset["options"].items() if name in taken}
    rng = generator(unit.seed, of="draw", dataset=unit.dataset["name"], draw=unit.draw)
    return module.true_weights(rng, **options)


_SOLVED: dict[tuple[str, float], comparators.Comparator] = {}


def comparator_of(unit: Unit, ridge: float) -> comparators.Comparator:
    """Return the best fixed weights in hindsight on a unit's data, found once a process."""
    source = load_prepared(unit.dataset, unit.seed, unit.draw)
    if (source.sha256, ridge) not in _SOLVED:
        _SOLVED[source.sha256, ridge] = comparators.best_fixed(source.tasks, ridge)
    return _SOLVED[source.sha256, ridge]
