"""Playing a unit: its data set, loaded once, its learner, its setting, and its protocol."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache
from inspect import signature
from threading import Lock
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_type_hints

import data_fetchers
from omtl.data.preparation import PreparedData, prepare, prepared_data, read_only
from omtl.data.rows import square_norms
from omtl.data.scaling import SCALES
from omtl.data.streams import Classes, Tasks
from omtl.experiment.schema import typed
from omtl.experiment.specs import AlgorithmSpec, DataSetSpec
from omtl.experiment.unit import Result, Unit, import_fault
from omtl.sklearn.parameters import ANY, declared_values
from omtl.util.code import code_version, imported
from omtl.util.errors import UserError, choose
from omtl.util.host import host
from omtl.util.seeds import generator

if TYPE_CHECKING:
    from omtl.protocols.setting import Setting

# The compiler is imported when something is played: looking at stored units does without it.

SIZES = ("n_tasks", "n_examples", "n_features")
"""Options that must be at least 1."""


def check_options(takes: Callable[..., Any], options: Mapping[str, Any], name: str) -> None:
    """Check that a data set takes these options, and that their values have the right types.

    `takes` has the options as parameters (`data_fetchers.options_of`). Each data set checks the
    items of lists.

    Raises
    ------
    UserError
        If a check fails.
    """
    kinds, where = get_type_hints(takes), f"dataset {name}"
    taken = sorted(set(signature(takes).parameters) - {data_fetchers.GIVEN})
    for option, value in options.items():
        kind = kinds.get(choose(f"option of {where}", option, taken), Any)  # where it is annotated
        typed(kind, value, where, f"options.{option}")
        least = 1 if option in SIZES else 0
        if type(value) in (int, float) and not least <= value < math.inf:
            fault = f"at least {least}" if value < least else "finite"
            raise UserError(f"{where}: options.{option}={value!r} must be {fault}")


_LOADED: dict[str, Future[PreparedData]] = {}
"""Data sets that are in memory, or being loaded, the most recently used last."""

_LOADED_LOCK = Lock()

ROOM = 2**28
"""Size of the cache of data sets, in bytes: more than any of the papers' tables needs."""


def load_prepared(
    dataset: DataSetSpec, seed: int, draw: int, is_reduced: bool = True
) -> PreparedData:
    """Return a data set prepared for learners; recently used ones stay in memory.

    If it is not reduced, it has all features, including those of a single example. An error is kept
    too, so that it occurs once and not in each unit (`forget_faults`). While one thread loads it,
    others that want it wait.

    Raises
    ------
    UserError
        If its files are unavailable, or an option is wrong.
    """
    drawn = [seed, draw] if dataset.is_synthetic else []
    code = code_version(dataset.fetcher.__name__)
    asked = [dataset.as_mapping(), dataset.files, code, *drawn, is_reduced]
    name = json.dumps(asked, sort_keys=True)
    with _LOADED_LOCK:
        known = _LOADED.pop(name, None)
        loaded = known or Future[PreparedData]()
        _LOADED[name] = loaded
    if known is None:
        try:
            loaded.set_result(_prepared(dataset, seed, draw, is_reduced))
        except BaseException as fault:
            if not isinstance(fault, UserError):  # such as Ctrl-C
                with _LOADED_LOCK:
                    _LOADED.pop(name, None)
            loaded.set_exception(fault)
        _make_room()
    return loaded.result()


def _make_room() -> None:
    """Forget those data sets that were not used for longest, if they are too large together."""
    with _LOADED_LOCK:
        ends = {name: one for name, one in _LOADED.items() if one.done()}
        sizes = {name: 0 if one.exception() else one.result().nbytes for name, one in ends.items()}
        for name in [*sizes][:-1]:
            if sum(sizes.values()) > ROOM:
                del _LOADED[name], sizes[name]


def forget_faults() -> None:
    """Let data sets that could not be loaded be tried again: the user may have helped."""
    with _LOADED_LOCK:
        for name, one in [*_LOADED.items()]:
            if one.done() and one.exception():
                del _LOADED[name]


def _prepared(dataset: DataSetSpec, seed: int, draw: int, is_reduced: bool) -> PreparedData:
    try:
        tasks = load_tasks(dataset, seed, draw)
        if is_reduced:
            source = prepared_data(tasks)
        else:
            source = PreparedData(tasks, square_norms(tasks.X), tasks.sha256)
    except MemoryError as fault:
        raise UserError(
            f"dataset {dataset.name}: it does not fit into the memory, where experiments hold all "
            "examples; take fewer, or learn from one batch after the other with an estimator "
            "(docs/library.md)"
        ) from fault
    if dataset.normalise in SCALES:
        source = replace(source, scale=dataset.normalise, constant=dataset.bias)
    return source


def data_notes(dataset: DataSetSpec, algorithms: Iterable[AlgorithmSpec]) -> Iterator[str]:
    """Yield what a user should know of their own table, which is loaded, and learners on it."""
    if not hasattr(dataset.fetcher, "hashes"):
        return
    try:
        source = load_prepared(dataset, seed=0, draw=0)
    except UserError:  # whoever needs the data reports it
        return
    yield from getattr(source.tasks, "notes", ())
    if dataset.normalise in SCALES:
        return
    yield from getattr(source.tasks, "uneven", ())
    longest = math.sqrt(source.square_norm.max())
    bounded = [one for one in algorithms if one.fixed.get("lipschitz", math.inf) < longest]
    if bounded and longest > 1.0 + 1e-9:
        yield (
            f"{', '.join(one.label for one in bounded)}: rows of {dataset.label} are up to "
            f"{longest:.4g} long, longer than lipschitz allows, and bets may grow without bounds; "
            f"set algorithm.lipschitz={math.ceil(longest)}, or normalise rows"
        )


def load_tasks(dataset: DataSetSpec, seed: int, draw: int = 0) -> Tasks:
    """Load a data set, and prepare its rows.

    Raises
    ------
    UserError
        If its files are unavailable, or an option is wrong.
    """
    options, module = dict(dataset.options), dataset.fetcher
    check_options(data_fetchers.options_of(module), options, dataset.name)
    drawn: dict[str, Any] = {}
    if dataset.is_synthetic:
        drawn["rng"] = generator(seed, of="draw", dataset=dataset.name, draw=draw)
    try:
        tasks = data_fetchers.load(dataset.loaded_by, **options, **drawn)
    except (TypeError, ValueError) as fault:
        raise UserError(
            f"dataset {dataset.name}: options {options} do not fit ({fault})"
        ) from fault
    if not isinstance(tasks, Tasks | Classes):
        raise UserError(
            f"dataset {dataset.name}: load of {module.__name__} returns {type(tasks).__name__!r}, "
            "where omtl.data.streams.Tasks are due"
        )
    try:
        return prepare(tasks, dataset.normalise, dataset.bias)
    except UserError as fault:
        raise UserError(f"dataset {dataset.name}: {fault}") from fault


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
    values = declared_values(learner.__name__, learner.__doc__)
    for key, value in point.items():
        words, fits = values.get(key, ANY)
        if isinstance(value, int | float) and not fits(value):
            raise UserError(f"algorithm {algorithm.name}: {key}={value!r} must be {words}")
    try:
        return learner(**{name: kinds[name](value) for name, value in point.items()})
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
