"""Experiments, and their units: one learner with its whole grid on one repeat of a stream.

A unit, the smallest piece of work, is identified by everything that determines its result, so it
can be computed anywhere, at any time, in any order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from data_fetchers import data_set
from omtl.experiment.specs import (
    FOREIGN,
    TARGET,
    AlgorithmSpec,
    DataSetSpec,
    NetworkSpec,
    ProtocolSpec,
)
from omtl.util.code import code_version, package_versions
from omtl.util.errors import UserError
from omtl.util.providers import added_module
from omtl.util.user_errors import place_in_own

FORMAT = 2
"""Version of the format of a unit's result; part of its key."""

HARNESS = "omtl.experiment.playing"
"""The module that plays units, whose code and imports determine results too."""


@dataclass(frozen=True)
class Unit:
    """One learner, its grid, a data set under a reading, a network, and a repeat.

    Parameters
    ----------
    algorithm, dataset, protocol : Spec
    network : NetworkSpec or None
        None for a centralised learner.
    seed, repeat, draw : int
        The run's seed, the repeat's number, and the number of its draw of synthetic data.
    """

    algorithm: AlgorithmSpec
    dataset: DataSetSpec
    protocol: ProtocolSpec
    network: NetworkSpec | None
    seed: int
    repeat: int
    draw: int = 0

    @property
    def name(self) -> str:
        """The unit's display name."""
        network = f" ({self.network.name})" if self.network else ""
        return f"{self.algorithm.name}{network} on {self.dataset.name}, repeat {self.repeat}"

    @property
    def foreign(self) -> tuple[str, ...]:
        """The modules of other packages' classes named in the algorithm's values."""
        return _foreign(self.algorithm.learner, self.algorithm.fixed, self.algorithm.grid)

    @property
    def is_own(self) -> bool:
        """Whether the learner is in the user's own folder or in an extension."""
        return any(map(added_module, (self.algorithm.learner.rpartition(".")[0], *self.foreign)))

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that determines the result, without labels, which only people read."""
        algorithm, dataset, network = self.algorithm, self.dataset, self.network
        only = {} if algorithm.only is None else {"only": algorithm.only}
        asked = {
            "algorithm": {
                **{"learner": algorithm.learner, "fixed": algorithm.fixed, "grid": algorithm.grid},
                **only,
            },
            "order": list(algorithm.grid),  # the order numbers the points; keys are sorted
            "dataset": _without("label", dataset.as_mapping()),
            "protocol": self.protocol.as_mapping(),
            "network": network and _without("name", network.as_mapping()),
            "seed": self.seed,
            "repeat": self.repeat,
            "draw": self.draw,
            "files": dataset.files,
            "format": FORMAT,
        }
        return {**asked, "code": code_here(asked)}

    def is_same_here(self) -> bool:
        """Whether this process has the code and files with which the unit was named elsewhere."""
        here = replace(self).identity
        return all(here[part] == self.identity[part] for part in ("code", "files"))

    @cached_property
    def key(self) -> str:
        """Hash of the identity."""
        return key_of(self.identity)


def _without(name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != name}


def modules_in(identity: Mapping[str, Any]) -> dict[str, str]:
    """Return the modules that, with their imports, determine the result, by part of the code."""
    dataset = identity["dataset"]
    return {
        "learner": identity["algorithm"]["learner"].rpartition(".")[0],
        "data": data_set(dataset.get("module", dataset["name"])).__name__,
        "protocol": identity["protocol"]["module"],
        "harness": HARNESS,
    }


def code_here(identity: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions of the code that an identity needs, as this process has it, by part.

    Raises
    ------
    UserError
        If a module is gone or cannot be read.
    """
    algorithm = identity["algorithm"]
    foreign = _foreign(algorithm["learner"], algorithm["fixed"], algorithm["grid"])
    modules = modules_in(identity)
    try:
        code = {part: code_version(module) for part, module in modules.items()}
        if foreign:
            versions = [code["learner"], *map(code_version, foreign)]
            code["learner"] = hashlib.sha256("".join(versions).encode()).hexdigest()
    except SyntaxError as fault:
        raise import_fault(f"algorithm.learner: {algorithm['learner']!r}", fault) from fault
    return code | {"packages": package_versions((*modules.values(), *foreign))}


def _foreign(learner: str, fixed: Mapping[str, Any], grid: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modules of other packages' classes in a learner's values."""
    if learner != FOREIGN:
        return ()
    paths = _targets([fixed, *grid.values()])
    return tuple(sorted({path.rpartition(".")[0] for path in paths}))


def key_of(identity: Mapping[str, Any]) -> str:
    """Return the hash of an identity."""
    text = json.dumps(identity, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Result:
    """The result of a unit: its protocol's arrays by name, and facts about the run.

    All protocols have ``diverged`` (P,): for each point of the grid, the number of scores that were
    not finite.
    """

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]


def import_fault(what: str, fault: Exception) -> UserError:
    """Return why an import failed, in one line."""
    kind = "" if isinstance(fault, ImportError | AttributeError) else f"{type(fault).__name__}: "
    place = place_in_own(fault)
    at = f" ({place})" if place else ""
    return UserError(f"{what} cannot be imported: {kind}{' '.join(str(fault).split())}{at}")


def _targets(value: Any) -> Iterator[str]:
    """Yield the paths of all classes named in a config's values."""
    if isinstance(value, dict):
        yield from filter(None, [value.get(TARGET)])
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from _targets(one)


FRESH_DRAWS, ONE_DATA_SET = "fresh draws", "one data set"
"""What the repeats vary."""

CONDITIONAL = (
    "Intervals and tests are over shuffles of one data set, and conditional on it: another sample "
    "of the same kind may differ by more."
)


@dataclass(frozen=True)
class Experiment:
    """An algorithm on a data set under a reading: the specifications of the groups.

    `plays` is the number of our repeats for each repeat of the paper. `drawn` says whether each
    repeat has its own draw of synthetic data and its own hyper-parameters; otherwise all shuffle
    the same data. `some` are the numbers of the only repeats that are played; None for all.
    """

    algorithm: AlgorithmSpec
    dataset: DataSetSpec
    protocol: ProtocolSpec
    network: NetworkSpec | None = None
    plays: int = 1
    drawn: bool = False
    some: tuple[int, ...] | None = None

    @staticmethod
    def compose(
        algorithm: str,
        dataset: str,
        protocol: str,
        network: str | None = None,
        *patches: Mapping[str, Any],
    ) -> Experiment:
        """Load the configs by name, and set values: a table's own, then those of a reading.

        Synthetic data are drawn once, and as many repeats are played as in the paper. A learner
        that is on no network has none, whatever is named.

        Raises
        ------
        UserError
            On an unknown name or answer.
        """
        learner = AlgorithmSpec.named(algorithm)
        if learner.networked and not network:
            raise UserError(f"algorithm {algorithm} learns on a network; name one")
        experiment = Experiment(
            learner,
            DataSetSpec.named(dataset),
            ProtocolSpec.named(protocol),
            NetworkSpec.named(network) if learner.networked and network else None,
        )
        return reduce(Experiment.patched, patches, experiment)

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

    def unit(self, seed: int, repeat: int) -> Unit:
        """Return the unit of a repeat; separate draws are distinct from the one that is shared."""
        place = seed, repeat, -1 - repeat if self._draws_each else 0
        if place not in self._units:
            made_of = self.algorithm, self.dataset, self.protocol, self.network
            self._units[place] = Unit(*made_of, *place)
        return self._units[place]

    @cached_property
    def _units(self) -> dict[tuple[int, int, int], Unit]:
        return {}  # the same units are asked for again and again, and each knows its key

    def repeats(self, seed: int, n_repeats: int) -> list[Unit]:
        """Return our units for a number of repeats of the paper, or for `some` of ours."""
        ours = range(n_repeats * self.plays) if self.some is None else self.some
        return [self.unit(seed, repeat) for repeat in ours]

    def in_repeats(self, some: Sequence[int]) -> Experiment:
        """Return the experiment in some of our repeats only, by number."""
        return replace(self, some=tuple(some))

    def of_one_draw(self) -> Experiment:
        """Return the experiment as in the paper: its own number of repeats on one draw."""
        return self.with_plays(0)

    def shuffles(self, seed: int, n_repeats: int) -> list[Unit]:
        """Return the units for shuffles of one draw, whose spread corresponds to the paper's ±.

        There are none if the repeats are themselves shuffles of one draw, or only some are played.
        """
        is_asked = self.drawn and self.some is None
        return self.of_one_draw().repeats(seed, n_repeats) if is_asked else []
