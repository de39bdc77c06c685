"""Experiments that take milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omtl.experiment.config import load_option, named_reading
from omtl.experiment.experiment import Experiment, Names

SERIAL = {"backend": "sequential", "jobs": 1}
"""One play after another, in this process."""

SMALL_WALK = {"n_tasks": 4, "n_examples": 30, "n_features": 12}


def small(algorithm: str, network: str | None = "ring", **answers: str) -> Experiment:
    """Return an algorithm on a small random walk."""
    reading: dict[str, Any] = (
        {"name": "test", "paper": "dom", "answers": answers}
        if answers
        else named_reading("dom", "as_written")
    )
    networked = load_option("algorithm", algorithm)["networked"]
    names = Names(algorithm, "random_walk", "rounds", network if networked else None)
    experiment = Experiment.compose(names, reading)
    experiment.dataset["options"].update(SMALL_WALK)
    return experiment


def changed(change: Callable[[Experiment], object]) -> type[Experiment]:
    """Return a class of experiments whose `compose` changes what it composes."""

    class Changed(Experiment):
        @staticmethod
        def compose(*given: Any, **named: Any) -> Experiment:
            experiment = Experiment.compose(*given, **named)
            change(experiment)
            return experiment

    return Changed
