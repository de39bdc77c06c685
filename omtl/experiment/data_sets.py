"""The data sets of specifications: their modules, files and options."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from inspect import signature
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

from data_fetchers import GIVEN, data_set
from omtl.experiment.schema import choose
from omtl.experiment.specs import Check, DataSetSpec
from omtl.util.errors import UserError

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
    taken = sorted(set(signature(takes).parameters) - {*GIVEN})
    for option, value in options.items():
        if option == "rng":
            continue
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


def module_named(name: str) -> Any:
    """Return the module that loads data sets, by name."""
    return data_set(name)


def module_of(dataset: DataSetSpec) -> Any:
    """Return the module of a data set: the one that it names, or that of its own name."""
    return module_named(dataset.loaded_by)


def files_of(dataset: DataSetSpec) -> dict[str, str]:
    """Return the hash of each file of a data set, by its path.

    A module has ``FILES`` or, for a user's files, a function ``hashes`` of the options.
    """
    module = module_of(dataset)
    if hasattr(module, "hashes"):
        return module.hashes(dataset.options)
    return {file.path: file.sha256 for file in module.FILES}


def is_synthetic(dataset: DataSetSpec) -> bool:
    """Whether the data set is our own draw, which differs from the authors'."""
    return getattr(module_of(dataset), "SYNTHETIC", False)
