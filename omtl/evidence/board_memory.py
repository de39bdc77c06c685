"""Memory of learners: the size of one point's state before the first round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from omtl.evidence.board import BoardPlan
from omtl.experiment.playing import new_learner, setting_of
from omtl.experiment.unit import Unit


def state_bytes(board: BoardPlan, found: pd.DataFrame) -> list[int | None]:
    """Return the size in bytes of the state of each cell that has numbers."""
    cells = zip(found["dataset"], found["algorithm"], found["values"], strict=True)
    return [
        _bytes_of_unit(board.units[str(dataset), str(name)][0]) if values else None
        for dataset, name, values in cells
    ]


def _bytes_of_unit(unit: Unit) -> int:
    """Return the size in bytes of the state of the first point of a unit's grid."""
    setting = setting_of(unit)
    shape = replace(setting, protocol={"stream": "rounds", **setting.protocol}).played()[2]
    learner = new_learner(unit.algorithm, unit.algorithm.points[0])
    make = getattr(learner, "in_common", None)
    return bytes_of(learner.new_state(shape, *(() if make is None else (make(shape),))))


def bytes_of(state: Any) -> int:
    """Return the size in bytes of all arrays of a state."""
    if isinstance(state, np.ndarray):
        return state.nbytes
    if isinstance(state, Mapping):
        return sum(map(bytes_of, state.values()))
    if isinstance(state, list | tuple):
        return sum(map(bytes_of, state))
    return sum(map(bytes_of, vars(state).values())) if hasattr(state, "__dict__") else 0
