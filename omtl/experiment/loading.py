"""Loading data sets, each once, prepared for learners."""

from __future__ import annotations

import json
from concurrent.futures import Future
from threading import Lock
from typing import Any

import data_fetchers
from omtl.data.preparation import PreparedData, prepare, prepared_data
from omtl.data.rows import square_norms
from omtl.experiment.data_sets import check_options, files_of, is_synthetic, module_of
from omtl.experiment.specs import DataSetSpec
from omtl.util.errors import UserError
from omtl.util.seeds import generator

_LOADED: dict[str, Future[PreparedData | UserError]] = {}
_LOOKING = Lock()

ROOM = 2**28
"""Size of the cache of data sets, in bytes: more than any of the papers' tables needs."""

_LOADS: list[str] = []


def load_prepared(
    dataset: DataSetSpec, seed: int, draw: int, is_reduced: bool = True
) -> PreparedData:
    """Return a data set prepared for learners; recently used ones stay in memory.

    If it is not reduced, it has all features, including those of a single example.

    Raises
    ------
    UserError
        If its files are unavailable, or an option is wrong.
    """
    module = module_of(dataset)
    options = dict(dataset.options)
    synthetic = is_synthetic(dataset)
    if synthetic:
        options["rng"] = generator(seed, of="draw", dataset=dataset.name, draw=draw)
    drawn = [seed, draw] if synthetic else []
    name = json.dumps([dataset.as_mapping(), files_of(dataset), *drawn, is_reduced], sort_keys=True)
    with _LOOKING:
        entry = _LOADED.pop(name, None)
        is_new = entry is None
        _LOADED[name] = entry = entry or Future()  # most recently used
    if is_new:  # requests for other data sets do not wait
        _LOADS.append(dataset.name)
        try:
            entry.set_result(_load(module, options, dataset, is_reduced))
        except BaseException as fault:
            with _LOOKING:
                del _LOADED[name]
            entry.set_exception(fault)
            raise
        _make_room()
    loaded = entry.result()
    if isinstance(loaded, UserError):
        raise loaded
    return loaded


def data_notes(dataset: DataSetSpec) -> tuple[str, ...]:
    """Return what a user should know of their own table, which is loaded; else nothing."""
    if not hasattr(module_of(dataset), "hashes"):
        return ()
    try:
        return getattr(load_prepared(dataset, seed=0, draw=0).tasks, "notes", ())
    except UserError:  # whoever needs the data tells it
        return ()


def times_loaded() -> int:
    """Return how many data sets this process has loaded so far."""
    return len(_LOADS)


def _make_room() -> None:
    """Drop the least recently used data sets until the cache fits."""
    with _LOOKING:
        entries = [(name, entry.result()) for name, entry in _LOADED.items() if entry.done()]
        size = {name: one.nbytes for name, one in entries if isinstance(one, PreparedData)}
        for name in [*size][:-1]:
            if sum(size.values()) <= ROOM:
                return
            del _LOADED[name], size[name]


def _load(
    module: Any, options: dict[str, Any], dataset: DataSetSpec, is_reduced: bool
) -> PreparedData | UserError:
    """Load and prepare; return an error, so that it occurs once and not in each unit."""
    try:
        check_options(data_fetchers.options_of(module), options, dataset.name)
        tasks = data_fetchers.load_module(module, options)
        tasks = prepare(tasks, dataset.normalise, dataset.bias)
        return (
            prepared_data(tasks)
            if is_reduced
            else PreparedData(tasks, square_norms(tasks.X), tasks.sha256)
        )
    except UserError as fault:
        return fault
    except (TypeError, ValueError) as fault:
        given = {key: value for key, value in options.items() if key != "rng"}
        return UserError(f"dataset {dataset.name}: options {given} do not fit ({fault})")
