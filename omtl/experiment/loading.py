"""Loading a data set and preparing its rows; recently used ones stay in memory."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from inspect import signature
from threading import Lock
from typing import Any, get_type_hints

import data_fetchers
from omtl.data.preparation import PreparedData, prepare, prepared_data
from omtl.data.rows import square_norms
from omtl.data.scaling import SCALES
from omtl.data.streams import Classes, Tasks
from omtl.experiment.schema import typed
from omtl.experiment.specs import AlgorithmSpec, DataSetSpec
from omtl.util.code import code_version
from omtl.util.errors import UserError, choose
from omtl.util.seeds import generator

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
