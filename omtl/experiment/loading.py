"""Loading data sets, each once, prepared for learners."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from inspect import signature
from threading import Lock
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

import data_fetchers
from omtl.data.preparation import PreparedData, prepare, prepared_data
from omtl.data.rows import square_norms
from omtl.data.scaling import SCALES
from omtl.data.streams import Tasks
from omtl.experiment.schema import choose
from omtl.experiment.specs import Check, DataSetSpec
from omtl.util.errors import UserError
from omtl.util.seeds import generator

KINDS: Mapping[type, Check] = {
    int: (lambda value: type(value) is int and value >= 0, "a whole number from 0 on"),
    float: (
        lambda value: type(value) in (int, float) and 0 <= value < math.inf,
        "a number from 0 on",
    ),
    str: (lambda value: isinstance(value, str), "a text"),
    NoneType: (lambda value: value is None, "null"),
}
"""Checks of option values by type."""

SIZES = ("n_tasks", "n_examples", "n_features")
"""Options that must be at least 1."""


def check_options(takes: Callable[..., Any], options: Mapping[str, Any], name: str) -> None:
    """Check that a data set takes these options, and that their values have the right types.

    `takes` has the options as parameters (`data_fetchers.options_of`). Lists are accepted; each
    data set checks their items.

    Raises
    ------
    UserError
        If a check fails.
    """
    kinds = get_type_hints(takes)
    taken = sorted(set(signature(takes).parameters) - {*data_fetchers.GIVEN})
    for option, value in options.items():
        kind = kinds[choose(f"option of dataset {name}", option, taken)]
        several = get_args(kind) if isinstance(kind, UnionType) else (kind,)
        known = [KINDS[one] for one in several if one in KINDS]
        listed = len(known) < len(several)
        if any(fits(value) for fits, _ in known) or (listed and isinstance(value, list | tuple)):
            if option in SIZES and value is not None and value < 1:
                raise UserError(f"dataset {name}: options.{option}={value!r} must be at least 1")
            continue
        words = " or ".join([*(words for _, words in known), *["a list"] * listed])
        raise UserError(f"dataset {name}: options.{option}={value!r} must be {words}")


_LOADED: dict[str, Future[PreparedData | UserError]] = {}
_LOOKING = Lock()

ROOM = 2**28
"""Size of the cache of data sets, in bytes: more than any of the papers' tables needs."""


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
    drawn = [seed, draw] if dataset.is_synthetic else []
    name = json.dumps([dataset.as_mapping(), dataset.files, *drawn, is_reduced], sort_keys=True)
    with _LOOKING:
        entry = _LOADED.pop(name, None)
        is_new = entry is None
        _LOADED[name] = entry = entry or Future()  # most recently used
    if is_new:  # requests for other data sets do not wait
        try:
            entry.set_result(_load(dataset, seed, draw, is_reduced))
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
    if not hasattr(dataset.fetcher, "hashes"):
        return ()
    try:
        tasks = load_prepared(dataset, seed=0, draw=0).tasks
    except UserError:  # whoever needs the data tells it
        return ()
    uneven = "" if dataset.normalise in SCALES else getattr(tasks, "uneven", "")
    return (*getattr(tasks, "notes", ()), *([uneven] if uneven else []))


def _make_room() -> None:
    """Drop the least recently used data sets until the cache fits."""
    with _LOOKING:
        entries = [(name, entry.result()) for name, entry in _LOADED.items() if entry.done()]
        size = {name: one.nbytes for name, one in entries if isinstance(one, PreparedData)}
        for name in [*size][:-1]:
            if sum(size.values()) <= ROOM:
                return
            del _LOADED[name], size[name]


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
        tasks = data_fetchers.load_module(module, options | drawn)
        return prepare(tasks, dataset.normalise, dataset.bias)
    except (TypeError, ValueError) as fault:
        raise UserError(
            f"dataset {dataset.name}: options {options} do not fit ({fault})"
        ) from fault


def _load(dataset: DataSetSpec, seed: int, draw: int, is_reduced: bool) -> PreparedData | UserError:
    """Load a data set; return an error, so that it occurs once and not in each unit."""
    try:
        tasks = load_tasks(dataset, seed, draw)
    except UserError as fault:
        return fault
    if is_reduced:
        source = prepared_data(tasks)
    else:
        source = PreparedData(tasks, square_norms(tasks.X), tasks.sha256)
    if dataset.normalise in SCALES:
        source = replace(source, scale=dataset.normalise, constant=dataset.bias)
    return source
