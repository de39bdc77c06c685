"""Playing a unit: its learners, its setting, and its protocol."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_type_hints

from omtl.data.preparation import read_only
from omtl.experiment.loading import load_prepared
from omtl.experiment.specs import AlgorithmSpec
from omtl.experiment.unit import Result, Unit, import_fault
from omtl.sklearn.parameters import checked, declared_values
from omtl.util.code import imported
from omtl.util.errors import UserError
from omtl.util.host import host
from omtl.util.seeds import generator

if TYPE_CHECKING:
    from omtl.protocols.setting import Setting

# The compiler is imported when something is played: looking at stored units does without it.


def learner_class(path: str) -> type:
    """Return the learner of a dotted path.

    Raises
    ------
    UserError
        If there is none.
    """
    module, _, name = path.rpartition(".")
    return getattr(module_at(module, f"algorithm.learner: {path!r}", name), name)


def protocol_module(path: str) -> ModuleType:
    """Return the module of a protocol; raise UserError if it cannot be imported or played."""
    return module_at(path, f"protocol.module: {path!r}", "play_grid")


def module_at(path: str, what: str, *names: str) -> ModuleType:
    """Return a module; raise UserError if it cannot be imported, or lacks one of these names."""
    try:
        module = imported(path)
        for name in names:
            getattr(module, name)
        return module
    except UserError:
        raise
    except Exception as fault:  # any error that a user's file raises on import
        raise import_fault(what, fault) from fault


@lru_cache(maxsize=256)
def _types_of(learner: type) -> dict[str, Any]:
    """Return the types of a learner's hyper-parameters: a grid makes the same class at each point.

    Raises
    ------
    NameError
        If one is not known in its module.
    """
    return get_type_hints(learner)


def hyper_parameters(algorithm: AlgorithmSpec) -> list[str]:
    """Return the names that a learner accepts; none if it accepts any name."""
    learner = learner_class(algorithm.learner)
    if algorithm.is_foreign:
        return learner.names_in(algorithm.fixed)  # type: ignore[attr-defined]
    return list(_types_of(learner))


def new_learner(algorithm: AlgorithmSpec, point: Mapping[str, Any]) -> Any:
    """Return the learner with the hyper-parameters of a point of its grid.

    Raises
    ------
    UserError
        If the learner does not accept a name or a value.
    """
    learner = learner_class(algorithm.learner)
    if algorithm.is_foreign:
        try:
            return learner.made_of(point)  # type: ignore[attr-defined]
        except UserError as fault:
            raise UserError(f"algorithm {algorithm.name}: {fault}") from fault
    try:
        kinds = _types_of(learner)
    except NameError as fault:
        raise UserError(
            f"algorithm {algorithm.name}: a type in its class is not known ({fault}); import it"
        ) from fault
    wrong = [name for name in point if name not in kinds]
    if wrong:
        known = ", ".join(kinds) or "none: annotate them, and make the class a @dataclass"
        raise UserError(
            f"algorithm {algorithm.name}: {', '.join(wrong)} is not a hyper-parameter; "
            f"there are {known}"
        )
    allowed = declared_values(learner.__name__, learner.__doc__)
    try:
        values = {name: checked(name, value, kinds[name], allowed) for name, value in point.items()}
    except (TypeError, ValueError) as fault:
        raise UserError(f"algorithm {algorithm.name}: {fault}") from fault
    try:
        return learner(**values)
    except (TypeError, ValueError) as fault:
        raise UserError(f"algorithm {algorithm.name}: {point} does not fit: {fault}") from fault


def setting_of(unit: Unit) -> Setting:
    """Return the input of a unit's protocol: its data, network and random generators.

    Raises
    ------
    UserError
        If the data are unavailable, or an option is wrong.
    """
    from omtl.protocols.setting import Setting, Settings

    axes: dict[str, Any] = {
        "dataset": unit.dataset.name,
        "repeat": unit.repeat,
        "draw": unit.draw,
    }
    source = load_prepared(unit.dataset, unit.seed, unit.draw, is_reduced=not unit.foreign)
    return Setting(
        source=read_only(source) if unit.is_own else source,
        protocol=Settings(unit.protocol.as_mapping()),
        network=None if unit.network is None else unit.network.as_mapping(),
        rng=lambda of, **more: generator(unit.seed, of=of, **(axes | more)),
        repeat=unit.repeat,
    )


def lacking_methods(kind: type, protocol: ModuleType) -> list[str]:
    """Return what a protocol ``NEEDS`` and a learner's class lacks; of ``A or B`` one is enough."""
    needed = getattr(protocol, "NEEDS", ())
    return [each for each in needed if not any(hasattr(kind, one) for one in each.split(" or "))]


def compute(unit: Unit) -> Result:
    """Play the whole grid of a unit."""
    from omtl.kernel.not_compiled import REFUSALS, why
    from omtl.protocols.record_schema import check_arrays

    started = time.perf_counter()
    setting = setting_of(unit)
    points = unit.algorithm.points
    protocol = protocol_module(unit.protocol.module)
    kind = learner_class(unit.algorithm.learner)
    if lacking := lacking_methods(kind, protocol):
        raise UserError(
            f"algorithm {unit.algorithm.name} has no {' and no '.join(lacking)}, which protocol "
            f"{unit.protocol.name} needs; choose another protocol"
        )
    if getattr(setting.tasks, "real", False) != getattr(protocol, "REAL", False):
        real = getattr(setting.tasks, "real", False)
        raise UserError(
            f"dataset {unit.dataset.name} has {'real targets' if real else 'labels'}, and "
            f"protocol {unit.protocol.name} is for {'labels' if real else 'real targets'}; "
            f"choose {'protocol=regression' if real else 'another protocol'}"
        )
    learners = (new_learner(unit.algorithm, point) for point in points)
    try:
        arrays = protocol.play_grid(learners, setting)
    except REFUSALS as fault:
        if not issubclass(kind, tuple):
            raise UserError(
                f"algorithm {unit.algorithm.name} is a plain class, and protocol "
                f"{unit.protocol.name} plays compiled learners only; make it @compiled "
                "(omtl.kernel.compiled), or choose another protocol"
            ) from fault
        raise UserError(
            f"algorithm {unit.algorithm.name} cannot be compiled ({why(fault)}); fix "
            "that, or make its class a @dataclass to play it as plain Python"
        ) from fault
    try:
        check_arrays(arrays, unit.protocol.module, len(points), len(setting.tasks.names))
    except ValueError as fault:
        raise UserError(f"protocol {unit.protocol.name}: its result is wrong: {fault}") from fault
    facts = {
        "unit": unit.identity,
        "data_sha256": setting.source.sha256,
        "task_names": setting.tasks.names,
        "seconds": time.perf_counter() - started,
        "host": host(),
    }
    return Result(arrays, facts)
