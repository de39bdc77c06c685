"""From Hydra's overrides to a composed config, with one-sentence errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from omtl.experiment.config import (
    NEEDED,
    POSITIVE,
    RANGES,
    TARGET,
    Check,
    apply_reading,
    choose,
    load_option,
    option_files,
    options,
    read_yaml,
    text_of,
    whole,
)
from omtl.experiment.experiment import Experiment
from omtl.experiment.read_options import store_readings
from omtl.experiment.relevant_answers import for_dataset
from omtl.experiment.unit import hyper_parameters
from omtl.util.errors import UserError
from omtl.util.paths import CONF, kept

OmegaConf.register_new_resolver("omtl_home", lambda: str(kept()), replace=True)

FAULTS = (HydraException, OmegaConfBaseException, yaml.YAMLError)
"""The errors that Hydra raises for a wrong override or config."""

GROUPS = ("algorithm", "dataset", "protocol", "network", "reading", "selection", "parallel")
"""The groups of an experiment."""


READING_OR_DATA = ("reading=", "reading.", "dataset=")
"""Beginnings of the overrides that determine which answers are given."""


def mistake(fault: Exception) -> UserError:
    """Return what is wrong with an override, in one sentence."""
    return UserError(" ".join(str(fault).split()))


def spelt_out(words: Sequence[str]) -> list[str]:
    """Return a command line with each ``algorithm.NAME=VALUE`` as an override of the right key.

    NAME is a hyper-parameter of the algorithm, whether its config fixes it or searches it; a list
    of values is a grid for the selection rule. Other words are unchanged.

    Raises
    ------
    UserError
        If an override cannot be read, or the algorithm has no such hyper-parameter.
    """
    parser = OverridesParser.create()
    mine = [word for word in words if word.startswith(("algorithm=", "algorithm."))]
    try:
        found = dict(zip(mine, parser.parse_overrides(mine), strict=True))
    except HydraException as fault:
        raise mistake(fault) from fault
    named = [name for o in found.values() if o.key_or_group == "algorithm" for name in _named(o)]
    readings = readings_of(words)
    spelt: list[str] = []
    for word in words:
        name = found[word].key_or_group.partition(".")[2] if word in found else ""
        if not name or "." in name or name in _read_too("algorithm"):
            spelt.append(word)
            continue
        configs = [
            apply_reading({"algorithm": load_option("algorithm", one)}, reading)["algorithm"]
            for one in named or [_default("algorithm")]
            for reading in readings.values()
        ]
        spelt += _in_place(found[word], name, configs)
    return spelt


def readings_of(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the readings named on a command line, with the answers given there.

    Their keys are ``READING/DATASET``: of a reading's own answers, each data set gets those that
    can affect it.

    Raises
    ------
    UserError
        If a word cannot be parsed, a reading does not exist, or answers are swept.
    """
    parser = OverridesParser.create()
    mine = [word for word in words if word.lstrip("+~").startswith(READING_OR_DATA)]
    try:
        found = [parser.parse_override(word) for word in mine]
    except HydraException as fault:
        raise mistake(fault) from fault
    chosen = [override for override in found if override.key_or_group == "reading"]
    data = [override for override in found if override.key_or_group == "dataset"]
    typed = [override for override in found if override not in (*chosen, *data)]
    if swept := [override for override in typed if override.is_sweep_override()]:
        raise UserError(
            f"{swept[0].input_line} sweeps an answer; write each reading in a file of reading/, "
            "and sweep by reading=A,B"
        )
    known = options("reading")
    names = [choose("reading", name, known) for override in chosen for name in _named(override)]
    if not names:  # the default, or a glob
        names = [_default("reading")] if not chosen else known
    datasets = [name for override in data for name in _named(override)]
    if not datasets:
        datasets = [_default("dataset")] if not data else list(options("dataset"))
    lines = [str(override.input_line) for override in typed]
    answered = {override.key_or_group.removeprefix("reading.answers.") for override in typed}
    readings: dict[str, Any] = {
        name: OmegaConf.to_container(_composed([f"reading={name}", *lines]).reading)
        if lines
        else load_option("reading", name)
        for name in names
    }
    return {
        f"{name}/{dataset}": for_dataset(reading, dataset, answered)
        for name, reading in readings.items()
        for dataset in datasets
    }


def _default(group: str) -> str:
    """Return the default option of a group."""
    defaults = read_yaml(CONF / "config.yaml")["defaults"]
    return next(each[group] for each in defaults if isinstance(each, dict) and group in each)


def _in_place(override: Override, name: str, algorithms: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the overrides that set a hyper-parameter of algorithms."""
    places = set()
    for config in algorithms:
        place = next((part for part in ("fixed", "grid") if name in config[part]), "")
        if not place and (known := hyper_parameters(config)):
            choose(f"hyper-parameter of algorithm {config['name']}", name, known)
        places.add(place)
    if len(places) > 1:
        names = ", ".join(dict.fromkeys(config["name"] for config in algorithms))
        raise UserError(
            f"{override.input_line}: {name} is not in the same place of the configs of "
            f"{names}; sweep one algorithm and one reading at a time"
        )
    (place,) = places
    typed = str(override.input_line).partition("=")[2]
    if place == "fixed" and typed.startswith("["):  # values to choose from
        return [f"~algorithm.fixed.{name}", f"+algorithm.grid.{name}={typed}"]
    return [f"{'' if place else '+'}algorithm.{place or 'fixed'}.{name}={typed}"]


def parsed(overrides: Sequence[str]) -> list[Override]:
    """Return overrides as parsed by Hydra, after checking that they name existing options.

    Hydra then knows the configs of the readings that they name.

    Raises
    ------
    UserError
        If one cannot be parsed, or names an option that does not exist or cannot be read.
    """
    try:
        found = OverridesParser.create().parse_overrides(overrides=list(overrides))
        for override in found:
            if override.key_or_group in GROUPS:
                _check_option(override)
    except HydraException as fault:
        raise mistake(fault) from fault
    store_readings(readings_of(overrides))
    _check_keys(found)
    return found


def _check_option(override: Override) -> None:
    """Refuse an override of a group that names no option, or one that cannot be read."""
    group = override.key_or_group
    if override.is_delete():
        raise UserError(f"an experiment needs {group}; leave ~{group} out")
    files = option_files(group)
    known = list(files)
    if isinstance(glob := override.value(), Glob) and not glob.filter(known):
        raise UserError(f"{override.input_line} matches no {group}; choose from {', '.join(known)}")
    for name in _named(override):
        text_of(files[choose(group, name, known)])


FREE = (
    "algorithm.fixed",
    "algorithm.grid",
    "dataset.options",
    "reading.answers",
    "selection.point",
)
"""Mappings to which ``+`` may add any key: their readers refuse wrong ones."""

READ_TOO = {"algorithm": {"only", TARGET}, "protocol": {"share"}}
"""Valid keys of a group that no option in ``conf/`` has."""


def _check_keys(overrides: Sequence[Override]) -> None:
    """Refuse values that nothing reads, including those that Hydra would add with ``+``.

    Raises
    ------
    UserError
        If a key does not exist; the error lists the valid ones.
    """
    groups = [o for o in overrides if o.key_or_group in GROUPS]
    values = [o for o in overrides if o not in groups and not o.key_or_group.startswith("hydra")]
    if not values:
        return
    options = [f"{o.key_or_group}={name}" for o in groups for name in _named(o)[:1]]
    config = OmegaConf.to_container(_composed(options), resolve=False)
    for override in values:
        adds = override.is_add() or override.is_force_add()
        node, path = config, ""
        for step in override.key_or_group.split("."):
            if not isinstance(node, dict) or (adds and path in FREE):
                break
            if path in ("algorithm.fixed", "algorithm.grid") and step not in node:
                raise UserError(
                    f"{override.input_line}: the config has no {path}.{step}; set a "
                    f"hyper-parameter by algorithm.{step}=VALUE, wherever its config has it"
                )
            choose(
                f"value of {path or 'the config'}",
                step,
                list(dict.fromkeys([*map(str, node), *_read_too(path)])),
            )
            node, path = node.get(step), f"{path}.{step}".lstrip(".")


def _read_too(group: str) -> list[str]:
    """Return valid keys of a group that only some of our options have."""
    if group not in GROUPS:
        return []
    files = [path for path in option_files(group).values() if path.is_relative_to(CONF)]
    configs = map(read_yaml, files)
    return sorted({key for config in configs for key in config} | READ_TOO.get(group, set()))


def _named(override: Override) -> list[str]:
    """Return the options that an override of a group names; a glob is matched by Hydra itself."""
    if override.is_delete() or isinstance(override.value(), Glob):
        return []
    if override.is_interval_sweep():
        raise UserError(
            f"{override.input_line} is a sweep of numbers; name options of {override.key_or_group}"
        )
    if override.is_sweep_override():
        return list(override.sweep_string_iterator())
    return [str(override.value())]


CHECKED: Mapping[str, Check] = {
    "repeats": POSITIVE,
    "seed": (lambda n: type(n) is int and n >= 0, "a whole number that is not negative"),
}
"""Checks of values of a composed config."""


def plain(config: DictConfig) -> dict[str, Any]:
    """Return a composed config as plain values.

    Raises
    ------
    UserError
        If a value has the wrong type or was deleted.
    """
    try:
        content = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as fault:
        raise mistake(fault) from fault
    assert isinstance(content, dict)
    values = {str(key): value for key, value in content.items()}
    lacking = [name for name in (*CHECKED, *GROUPS) if name not in values]
    if lacking:
        raise UserError(f"an experiment needs {lacking[0]}; leave ~{lacking[0]} out")
    for name, (fits, words) in CHECKED.items():
        if not fits(values[name]):
            raise UserError(f"{name}={values[name]!r} must be {words}")
    for group in {**NEEDED, **RANGES}:
        values[group] = whole(group, values[group])
    return values


def composed(overrides: Sequence[str]) -> dict[str, Any]:
    """Return the config that Hydra composes from ``conf/config.yaml`` and overrides.

    Raises
    ------
    UserError
        If an override is wrong or is a sweep.
    """
    overrides = spelt_out(overrides)
    sweep = next((o for o in parsed(overrides) if o.is_sweep_override()), None)
    if sweep is not None:
        raise UserError(f"{sweep.input_line} is a sweep; name one value, or sweep with omtl run -m")
    return plain(_composed(overrides))


def _composed(overrides: Sequence[str]) -> DictConfig:
    """Return Hydra's composition, with errors reported as ours."""
    try:
        with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
            return compose("config", overrides=list(overrides))
    except FAULTS as fault:
        raise mistake(fault) from fault


def experiment_of(config: dict[str, Any]) -> Experiment:
    """Return the experiment of a composed config; a single value in a grid is a grid of one."""
    algorithm = config["algorithm"]
    grid = {k: v if isinstance(v, list) else [v] for k, v in algorithm["grid"].items()}
    network = config["network"] if algorithm["networked"] else None
    algorithm = {**algorithm, "grid": grid}
    return Experiment(algorithm, config["dataset"], config["protocol"], network)
