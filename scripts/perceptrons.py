"""The units that the measurements of engines hand out: perceptrons on a random walk."""

from __future__ import annotations

from omtl.experiment.experiment import Experiment, Names
from omtl.experiment.unit import Unit


def perceptrons(count: int, **options: int) -> list[Unit]:
    """Return units that differ in their repeat; options are of the data set."""
    reading = {"name": "as_written", "answers": {}}
    experiment = Experiment.compose(Names("pm", "random_walk", "rounds"), reading)
    experiment.dataset["options"] |= options
    return experiment.repeats(0, count)
