"""From what a user gives, names, classes, instances or data, to what is run."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from itertools import zip_longest
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd

from omtl import datasets
from omtl.api.source import written_class
from omtl.datasets import DataSet
from omtl.experiment.composition import (
    ComposedRun,
    as_typed,
    as_written,
    composed,
    note_on_networks,
    overrides_in,
)
from omtl.experiment.config import options
from omtl.experiment.specs import FOREIGN, TARGET, AlgorithmSpec, DataSetSpec
from omtl.util import user_folder
from omtl.util.errors import UserError, as_known, known_name, repeated
from omtl.util.providers import module_file

Grid = Mapping[str, Sequence[Any]]
"""Values to choose hyper-parameters from, by name."""

SEVERAL = {
    "algorithm": ("learner", "others by against=[...]"),
    "dataset": ("data set", "too"),
}
"""What one run plays one of, and who takes several."""

ONLINE = (("partial_fit", "predict"), ("learn_one", "predict_one"))
"""Methods of another package's classifiers, of which a learner has two."""

NAMED: Mapping[str, Mapping[str, Any]] = {"get_params": {"deep": False}, "_get_params": {}}
"""The methods of scikit-learn and river that return an instance's hyper-parameters."""


def told_apart(
    given: Sequence[Any], algorithm: Any = None, dataset: Any = None
) -> tuple[Any, Any, list[str]]:
    """Return the algorithm, the data and the overrides among what is given by position.

    What is in the user's own folder is known from here on.

    Parameters
    ----------
    given : sequence
        The algorithm, then the data; strings such as ``"repeats=5"`` are overrides, wherever they
        stand.
    algorithm, dataset : object
        What is given by name instead.

    Raises
    ------
    UserError
        If one is given twice, or there is more.
    """
    user_folder.find()
    overrides: list[str] = []
    others: list[Any] = []
    for one in given:
        is_override = isinstance(one, str) and ("=" in one or one.startswith("~"))
        (overrides if is_override else others).append(one)
    if len(others) > 2:
        raise UserError(
            f"{others[2]!r} follows the algorithm and the data; write an override as NAME=VALUE, "
            "and several data sets as a list"
        )
    typed = {name: value for name, _, value in (word.partition("=") for word in overrides)}
    found = []
    for (name, by_name), by_place in zip_longest(
        (("algorithm", algorithm), ("dataset", dataset)), others
    ):
        each = [one for one in (by_place, by_name, typed.get(name)) if one is not None]
        if len(each) > 1:
            raise UserError(f"{name} is given twice: {each[0]!r} and {each[1]!r}")
        found.append(by_name if by_place is None else by_place)
    return found[0], found[1], overrides


def composed_run(
    overrides: Sequence[str], choices: Mapping[str, Any], grid: Grid | None = None
) -> ComposedRun:
    """Return the experiment of override strings and of what is given by keyword.

    Parameters
    ----------
    overrides : sequence of str
        As on the command line: ``"repeats=5"``.
    choices : mapping
        By keyword: the name of an option (``algorithm="coml"``) or a value (``repeats=5``). The
        algorithm may also be a class or an instance, the data set a `DataSet` or a frame. None
        stands for the default.
    grid : mapping, optional
        Values to choose the algorithm's hyper-parameters from.

    Raises
    ------
    UserError
        If there is no such option, or something cannot be played.
    """
    words, objects = list(overrides), dict[str, Any]()
    for name, value in choices.items():
        if value is None:
            continue
        if name in SEVERAL and type(value) in (list, tuple, dict, set):
            raise UserError(
                f"{name} must be one {SEVERAL[name][0]}, not a {type(value).__name__}; omtl.sweep "
                f"takes several, and omtl.compare {SEVERAL[name][1]}"
            )
        if isinstance(value, str | int | float | list | np.number):
            words.append(f"{name}={value}")
        elif name == "algorithm":
            objects[name] = algorithm_of(value, grid or ())
        elif name == "dataset":
            objects[name] = spec_of(value)
        else:
            raise UserError(f"{name}={value!r} must be a name, a number or a list")
    changed: dict[str, Any] = {}
    for group, spec in [*objects.items()]:
        if (patch := patch_of(spec)) is not None:  # a reading holds for it as for its name
            words.append(f"{group}={objects.pop(group).name}")
            changed |= patch
        elif typed := [word for word in words if word.lstrip("+~").startswith(f"{group}.")]:
            raise UserError(
                f"{typed[0]} sets a value of a config, and {group} is given as an object, "
                f"{spec.name}; make that with the value"
            )
    run = replace(composed(words), **objects)
    run = replace(run, dataset=run.dataset.patched(changed))
    if grid is None:
        return run
    if not isinstance(grid, Mapping) or not all(isinstance(name, str) for name in grid):
        raise UserError(f"grid={grid!r} must map hyper-parameters to lists of values")
    set_too = {as_typed(found): as_written(found) for found in overrides_in(words)}
    if twice := [name for name in grid if f"algorithm.{name}" in set_too]:
        raise UserError(f"{set_too[f'algorithm.{twice[0]}']} is in the grid too; leave one out")
    values = {
        name: list(one) if isinstance(one, Iterable) and not isinstance(one, str) else one
        for name, one in grid.items()
    }
    return replace(run, algorithm=run.algorithm.with_values(values))


def tell_of_networks(
    overrides: Sequence[str], choices: Mapping[str, Any], learners: Sequence[AlgorithmSpec]
) -> None:
    """Print a note on learners without a network, for which one is named (`note_on_networks`).

    Parameters
    ----------
    overrides : sequence of str
        As on the command line.
    choices : mapping
        What is given by keyword, each one value or several.
    learners : sequence of AlgorithmSpec
        The learners that are played.

    Raises
    ------
    UserError
        If networks are swept for such learners only.
    """
    network = choices.get("network")
    named = ",".join(map(str, network)) if isinstance(network, list | tuple) else network
    words = [*overrides, *([] if named is None else [f"network={named}"])]
    if note := note_on_networks(overrides_in(words), learners):
        print(f"omtl: {note}", file=sys.stderr)


def patch_of(spec: AlgorithmSpec | DataSetSpec) -> dict[str, Any] | None:
    """Return what is changed of the option that has a specification's name; None if not of it."""
    if spec.name not in options(spec.group):
        return None
    usual = type(spec).named(spec.name)
    if isinstance(spec, AlgorithmSpec) or isinstance(usual, AlgorithmSpec):
        return {} if spec == usual else None
    if spec.loaded_by != usual.loaded_by or spec.options.get("path") != usual.options.get("path"):
        return None
    found, known = (
        {f"options.{key}": value for key, value in one.options.items()}
        | {"normalise": one.normalise, "bias": one.bias}
        for one in (spec, usual)
    )
    return {f"dataset.*.{key}": one for key, one in found.items() if one != known.get(key)}


def algorithm_of(given: Any, searched: Collection[str] = ()) -> AlgorithmSpec:
    """Return the specification of an algorithm.

    Parameters
    ----------
    given : str, class or instance
        The name of a config; a learner, an estimator of `omtl.sklearn` or an online classifier of
        scikit-learn or river. An instance has its own hyper-parameters, a class those of the
        package's config for it, if there is one, and otherwise its defaults.
    searched : collection of str
        The hyper-parameters that are chosen from a grid, which are not in its name.

    Raises
    ------
    UserError
        If it is none of these.
    """
    if isinstance(given, str):
        return AlgorithmSpec.named(as_known("algorithm", given, options("algorithm")))
    kind: Any = given if inspect.isclass(given) else type(given)
    values = {} if inspect.isclass(given) else hyper_parameters_of(given)
    changed = values
    if any(hasattr(kind, method) for method in NAMED) and not inspect.isclass(given):
        changed = changed_in(given, values)
    shown = {name: value for name, value in changed.items() if name not in searched}
    if kind.__module__ == "omtl.sklearn":
        kind = kind.rules
        if unread := [name for name in changed if name not in kind._fields]:
            source = "network=NAME" if unread[0] == "network" else "the data, protocol and seed"
            raise UserError(
                f"{kind.__name__}: {unread[0]} is for examples that are fed by hand; an experiment "
                f"takes it from {source}, so leave it out"
            )
        values = {name: value for name, value in values.items() if name in kind._fields}
    elif kind.__module__.startswith(("omtl.sklearn.", "omtl.river")):
        raise UserError(f"{kind.__name__} wraps a learner; give the learner, which gets the tasks")
    refuse_namesake(kind)
    if any(all(hasattr(kind, method) for method in methods) for methods in ONLINE):
        label, values = named(kind.__name__, shown), {TARGET: path_of(kind), **changed}
        return AlgorithmSpec(
            name=label, label=label, learner=FOREIGN, networked=False, fixed=values, grid={}
        )
    if not is_written_as_rules(kind):
        raise UserError(
            f"{kind.__name__} is not a learner: it has neither score and update, nor partial_fit "
            "and predict, nor learn_one and predict_one; see docs/own_learner.md"
        )
    has_file = module_file(kind.__module__) is not None
    path = f"{kind.__module__}.{kind.__name__}" if has_file else written_class(kind)
    every = (AlgorithmSpec.named(name) for name in options("algorithm"))
    configs = [spec for spec in every if spec.learner == path]
    known = min(configs, key=lambda spec: len(spec.name), default=None)
    if known is not None and inspect.isclass(given):
        return known
    label = kind.__name__ if inspect.isclass(given) else named(kind.__name__, shown)
    return AlgorithmSpec(
        name=label,
        label=label,
        learner=path,
        networked=known is not None and known.networked,
        cites=() if known is None else known.cites,
        fixed=values,
        grid={},
    )


def refuse_namesake(kind: type) -> None:
    """Refuse a class whose module is found elsewhere by its name; raise UserError."""
    found = module_file(kind.__module__)
    codes = [one.__code__ for one in vars(kind).values() if isinstance(one, FunctionType)]
    for own in map(Path, {code.co_filename for code in codes}):
        if found and own.name == found.name and own.is_file() and not own.samefile(found):
            raise UserError(
                f"{kind.__name__} is in {own}, and the module {kind.__module__} that would be "
                f"played is {found}; rename one of them"
            )


def is_written_as_rules(learner: Any) -> bool:
    """Whether a class or an instance has the methods that every learner of rounds has."""
    return hasattr(learner, "score") and hasattr(learner, "update")


def named(name: str, values: Mapping[str, Any]) -> str:
    """Return the name of a class with hyper-parameters, as it is written in Python."""
    return f"{name}({', '.join(f'{key}={value}' for key, value in values.items())})"


def hyper_parameters_of(given: Any) -> dict[str, Any]:
    """Return the hyper-parameters of an instance, as configs have them."""
    for method, how in NAMED.items():
        if hasattr(given, method):
            return {name: as_config(one) for name, one in getattr(given, method)(**how).items()}
    if is_dataclass(given):
        values = {each.name: getattr(given, each.name) for each in fields(given)}
    else:
        values = given._asdict() if hasattr(given, "_asdict") else getattr(given, "__dict__", {})
    arrays = (np.generic, np.ndarray)
    return {k: one.tolist() if isinstance(one, arrays) else one for k, one in values.items()}


def changed_in(given: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those hyper-parameters of another package's instance that are no defaults."""
    usual: Mapping[str, Any] = {}
    with suppress(TypeError):  # it cannot be made without some
        usual = hyper_parameters_of(type(given)())
    return {name: one for name, one in values.items() if name not in usual or one != usual[name]}


def as_config(value: Any) -> Any:
    """Return a value of another package's instance as configs have it: an object by its class.

    Raises
    ------
    UserError
        If a config cannot have it.
    """
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, tuple) and len(value) == 2 and inspect.isclass(value[0]):  # river's form
        return {TARGET: path_of(value[0]), **{k: as_config(one) for k, one in value[1].items()}}
    if isinstance(value, list | tuple):
        return [as_config(one) for one in value]
    if isinstance(value, Mapping):
        return {key: as_config(one) for key, one in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if any(hasattr(value, method) for method in NAMED) and not inspect.isclass(value):
        return {TARGET: path_of(type(value)), **changed_in(value, hyper_parameters_of(value))}
    raise UserError(
        f"{value!r} cannot be written into a config; give a learner of your own, or a config with "
        f"{TARGET} (docs/foreign.md)"
    )


def path_of(kind: type) -> str:
    """Return the dotted path of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def data_sets_of(given: Any) -> list[str | DataSetSpec]:
    """Return one or several data sets, each a name or how it is loaded.

    Raises
    ------
    UserError
        If there is no such data set, there is none at all, or two have one name.
    """
    several = given if isinstance(given, list | tuple) else [given]
    known = options("dataset")
    found = [
        known_name("dataset", one, known) if isinstance(one, str) else spec_of(one)
        for one in several
    ]
    names = [one if isinstance(one, str) else one.name for one in found]
    if not names:
        raise UserError("no data set is given")
    if twice := repeated(names):
        raise UserError(
            f"two data sets are called {twice[0]}; give each once, and data of your own a name: "
            "omtl.datasets.from_arrays(..., name=...)"
        )
    return found


def spec_of(given: Any) -> DataSetSpec:
    """Return how a data set is loaded; one that was made by hand is written to a file first.

    Raises
    ------
    UserError
        If it is neither a data set nor a frame.
    """
    if isinstance(given, DataSetSpec):
        return given
    if isinstance(given, pd.DataFrame):
        given = datasets.from_frame(given)
    elif not isinstance(given, DataSet):
        raise UserError(
            f"a data set must be a name, a DataFrame or a DataSet, not {type(given).__name__}; "
            "omtl.datasets.from_arrays makes one of arrays"
        )
    spec = given.spec or datasets.from_arrays(*given.arrays, name=given.name).spec
    assert spec is not None
    return spec
