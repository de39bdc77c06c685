"""An experiment: a learner with its grid, a data set, a protocol and a network under a reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from omtl.experiment.readings import Reading
from omtl.experiment.schema import typed_mapping
from omtl.experiment.specs import (
    AlgorithmSpec,
    DataSetSpec,
    NetworkSpec,
    ProtocolSpec,
)
from omtl.experiment.unit import Unit
from omtl.util.errors import UserError

FRESH_DRAWS, ONE_DATA_SET = "fresh draws", "one data set"
"""What the repeats vary."""

CONDITIONAL = (
    "Intervals and tests are over shuffles of one data set, and conditional on it: another sample "
    "of the same kind may differ by more."
)


class Names(NamedTuple):
    """The names of the configs that an experiment is composed of."""

    algorithm: str
    dataset: str
    protocol: str
    network: str | None = None


@dataclass(frozen=True)
class Experiment:
    """An algorithm on a data set under a reading: the specifications of the groups.

    `plays` is the number of our repeats for each repeat of the paper. `drawn` says whether each
    repeat has its own draw of synthetic data and its own hyper-parameters; otherwise all shuffle
    the same data.
    """

    algorithm: AlgorithmSpec
    dataset: DataSetSpec
    protocol: ProtocolSpec
    network: NetworkSpec | None = None
    plays: int = 1
    drawn: bool = False

    @staticmethod
    def compose(
        names: Names, reading: Reading, patch: Mapping[str, Any] | None = None
    ) -> Experiment:
        """Load the configs by name, and apply a table's own values and a reading's answers.

        Synthetic data are drawn once, and as many repeats are played as in the paper.

        Raises
        ------
        UserError
            On an unknown name or answer.
        """
        algorithm = AlgorithmSpec.named(names.algorithm)
        network = None
        if algorithm.networked:
            if names.network is None:
                raise UserError(f"algorithm {names.algorithm} learns on a network; name one")
            network = NetworkSpec.named(names.network)
        experiment = Experiment(
            algorithm,
            DataSetSpec.named(names.dataset),
            ProtocolSpec.named(names.protocol),
            network,
        )
        return experiment.patched(patch or {}).patched(reading.patch)

    @staticmethod
    def read(content: Mapping[str, Any]) -> Experiment:
        """Return an experiment that was written as the mappings of its specifications."""
        return typed_mapping(Experiment, content, "experiment")

    def patched(self, patch: Mapping[str, Any]) -> Experiment:
        """Return the experiment with values set by ``group.name.path.to.value``."""
        return replace(
            self,
            algorithm=self.algorithm.patched(patch),
            dataset=self.dataset.patched(patch),
            protocol=self.protocol.patched(patch),
            network=self.network and self.network.patched(patch),
        )

    def with_plays(self, plays: int) -> Experiment:
        """Return the experiment with so many of our repeats for each of the paper's.

        Those on synthetic data have a draw of their own each. 0 is one draw, and as many repeats as
        the paper's.
        """
        drawn = plays > 0 and self.dataset.is_synthetic
        return replace(self, plays=max(1, plays), drawn=drawn)

    @property
    def repeats_are_of(self) -> str:
        """What the repeats differ in; an interval over shuffles is conditional on the data set."""
        fresh = self.dataset.is_synthetic and self._draws_each
        return FRESH_DRAWS if fresh else ONE_DATA_SET

    @property
    def _draws_each(self) -> bool:
        """Whether each repeat has a draw of its own, if anything is drawn."""
        return self.drawn or self.protocol.draw == "each_repeat"

    @cached_property
    def points(self) -> list[dict[str, Any]]:
        """The points of the algorithm's grid."""
        return self.algorithm.points

    def only(self, points: list[int]) -> Experiment:
        """Return the experiment with some points of its grid, by number."""
        mine = self.algorithm.only or range(len(self.points))
        only = tuple(mine[point] for point in points)
        return replace(self, algorithm=replace(self.algorithm, only=only))

    def unit(self, seed: int, repeat: int, draw: int = 0) -> Unit:
        """Return the unit of a repeat."""
        if draw == 0 and self._draws_each:
            draw = -1 - repeat  # separate draws, distinct from the one that repeats share
        place = seed, repeat, draw
        if place not in self._units:
            made_of = self.algorithm, self.dataset, self.protocol, self.network
            self._units[place] = Unit(*made_of, *place)
        return self._units[place]

    @cached_property
    def _units(self) -> dict[tuple[int, int, int], Unit]:
        return {}  # the same units are asked for again and again, and each knows its key

    def repeats(self, seed: int, n_repeats: int) -> list[Unit]:
        """Return our units for a number of repeats of the paper."""
        return [self.unit(seed, repeat) for repeat in range(n_repeats * self.plays)]

    def of_one_draw(self) -> Experiment:
        """Return the experiment as in the paper: its own number of repeats on one draw."""
        return self.with_plays(0)

    def shuffles(self, seed: int, n_repeats: int) -> list[Unit]:
        """Return the units for shuffles of one draw, whose spread corresponds to the paper's ±.

        There are none if the repeats are themselves shuffles of one draw.
        """
        return self.of_one_draw().repeats(seed, n_repeats) if self.drawn else []
