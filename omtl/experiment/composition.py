"""From Hydra's overrides to a composed config, with one-sentence errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from itertools import product
from threading import RLock
from typing import Annotated, Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from omegaconf.resolvers import oc

from omtl.experiment.config import known_option, options
from omtl.experiment.playing import hyper_parameters
from omtl.experiment.readings import Reading
from omtl.experiment.schema import (
    NOT_NEGATIVE,
    POSITIVE,
    as_plain,
    check_names,
    keys_of,
    read_yaml,
    refuse_twice,
    typed_mapping,
)
from omtl.experiment.specs import (
    SPECS,
    TARGET,
    AlgorithmSpec,
    DataSetSpec,
    NetworkSpec,
    ParallelSpec,
    ProtocolSpec,
    SelectionSpec,
    Spec,
)
from omtl.experiment.unit import Experiment
from omtl.experiment.unread import refuse_selection, refuse_settings, refuse_topology
from omtl.util.errors import UserError, as_known, choose
from omtl.util.paths import CONF, home_folder
from omtl.util.providers import providers

OmegaConf.register_new_resolver("omtl_home", lambda: str(home_folder()), replace=True)
OmegaConf.register_new_resolver(
    "omtl_added", lambda: [str(each.conf) for each in providers()[1:]], replace=True
)


@contextmanager
def closed_environment() -> Iterator[None]:
    """Refuse configs that read environment variables, whose values would get into results."""

    def refuse(name: str, *_: Any) -> None:
        raise UserError(
            f"a config reads the environment variable {name}, whose value would get into results; "
            "write the value into the config, or on the command line"
        )

    OmegaConf.register_new_resolver("oc.env", refuse, replace=True)
    try:
        yield
    finally:
        OmegaConf.register_new_resolver("oc.env", oc.env, replace=True)


GRAMMAR = "https://hydra.cc/docs/1.3/advanced/override_grammar/basic"
"""Where Hydra says how overrides are written."""


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Report what Hydra raises for a wrong override or config as a `UserError`."""
    try:
        yield
    except OverrideParseException as fault:
        raise UserError(
            f"{fault.override!r} cannot be read as NAME=VALUE; see {GRAMMAR}"
        ) from fault
    except (HydraException, OmegaConfBaseException, yaml.YAMLError) as fault:
        raise UserError(" ".join(str(fault).split())) from fault


GROUPS = ("algorithm", "dataset", "protocol", "network", "reading", "selection", "parallel")
"""The groups of an experiment."""


PROGRESSIVE = {
    "omtl.protocols.cumulative": "progressive",
    "omtl.protocols.regression": "progressive_absolute",
}
"""The modules of protocols that are played without hindsight, each with the rule that does it."""


@in_one_sentence()
def overrides_in(words: Sequence[str]) -> list[Override]:
    """Return overrides as Hydra parses them; raise UserError if it cannot."""
    found = OverridesParser.create().parse_overrides(overrides=list(words))
    if nameless := [each.input_line for each in found if not each.key_or_group]:
        raise UserError(f"{nameless[0]!r} names nothing; write NAME=VALUE, such as algorithm=coml")
    return found


def spelt_out(words: Sequence[str]) -> list[str]:
    """Return a command line with overrides that Hydra accepts, whatever the configs have.

    Options are named in any case. Hydra adds all values that are set: the specifications refuse
    what nothing reads. Where no rule is named and the protocol has checkpoints, hyper-parameters
    are chosen without hindsight.

    Raises
    ------
    UserError
        If an override cannot be read, or sets what another one sets.
    """
    words = list(map(_with_known_names, words))
    found = {word: override for word in words if "=" in word for override in overrides_in([word])}
    refuse_twice("the overrides", [as_typed(found[word]) for word in words if word in found])
    spelt = [
        f"++{word.lstrip('+')}" if word in found and sets_value(found[word]) else word
        for word in words
    ]
    chosen = {override.key_or_group for override in found.values()}
    protocols = map(ProtocolSpec.named, _named("protocol", found.values()))
    rules = {PROGRESSIVE.get(protocol.module, "") for protocol in protocols}
    if "selection" not in chosen and len(rules) == 1 and rules != {""}:
        spelt.append(f"selection={rules.pop()}")
    return spelt


def _with_known_names(word: str) -> str:
    """Return an override with the known names of its options, whatever their case."""
    group, equals, names = word.partition("=")
    known = options(group) if group in GROUPS else []
    return f"{group}{equals}{','.join(as_known(group, name, known) for name in names.split(','))}"


def as_typed(override: Override) -> str:
    """Return what an override sets or chooses, by the name that users type: ``algorithm.eta``."""
    return re.sub(r"^algorithm\.(grid|fixed)\.", "algorithm.", override.key_or_group)


def as_written(override: Override) -> str:
    """Return the words of an override without the ``+`` that `spelt_out` puts before them."""
    return str(override.input_line).lstrip("+")


def sets_value(override: Override) -> bool:
    """Whether an override sets a value of a config, and does not choose one or delete anything."""
    key = override.key_or_group
    return key not in GROUPS and not key.startswith("hydra") and not override.is_delete()


def readings_of(overrides: Sequence[Override]) -> dict[str, Reading]:
    """Return the readings that overrides name, with the answers that they give.

    Their keys are ``READING/DATASET``: of a reading's own answers, each data set gets those that
    can affect it.

    Raises
    ------
    UserError
        If a reading does not exist, or answers are swept.
    """
    typed = [override for override in overrides if override.key_or_group.startswith("reading.")]
    for override in typed:
        if override.is_sweep_override():
            raise UserError(
                f"{as_written(override)} sweeps an answer; write each reading in a file of "
                "reading/, and sweep by reading=A,B"
            )
    lines = [str(override.input_line) for override in typed]
    answered = {override.key_or_group.removeprefix("reading.answers.") for override in typed}
    found = {}
    for name in _named("reading", overrides):
        reading = Reading.named(name)
        if typed:
            config: Any = OmegaConf.to_container(_composed([f"reading={name}", *lines]).reading)
            reading = Reading.read(config)
        for dataset in _named("dataset", overrides):
            found[f"{name}/{dataset}"] = reading.for_dataset(dataset, answered)
    return found


def _named(group: str, overrides: Iterable[Override]) -> list[str]:
    """Return the options of a group that overrides name: the default if they name none."""
    chosen = [override for override in overrides if override.key_or_group == group]
    if not chosen:
        defaults = read_yaml(CONF / "config.yaml")["defaults"]
        return [each[group] for each in defaults if isinstance(each, dict) and group in each]
    return [name for override in chosen for name in _options_in(override)]


def _options_in(override: Override) -> list[str]:
    """Return the options that an override of a group names.

    Raises
    ------
    UserError
        If it deletes the group, or names what there is not.
    """
    group, known = override.key_or_group, options(override.key_or_group)
    if override.is_delete():
        raise UserError(f"an experiment needs {group}; leave ~{group} out")
    if override.is_interval_sweep():
        raise UserError(f"{override.input_line} is a sweep of numbers; name options of {group}")
    if isinstance(glob := override.value(), Glob):
        if found := glob.filter(known):
            return found
        raise UserError(f"{override.input_line} matches no {group}; choose from {', '.join(known)}")
    many = override.is_sweep_override()
    names = list(override.sweep_string_iterator()) if many else [str(override.value())]
    return [known_option(group, name) for name in names]


ROOT = "read"
"""The group in which Hydra finds what readings change: ``conf/config.yaml`` merges
``read/GROUP/READING/DATASET/OPTION`` into an option, so that what is typed overrides it."""


def store_readings(overrides: Sequence[Override]) -> None:
    """Give Hydra what the readings that overrides name change in the options that they name."""
    store = ConfigStore.instance()
    store.repo.pop(ROOT, None)
    places = [(group, name) for group in SPECS for name in _named(group, overrides)]
    for (name, reading), (group, option) in product(readings_of(overrides).items(), places):
        spec = SPECS[group].named(option)
        before, after = spec.as_mapping(), reading(spec).as_mapping()
        if values := {key: one for key, one in after.items() if one != before.get(key)}:
            place = f"{ROOT}/{group}/{name}"
            # Hydra merges mappings; old content disappears only if they are emptied first.
            store.store(group=place, name=f"{option}_emptied", node=dict.fromkeys(values))
            emptied = [f"{name}/{option}_emptied@_here_", "_self_"]
            node = {"defaults": emptied, **as_plain(values)}
            store.store(group=place, name=option, node=node)


_COMPOSING = RLock()
"""One thread composes at a time: Hydra's state and the configs of readings are the process's."""


def parsed(overrides: Sequence[str]) -> tuple[list[Override], ComposedRun]:
    """Return overrides as Hydra parses them, and the run that they make; of a sweep, the first.

    Hydra then knows the configs of the readings that they name.

    Raises
    ------
    UserError
        If one cannot be parsed, names an option that does not exist, or sets what nothing reads.
    """
    found = overrides_in(overrides)
    for name in _named(ParallelSpec.group, found):  # the other options are read for readings
        ParallelSpec.named(name)
    known = list(keys_of(ComposedRun).kinds)
    for override in found:
        group, _, key = override.key_or_group.partition(".")
        if override.is_delete():
            choose("value of a run", group, known)
        if group in GROUPS and key == "name":
            raise UserError(
                f"{as_written(override)} renames what {group}=NAME chooses, and shuffles and "
                "results go by names; leave it out"
            )
    words = [word for override in found for word in each_swept(override)[:1]]
    with _COMPOSING:
        store_readings(found)
        return found, ComposedRun.of(_composed(words))


def note_on_networks(
    overrides: Sequence[Override], learners: Sequence[AlgorithmSpec] | None = None
) -> str:
    """Return a note on learners without a network, for which overrides name or set one.

    Parameters
    ----------
    overrides : sequence of Override
    learners : sequence of AlgorithmSpec, optional
        By default those that the overrides name.

    Raises
    ------
    UserError
        If networks are swept for such learners only.
    """
    typed = [one for one in overrides if one.key_or_group.partition(".")[0] == NetworkSpec.group]
    if learners is None:
        learners = [AlgorithmSpec.named(name) for name in _named("algorithm", overrides)]
    alone = [spec.label for spec in learners if not spec.networked]
    if not typed or not alone:
        return ""
    words = " ".join(map(as_written, typed))
    note = f"{', '.join(alone)}: no learner on a network, so {words} changes nothing"
    if len(alone) == len(learners) and any(one.is_sweep_override() for one in typed):
        raise UserError(f"{note}; leave network out")
    return note


def each_swept(override: Override) -> list[str]:
    """Return an override for each value that it sweeps; none for a glob or an interval of them."""
    if not override.is_sweep_override():
        return [str(override.input_line)]
    if isinstance(override.value(), Glob) or override.is_interval_sweep():
        return []
    return [f"{override.get_key_element()}={one}" for one in override.sweep_string_iterator()]


@dataclass(frozen=True, kw_only=True)
class ComposedRun:
    """What Hydra composes: an experiment, and how it is run.

    `metric` names the metric whose number a sweeper gets; the first that is measured for None.
    """

    algorithm: AlgorithmSpec
    dataset: DataSetSpec
    protocol: ProtocolSpec
    network: NetworkSpec
    reading: Reading
    selection: SelectionSpec
    parallel: ParallelSpec
    repeats: Annotated[int, POSITIVE]
    seed: Annotated[int, NOT_NEGATIVE]
    metric: str | None = None

    def __post_init__(self) -> None:
        """Refuse settings that would not be read."""
        refuse_settings(self.protocol)
        refuse_selection(self.selection)
        refuse_topology(self.network)

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> ComposedRun:
        """Return the run of a config as plain values; raise UserError if one is wrong.

        ``algorithm.NAME`` is the hyper-parameter NAME, whether the algorithm fixes or searches it.
        """
        known = {TARGET, *keys_of(AlgorithmSpec).kinds}
        config = content.get("algorithm", {})
        values = {name: value for name, value in config.items() if name not in known}
        config = {key: value for key, value in config.items() if key in known}
        run = typed_mapping(cls, {**content, "algorithm": config}, "the config")
        algorithm = run.algorithm
        new = [name for name in values if name not in {**algorithm.fixed, **algorithm.grid}]
        if new and (names := hyper_parameters(algorithm)):
            what = f"hyper-parameter of algorithm {algorithm.name}"
            check_names("the config", (what, new, names))
        return replace(run, algorithm=algorithm.with_values(values))

    @staticmethod
    def of(config: DictConfig) -> ComposedRun:
        """Return the run of a config that Hydra composed; raise UserError if it makes none."""
        with in_one_sentence(), closed_environment():
            content: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
        return ComposedRun.read(content)

    def as_mapping(self) -> dict[str, Any]:
        """Return the config, as plain values."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: as_plain(value.as_mapping() if isinstance(value, Spec) else value)
            for name, value in found.items()
        }

    @property
    def experiment(self) -> Experiment:
        """What is run; a single value in a grid is a grid of one."""
        grid = self.algorithm.grid
        listed = {k: v if isinstance(v, list) else [v] for k, v in grid.items()}
        algorithm = self.algorithm if listed == grid else replace(self.algorithm, grid=listed)
        network = self.network if algorithm.networked else None
        return Experiment(algorithm, self.dataset, self.protocol, network)


def composed(overrides: Sequence[str]) -> ComposedRun:
    """Return what Hydra composes from ``conf/config.yaml`` and overrides.

    Raises
    ------
    UserError
        If an override is wrong or is a sweep.
    """
    found, run = parsed(spelt_out(overrides))
    if of_hydra := [one for one in found if one.key_or_group.startswith("hydra")]:
        raise UserError(
            f"{as_written(of_hydra[0])} is for the command omtl run, which Hydra starts; leave it "
            "out"
        )
    sweep = next((override for override in found if override.is_sweep_override()), None)
    if sweep is not None:
        raise UserError(
            f"{as_written(sweep)} is a sweep; name one value, or sweep with omtl run -m"
        )
    return run


def _composed(overrides: Sequence[str]) -> DictConfig:
    """Return Hydra's composition, with errors reported as ours, also in a program of Hydra's."""
    outer, GlobalHydra.instance().hydra = GlobalHydra.instance().hydra, None
    try:
        with in_one_sentence(), initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
            return compose("config", overrides=list(overrides))
    finally:
        GlobalHydra.instance().hydra = outer
