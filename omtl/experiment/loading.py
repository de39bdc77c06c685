"""Loading data sets, each one once, prepared for learners."""

from __future__ import annotations

import json
from concurrent.futures import Future
from threading import Lock
from typing import Any

import data_fetchers
from omtl.data.preparation import Fed, fed, prepare
from omtl.data.rows import square_norms
from omtl.experiment.dataset_options import check_options
from omtl.util.errors import UserError
from omtl.util.seeds import generator


def module_of(dataset: dict[str, Any]) -> Any:
    """Return the module of a data set: of its own name, or the one that it names."""
    return data_fetchers.data_set(dataset.get("module", dataset["name"]))


def files_of(dataset: dict[str, Any]) -> dict[str, str]:
    """Return the hash of each file of a data set, by its path.

    A module has ``FILES``, or a function ``hashes`` of the options where the files are the user's.
    """
    module = module_of(dataset)
    if hasattr(module, "hashes"):
        return module.hashes(dataset["options"])
    return {file.path: file.sha256 for file in module.FILES}


_LOADED: dict[str, Future[Fed | UserError]] = {}
_LOOKING = Lock()

ROOM = 2**28
"""Bytes of data sets that stay in memory: more than the largest of the papers' tables asks for."""

_LOADS: list[str] = []


def load_fed(dataset: dict[str, Any], seed: int, draw: int, is_lean: bool = True) -> Fed:
    """Return a data set as learners are fed it; those last asked for stay in memory.

    Where it is not to be lean, it has all features, also those of one example alone.

    Raises
    ------
    UserError
        If its files are unavailable, or an option is wrong.
    """
    module = module_of(dataset)
    options = dict(dataset["options"])
    synthetic = getattr(module, "SYNTHETIC", False)
    if synthetic:
        options["rng"] = generator(seed, of="draw", dataset=dataset["name"], draw=draw)
    drawn = [seed, draw] if synthetic else []
    name = json.dumps([dataset, files_of(dataset), *drawn, is_lean], sort_keys=True)
    with _LOOKING:
        entry = _LOADED.pop(name, None)
        is_new = entry is None
        _LOADED[name] = entry = entry or Future()  # the last to go
    if is_new:  # who asks for another data set meanwhile does not wait
        _LOADS.append(dataset["name"])
        try:
            entry.set_result(_load(module, options, dataset, is_lean))
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


def times_loaded() -> int:
    """Return how many data sets this process has loaded so far."""
    return len(_LOADS)


def _make_room() -> None:
    """Let go of what has not been asked for longest, as far as there is too much."""
    with _LOOKING:
        entries = [(name, entry.result()) for name, entry in _LOADED.items() if entry.done()]
        size = {name: one.nbytes for name, one in entries if isinstance(one, Fed)}
        for name in [*size][:-1]:
            if sum(size.values()) <= ROOM:
                return
            del _LOADED[name], size[name]


def _load(
    module: Any, options: dict[str, Any], dataset: dict[str, Any], is_lean: bool
) -> Fed | UserError:
    """Load and prepare; return a fault, so that it is met once and not in each unit."""
    try:
        check_options(module.load, options, dataset["name"])
        tasks = prepare(module.load(**options), dataset["normalise"], dataset["bias"])
        return fed(tasks) if is_lean else Fed(tasks, square_norms(tasks.X), tasks.sha256)
    except UserError as fault:
        return fault
    except (TypeError, ValueError) as fault:
        given = {key: value for key, value in options.items() if key != "rng"}
        return UserError(f"dataset {dataset['name']}: options {given} do not fit ({fault})")


def is_synthetic(dataset: dict[str, Any]) -> bool:
    """Whether the data set is drawn by us, so that the authors' draw is another one."""
    return getattr(module_of(dataset), "SYNTHETIC", False)
