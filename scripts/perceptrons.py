"""The units that the measurements of engines hand out: perceptrons on a random walk."""

from __future__ import annotations

from omtl.experiment.readings import NO_READING
from omtl.experiment.unit import Experiment, Names, Unit


def perceptrons(count: int, **options: int) -> list[Unit]:
    """Return units that differ in their repeat; options are of the data set."""
    experiment = Experiment.compose(Names("pm", "random_walk", "rounds"), NO_READING)
    patch = {f"dataset.*.options.{name}": value for name, value in options.items()}
    return experiment.patched(patch).repeats(0, count)
