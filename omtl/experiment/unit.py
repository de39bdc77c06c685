"""A unit, the smallest piece of work: one learner with its whole grid on one repeat of a stream.

A unit is identified by everything that determines its result, so it can be computed anywhere, at
any time, in any order.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any, get_type_hints

import numpy as np

from omtl.data.preparation import read_only
from omtl.experiment.config import FOREIGN, TARGET, grid_points
from omtl.experiment.host import host
from omtl.experiment.loading import files_of, load_prepared, module_of
from omtl.kernel.not_compiled import REFUSALS, why
from omtl.protocols.setting import Setting
from omtl.sklearn.parameters import ANY, TABLE
from omtl.util.code import code_version, package_versions
from omtl.util.errors import UserError
from omtl.util.raised import place_in_own
from omtl.util.seeds import generator
from omtl.util.user_folder import own_module

FORMAT = 2
"""Version of the format of a unit's result; part of its key."""

PARTS = ("learner", "data", "protocol", "harness", "packages")
"""The parts of the code in a unit's identity."""


@dataclass(frozen=True)
class Unit:
    """One learner, its grid, a data set under a reading, a network, and a repeat.

    Parameters
    ----------
    algorithm, dataset, protocol : dict
        Resolved configs of these groups.
    network : dict or None
        Resolved config of the network; None for a centralised learner.
    seed, repeat, draw : int
        The run's seed, the repeat's number, and the number of its draw of synthetic data.
    """

    algorithm: dict[str, Any]
    dataset: dict[str, Any]
    protocol: dict[str, Any]
    network: dict[str, Any] | None
    seed: int
    repeat: int
    draw: int = 0

    @property
    def name(self) -> str:
        """The unit's display name."""
        network = f" ({self.network['name']})" if self.network else ""
        return f"{self.algorithm['name']}{network} on {self.dataset['name']}, repeat {self.repeat}"

    @property
    def modules(self) -> dict[str, str]:
        """The modules that, with their imports, determine the result."""
        return {
            "learner": self.algorithm["learner"].rpartition(".")[0],
            "data": module_of(self.dataset).__name__,
            "protocol": self.protocol["module"],
            "harness": __name__,
        }

    @property
    def foreign(self) -> tuple[str, ...]:
        """The modules of other packages' classes named in the algorithm's values."""
        if self.algorithm["learner"] != FOREIGN:
            return ()
        values = [self.algorithm["fixed"], *self.algorithm["grid"].values()]
        return tuple(sorted({path.rpartition(".")[0] for path in _targets(values)}))

    @property
    def is_own(self) -> bool:
        """Whether the learner is in the user's own folder."""
        return any(map(own_module, (self.modules["learner"], *self.foreign)))

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that determines the result, without labels, which only people read."""
        made_of = ("learner", "fixed", "grid", "only")
        algorithm = {k: self.algorithm[k] for k in made_of if k in self.algorithm}
        dataset = {k: v for k, v in self.dataset.items() if k != "label"}
        network = self.network and {k: v for k, v in self.network.items() if k != "name"}
        modules = self.modules
        try:
            code = {part: code_version(module) for part, module in modules.items()}
            if self.foreign:
                versions = [code["learner"], *map(code_version, self.foreign)]
                code["learner"] = hashlib.sha256("".join(versions).encode()).hexdigest()
        except SyntaxError as fault:
            raise import_fault(
                f"algorithm.learner: {self.algorithm['learner']!r}", fault
            ) from fault
        return {
            "algorithm": algorithm,
            "order": list(self.algorithm["grid"]),  # the order numbers the points; keys are sorted
            "dataset": dataset,
            "protocol": self.protocol,
            "network": network,
            "seed": self.seed,
            "repeat": self.repeat,
            "draw": self.draw,
            "files": files_of(self.dataset),
            "code": code | {"packages": package_versions((*modules.values(), *self.foreign))},
            "format": FORMAT,
        }

    def is_same_here(self) -> bool:
        """Whether this process has the code and files with which the unit was named elsewhere."""
        here = replace(self).identity
        return all(here[part] == self.identity[part] for part in ("code", "files"))

    @cached_property
    def question(self) -> bytes:
        """Hash of the question, whatever the code that answers it."""
        return question_of(self.identity)

    @cached_property
    def code(self) -> bytes:
        """Hashes of the code's `PARTS`, eight bytes each."""
        return code_of_parts(self.identity)

    @cached_property
    def key(self) -> str:
        """Hash of the identity."""
        return key_of(self.identity, self.question)


def question_of(identity: dict[str, Any]) -> bytes:
    """Return a hash of an identity without its code."""
    asked = {name: value for name, value in identity.items() if name != "code"}
    text = json.dumps(asked, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).digest()[:16]


def code_of_parts(identity: dict[str, Any]) -> bytes:
    """Return hashes of the `PARTS` of an identity's code, eight bytes each."""
    return b"".join(bytes.fromhex(identity["code"][part][:16]) for part in PARTS)


def key_of(identity: dict[str, Any], question: bytes) -> str:
    """Return the hash of an identity, given its question's hash."""
    code = "".join(identity["code"][part] for part in PARTS)
    return hashlib.sha256(question + code.encode()).hexdigest()


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


def learner_class(path: str) -> type:
    """Return the learner of a dotted path.

    Raises
    ------
    UserError
        If there is none.
    """
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except UserError:
        raise
    except Exception as fault:  # any error that a learner's file raises on import
        raise import_fault(f"algorithm.learner: {path!r}", fault) from fault


@lru_cache(maxsize=256)
def _types_of(learner: type) -> dict[str, Any]:
    """Return the types of a learner's hyper-parameters: a grid makes the same class at each point.

    Raises
    ------
    NameError
        If one is not known in its module.
    """
    return get_type_hints(learner)


def hyper_parameters(algorithm: Mapping[str, Any]) -> list[str]:
    """Return the names that a learner accepts; none if it accepts any name."""
    learner = learner_class(algorithm["learner"])
    if algorithm["learner"] == FOREIGN:
        return learner.names_in(algorithm["fixed"])  # type: ignore[attr-defined]
    return list(_types_of(learner))


def new_learner(algorithm: dict[str, Any], point: dict[str, Any]) -> Any:
    """Return the learner with the hyper-parameters of a point of its grid.

    Raises
    ------
    UserError
        If the learner does not accept a name or a value.
    """
    learner = learner_class(algorithm["learner"])
    if algorithm["learner"] == FOREIGN:
        try:
            return learner.made_of(point)  # type: ignore[attr-defined]
        except UserError as fault:
            raise UserError(f"algorithm {algorithm['name']}: {fault}") from fault
    try:
        kinds = _types_of(learner)
    except NameError as fault:
        raise UserError(
            f"algorithm {algorithm['name']}: a type in its class is not known ({fault}); import it"
        ) from fault
    wrong = [name for name in point if name not in kinds]
    if wrong:
        raise UserError(
            f"algorithm {algorithm['name']}: {', '.join(wrong)} is no hyper-parameter; "
            f"there are {', '.join(kinds)}"
        )
    ours = learner.__module__.startswith("omtl.learners.")
    declared = TABLE[learner.__name__].values if ours and learner.__name__ in TABLE else {}
    for key, value in point.items():
        words, fits = declared.get(key, ANY)
        if isinstance(value, int | float) and not fits(value):
            raise UserError(f"algorithm {algorithm['name']}: {key}={value!r} must be {words}")
    try:
        return learner(**{name: kinds[name](value) for name, value in point.items()})
    except (TypeError, ValueError) as fault:
        raise UserError(f"algorithm {algorithm['name']}: {point} does not fit: {fault}") from fault


def setting_of(unit: Unit) -> Setting:
    """Return the input of a unit's protocol: its data, network and random generators.

    Raises
    ------
    UserError
        If the data are unavailable, or an option is wrong.
    """
    axes: dict[str, Any] = {
        "dataset": unit.dataset["name"],
        "repeat": unit.repeat,
        "draw": unit.draw,
    }
    source = load_prepared(unit.dataset, unit.seed, unit.draw, is_reduced=not unit.foreign)
    return Setting(
        source=read_only(source) if unit.is_own else source,
        protocol=unit.protocol,
        network=unit.network,
        rng=lambda of, **more: generator(unit.seed, of=of, **(axes | more)),
        repeat=unit.repeat,
    )


def compute(unit: Unit) -> Result:
    """Play the whole grid of a unit."""
    started = time.perf_counter()
    setting = setting_of(unit)
    points = grid_points(unit.algorithm)
    protocol = import_module(unit.protocol["module"])
    kind = learner_class(unit.algorithm["learner"])
    lacking = [method for method in getattr(protocol, "NEEDS", ()) if not hasattr(kind, method)]
    if lacking:
        raise UserError(
            f"algorithm {unit.algorithm['name']} has no {' and no '.join(lacking)}, which protocol "
            f"{unit.protocol['name']} needs; choose another protocol"
        )
    if getattr(setting.tasks, "real", False) != getattr(protocol, "REAL", False):
        real = getattr(setting.tasks, "real", False)
        raise UserError(
            f"dataset {unit.dataset['name']} has {'real targets' if real else 'labels'}, and "
            f"protocol {unit.protocol['name']} is for {'labels' if real else 'real targets'}; "
            "choose another protocol"
        )
    learners = (new_learner(unit.algorithm, point) for point in points)
    try:
        arrays = protocol.play_grid(learners, setting)
    except REFUSALS as fault:
        if not issubclass(kind, tuple):
            raise UserError(
                f"algorithm {unit.algorithm['name']} is a plain class, and protocol "
                f"{unit.protocol['name']} plays compiled learners only; make it @compiled "
                "(omtl.kernel.compiled), or choose another protocol"
            ) from fault
        raise UserError(
            f"algorithm {unit.algorithm['name']} cannot be compiled ({why(fault)}); mend "
            "that, or make its class a @dataclass to play it as plain Python"
        ) from fault
    facts = {
        "unit": unit.identity,
        "data_sha256": setting.source.sha256,
        "task_names": setting.tasks.names,
        "seconds": time.perf_counter() - started,
        "host": host(),
    }
    return Result(arrays, facts)
