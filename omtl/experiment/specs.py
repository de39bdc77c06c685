"""Specifications: what the configs of `conf/` say, each read once, checked and unchangeable.

Another specification is made from one by `Spec.patched`, as readings and tables do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from data_fetchers import DataSetModule, data_set, data_set_names
from omtl.experiment.config import load_option, option_file, options
from omtl.experiment.schema import (
    NOT_NEGATIVE,
    POSITIVE,
    REST,
    SHARE,
    YES_NO,
    Range,
    as_plain,
    read_file,
    refuse_other_name,
    refuse_unfit,
    typed_mapping,
)
from omtl.util.errors import UserError, repeated
from omtl.util.paths import CONF
from omtl.util.providers import added_module

TARGET = "_target_"
"""The key with which an algorithm names a class of another package, as in Hydra."""

FOREIGN = "omtl.learners.foreign.Foreign"
"""The learner that plays such a class."""

TASKS = Range(
    lambda tasks: all(task > 0 for task in tasks) and not repeated(tasks),
    "different numbers of tasks, from 1",
)
JOBS = Range(lambda n: n > 0 or n == -1, "a positive number, or -1 for all cores")
LIMIT = Range(lambda limit: 0 < limit < 2**40, "a positive number, or null")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """An option of a group of `conf/`."""

    group: ClassVar[str]
    name: str

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """Return the specification of a config.

        Raises
        ------
        UserError
            If a value is missing, of the wrong type or out of range.
        """
        return typed_mapping(cls, content, f"{cls.group} {content.get('name', '')}".strip())

    @classmethod
    def named(cls, name: str) -> Self:
        """Return an option by name; raise a UserError with the known names if there is none."""
        return read_file(cls, option_file(cls.group, name), _checked)

    def as_mapping(self) -> dict[str, Any]:
        """Return the config that this is the specification of, without what it leaves out."""
        found: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.metadata == REST:
                found |= value
            elif value is not None or each.default is not None:
                found[each.name] = value
        return found

    def as_written(self) -> dict[str, Any]:
        """Return the config of its option with what was set of it, and no other defaults."""
        written = load_option(self.group, self.name)
        plain = self.read(written).as_mapping()
        changed = {key: one for key, one in self.as_mapping().items() if one != plain.get(key)}
        return {**written, **changed}

    def patched(self, patch: Mapping[str, Any]) -> Self:
        """Return the specification with what a patch sets of it.

        Parameters
        ----------
        patch : mapping
            Values by ``group.name.path.to.value``; a name may be ``*``.

        Raises
        ------
        UserError
            If there is no such place, or a value does not fit it.
        """
        content = here = self.as_mapping()
        for key, value in patch.items():
            group, name, *path = key.split(".")
            if group == self.group and name in ("*", self.name):
                content = _put(content, path, value)
        return self if content is here else self.read(content)


def _checked(spec: Any, path: Path) -> Any:
    """Return an option that is called as its file, and whose module is no other's.

    Raises
    ------
    UserError
        If its name, the paper of a reading, or the module of a data set is wrong.
    """
    refuse_other_name(path, "name", spec.name, path.stem)
    if path.parent.name != spec.group and (paper := getattr(spec, "paper", None)):
        refuse_other_name(path, "paper", paper, path.parent.name)
    if isinstance(spec, DataSetSpec) and not path.is_relative_to(CONF):
        module = spec.loaded_by
        if added_module(module) is not None and module in data_set_names():
            raise UserError(f"{path}: there is another module {module!r}; rename {module}.py")
    return spec


def _put(values: Mapping[str, Any], path: list[str], value: Any) -> Any:
    """Return a mapping with another value at a path."""
    if not path:
        return value
    key, *below = path
    return {**values, key: _put(values.get(key, {}), below, value)}


@dataclass(frozen=True, kw_only=True)
class AlgorithmSpec(Spec):
    """A learner with its hyper-parameters: `fixed` ones, and a `grid` to choose the others from.

    `cites` has the keys of its papers, and `only` the numbers of the points to play, if not all.
    """

    group: ClassVar[str] = "algorithm"
    label: str
    learner: str
    cites: tuple[str, ...] = ()
    networked: bool
    fixed: Mapping[str, Any]
    grid: Mapping[str, Any]
    only: tuple[int, ...] | None = None

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """Return the specification of a config; one with ``_target_`` is of a `FOREIGN` learner."""
        if target := content.get(TARGET):
            if "learner" in content:
                raise UserError(
                    f"algorithm {content.get('name', '')}: it has both learner and {TARGET}; "
                    "write one of them"
                )
            others = {key: value for key, value in content.items() if key != TARGET}
            fixed = {TARGET: target, **content.get("fixed", {})}
            content = {**others, "learner": FOREIGN, "fixed": fixed}
        return super().read(content)

    def patched(self, patch: Mapping[str, Any]) -> Self:
        """Return it with what a patch sets; what is searched then is not fixed."""
        spec = super().patched(patch)
        if spec.grid == self.grid:
            return spec
        fixed = {key: value for key, value in spec.fixed.items() if key not in spec.grid}
        return replace(spec, fixed=fixed)

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return it with hyper-parameters by name; of a list of values, one is chosen."""
        fixed, grid = dict(self.fixed), dict(self.grid)
        for name, value in values.items():
            if name in grid or isinstance(value, list):
                fixed.pop(name, None)
                grid[name] = value if isinstance(value, list) else [value]
            else:
                fixed[name] = value
        return replace(self, fixed=fixed, grid=grid)

    @property
    def is_foreign(self) -> bool:
        """Whether it plays a class of another package."""
        return self.learner == FOREIGN

    @property
    def points(self) -> list[dict[str, Any]]:
        """The hyper-parameters of each point of the grid that is played, last name fastest."""
        for name, values in self.grid.items():
            if not isinstance(values, list) or not values:
                raise UserError(
                    f"algorithm {self.name}: grid.{name}={values!r} must be a list, not empty"
                )
        if both := [name for name in self.grid if name in self.fixed]:
            raise UserError(
                f"algorithm {self.name}: {', '.join(both)} is both in fixed and in grid; "
                f"set it by algorithm.{both[0]}=VALUE, or leave it in one of them"
            )
        points = [
            {**self.fixed, **dict(zip(self.grid, values, strict=True))}
            for values in product(*self.grid.values())
        ]
        if self.only is None:
            return points
        if not self.only or not set(self.only) <= set(range(len(points))):
            raise UserError(
                f"algorithm {self.name}: only={[*self.only]} must name points of its grid, by "
                f"numbers from 0 to {len(points) - 1}"
            )
        return [points[number] for number in self.only]


@dataclass(frozen=True, kw_only=True)
class DataSetSpec(Spec):
    """A data set with its options, and how its rows are prepared.

    `module` is the one in `data_fetchers` that loads it, if it has another name.
    """

    group: ClassVar[str] = "dataset"
    module: str | None = None
    label: str
    options: Mapping[str, Any]
    normalise: str
    bias: bool

    @property
    def loaded_by(self) -> str:
        """The name of the module that loads it."""
        return self.module or self.name

    @property
    def fetcher(self) -> DataSetModule:
        """The module that loads it."""
        return data_set(self.loaded_by)

    @property
    def files(self) -> dict[str, str]:
        """The hash of each of its files by path: the module's own, or a user's files by options."""
        module: Any = self.fetcher
        if hasattr(module, "hashes"):
            return module.hashes(self.options)
        return {file.path: file.sha256 for file in module.FILES}

    @property
    def is_synthetic(self) -> bool:
        """Whether the data are our own draw, which differs from the authors'."""
        return getattr(self.fetcher, "SYNTHETIC", False)


@dataclass(frozen=True, kw_only=True)
class ProtocolSpec(Spec):
    """How a learner is played and measured; its `module` reads the `settings`."""

    group: ClassVar[str] = "protocol"
    module: str
    stream: str | None = None
    draw: Literal["once", "each_repeat"]
    settings: Mapping[str, Any] = field(default_factory=dict, metadata=REST)

    RANGES: ClassVar[Mapping[str, Range]] = {
        **dict.fromkeys(("checkpoints", "n_train", "ranks", "triplets"), POSITIVE),
        "per_task": Range(lambda n: n is None or POSITIVE.fits(n), f"{POSITIVE.words}, or null"),
        "folds": Range(
            lambda n: type(n) is int and n >= 0 and n != 1,
            "0, or a whole number from 2 on",
        ),
        "share": SHARE,
        "timed": Range(
            lambda n: type(n) is bool or NOT_NEGATIVE.fits(n), "true, false or a number of plays"
        ),
        "pair": Range(
            lambda tasks: (
                tasks is None
                or (isinstance(tasks, list | tuple) and [*map(POSITIVE.fits, tasks)] == [True] * 2)
            ),
            "the numbers of two tasks, from 1, or null",
        ),
        "pooled_ranking": Range(lambda name: name in ("by_task", "pooled"), "by_task or pooled"),
        **dict.fromkeys(("by_task", "with_peers", "with_query", "unit_rows_to_learn"), YES_NO),
    }

    def __post_init__(self) -> None:
        """Refuse settings out of range."""
        for name, within in self.RANGES.items():
            if name in self.settings:
                refuse_unfit(name, self.settings[name], within)

    @property
    def share(self) -> float:
        """The part of the stream that is played."""
        return self.settings.get("share", 1.0)


ALIKE = {f"omtl.protocols.{name}" for name in ("cumulative", "given_order", "rehearsed")}
"""The modules that read the same settings."""

IN_ROUNDS = ALIKE | {"omtl.protocols.accumulation", "omtl.protocols.objective"}
"""The modules that play streams of rounds, or of task after task."""

OF_STREAMS = {"checkpoints", "join", "run_out", "share"}
"""The settings of these streams, of which ``share`` is the part to play."""


def known_settings(module: str = "") -> set[str]:
    """Return the settings that a module of the project reads, or any protocol: of their configs."""
    alike = ALIKE if module in ALIKE else {module}
    specs = {one: ProtocolSpec.named(one) for one in options("protocol")}
    read = [
        spec
        for name, spec in specs.items()
        if spec.module in alike and option_file("protocol", name).is_relative_to(CONF)
    ]
    of_stream = OF_STREAMS if module in IN_ROUNDS else set()
    return of_stream.union(*(spec.settings for spec in read or specs.values()))


@dataclass(frozen=True, kw_only=True)
class NetworkSpec(Spec):
    """Which nodes hear which, and with what weights."""

    group: ClassVar[str] = "network"
    topology: str
    edges: tuple[tuple[int, ...], ...] | None
    n_nodes: Annotated[int, POSITIVE] | None
    weights: str
    include_self: bool


def network_label(network: Mapping[str, Any]) -> str:
    """Return what the network of a config is called: by its name, unless its edges are others."""
    edges = load_option("network", network["name"])["edges"]
    return network["name"] if as_plain(network["edges"]) == as_plain(edges) else "the given network"


@dataclass(frozen=True, kw_only=True)
class SelectionSpec(Spec):
    """A rule that chooses a point of a grid, and what it chooses by (`omtl.experiment.selection`).

    `tasks` are those whose mistakes count, from 1; none means all. `most` and `least` name the
    array whose mean or sum decides instead of the mistakes.
    """

    group: ClassVar[str] = "selection"
    rule: Literal["oracle", "prefix", "progressive", "fixed", "cross_validation"]
    fraction: Annotated[float, SHARE] | None = None
    target: Literal["total", "worst_task"] = "total"
    tasks: Annotated[tuple[int, ...], TASKS] = ()
    least: str = "mistakes"
    most: str | None = None
    chosen_for: Literal["each", "all"] = "each"
    point: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a rule for the first part of a stream that does not say how long it is."""
        if self.rule == "prefix":
            refuse_unfit("fraction", self.fraction, SHARE)


@dataclass(frozen=True, kw_only=True)
class Rung:
    """A step of a search: the part of the stream, of how many repeats, and how many points stay."""

    share: Annotated[float, SHARE]
    repeats: Annotated[int, POSITIVE]
    keep: Annotated[int, POSITIVE]


@dataclass(frozen=True, kw_only=True)
class SearchSpec(Spec):
    """How grids of at least so many points are narrowed before they are played in full."""

    group: ClassVar[str] = "search"
    from_points: int
    rungs: tuple[Rung, ...]


@dataclass(frozen=True, kw_only=True)
class ParallelSpec(Spec):
    """What computes units, how many at once (-1: one per core), and the limits of each.

    `address` is that of a cluster, empty for workers on this machine; other engines have none.
    """

    group: ClassVar[str] = "parallel"
    backend: Literal["sequential", "threading", "processes", "dask", "ray"]
    jobs: Annotated[int, JOBS]
    address: str | None = None
    unit_seconds: Annotated[float, LIMIT] | None = None
    unit_mib: Annotated[int, LIMIT] | None = None

    def __post_init__(self) -> None:
        """Refuse workers of a process that has none, and the address of a cluster likewise."""
        if self.backend == "sequential" and self.jobs != 1:
            raise UserError(
                f"it computes one unit after another, so it takes no jobs={self.jobs}; use threads "
                "or processes"
            )
        if self.address is not None and self.backend not in ("dask", "ray"):
            raise UserError(
                f"it runs on this machine only, so it takes no address={self.address!r}; "
                "use dask or ray"
            )

    @property
    def n_jobs(self) -> int:
        """How many units are computed at once on this machine."""
        import joblib  # what is stored does without

        return joblib.cpu_count() if self.jobs < 1 else self.jobs


SERIAL = ParallelSpec(name="serial", backend="sequential", jobs=1)
"""One unit after another, in this process."""


SPECS: Mapping[str, type[Spec]] = {
    kind.group: kind
    for kind in (AlgorithmSpec, DataSetSpec, ProtocolSpec, NetworkSpec, SelectionSpec)
}
"""The specifications by their groups: those that a reading can change."""
