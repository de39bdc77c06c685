"""Experiments that take milliseconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.store import Store, StoredRow
from omtl.data.preparation import prepared_data
from omtl.data.streams import Classes, Tasks
from omtl.experiment.config import load_option
from omtl.experiment.readings import Reading
from omtl.experiment.specs import SERIAL as SERIAL
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Experiment
from omtl.protocols.setting import Setting
from omtl.util.seeds import generator

SMALL_WALK = {"n_tasks": 4, "n_examples": 30, "n_features": 12}

SMALL_RUN = ("dataset.options.n_examples=20", "repeats=2", "parallel=serial")
"""What makes a run or a comparison small."""


AS_WRITTEN = Reading(name="as_written", paper=None)
"""The reading with literal answers, of any paper."""


def stored_row(store: Store, key: bytes) -> StoredRow:
    """Return the row of a key."""
    return next(row for row in store.rows() if row.key == key)


def a_rule(kind: str = "oracle", **more: Any) -> SelectionSpec:
    """Return a selection rule."""
    return SelectionSpec.read({"name": kind, "rule": kind, **more})


def with_options(experiment: Experiment, **options: Any) -> Experiment:
    """Return an experiment whose data set has other options."""
    return experiment.patched({f"dataset.*.options.{name}": options[name] for name in options})


def with_grid(experiment: Experiment, **grid: list[Any]) -> Experiment:
    """Return an experiment with another grid."""
    return experiment.patched({"algorithm.*.grid": grid})


def small(algorithm: str, network: str | None = "ring", **answers: str) -> Experiment:
    """Return an algorithm on a small random walk."""
    reading = Reading(name="test", paper="dom", answers=answers)
    names = algorithm, "random_walk", "rounds", network
    return with_options(Experiment.compose(*names, reading.patch), **SMALL_WALK)


def clinics() -> pd.DataFrame:
    """Return patients of two clinics; one feature tells who is ill."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 2)), columns=["age", "dose"])
    return frame.assign(ill=frame["age"] > 0, clinic=np.repeat(["A", "B"], 60))


def a_setting(
    data: Tasks | Classes, protocol: str, seed: int = 0, repeat: int = 0, **changed: Any
) -> Setting:
    """Return a repeat on these data, by a protocol with some values changed."""
    config = {**load_option("protocol", protocol), **changed}
    own = {"repeat": repeat} if repeat else {}

    def rng(of: str, **axes: Any) -> Any:
        return generator(seed, of=of, **(own | axes))

    return Setting(prepared_data(data), config, None, rng, repeat)
