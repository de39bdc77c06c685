"""A unit, the smallest piece of work: one learner with its whole grid on one repeat of a stream.

A unit is identified by everything that determines its result, so it can be computed anywhere, at
any time, in any order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
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
