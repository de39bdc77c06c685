"""Reading the configs: groups of `conf/`, readings, and the experiments composed of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from omtl.experiment.naming import SUPPORT
from omtl.experiment.papers import paper_file
from omtl.util.errors import UserError
from omtl.util.paths import CONF
from omtl.util.user_folder import own_folder


def text_of(path: Path) -> str:
    """Return a config's text; raise UserError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise UserError(f"{path}: cannot be read ({fault.strerror})") from fault
    except UnicodeDecodeError as fault:
        raise UserError(
            f"{path}: byte {fault.start + 1} is not of UTF-8; save the file as UTF-8"
        ) from fault


def copied(value: Any) -> Any:
    """Return a deep copy of a config's value."""
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    return [copied(one) for one in value] if isinstance(value, list) else value


def read_yaml(path: Path) -> dict[str, Any]:
    """Return a YAML file's mapping; raise UserError if it cannot be read."""
    try:
        content = copied(_parsed(text_of(path)))
    except yaml.YAMLError as fault:
        raise UserError(f"{path}: is not valid YAML: {' '.join(str(fault).split())}") from fault
    if not isinstance(content, dict):
        raise UserError(f"{path}: must be a mapping of names to values")
    return content


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a duplicate key in a mapping; YAML would silently use the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping's keys and values."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.MarkedYAMLError(None, None, f"{key.value} twice", key.start_mark)
            if isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


@lru_cache(maxsize=512)
def _parsed(text: str) -> Any:
    """Return a parsed YAML text, cached: a table reads the same few files a thousand times."""
    return yaml.load(text, _Loader)


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a "did you mean" with the closest known name, ignoring case, or nothing."""
    by_lower = {one.lower(): one for one in known}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""


def choose(what: str, name: str, known: list[str]) -> str:
    """Return `name` if it is known; raise a UserError with the known names if it is not."""
    if name in known:
        return name
    hint = did_you_mean(name, known)
    raise UserError(f"no {what} {name!r}{hint}; choose from {', '.join(known)}")


def option_files(group: str) -> dict[str, Path]:
    """Return the files of a group by name: those of `conf/`, and of the user's own folder.

    Raises
    ------
    UserError
        If one of the user's files has the same name as one of ours.
    """
    found: dict[str, Path] = {}
    mine = own_folder()
    for home in (CONF,) if mine is None or mine.resolve() == CONF else (CONF, mine):
        for name, path in _yaml_files(str(home / group)):
            if name in found:
                raise UserError(f"{path}: there is a {group} {name!r} in conf/ already; rename it")
            found[name] = Path(path)
    return dict(sorted(found.items()))


def _yaml_files(folder: str, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the YAML files of a folder and those inside it, by name without suffix.

    With texts in place of paths it takes a third of the time, and each cell of a table asks for it.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".yaml"):
                yield prefix + entry.name.removesuffix(".yaml"), entry.path
            elif entry.is_dir(follow_symlinks=False):
                yield from _yaml_files(entry.path, f"{prefix}{entry.name}/")


def options(group: str) -> list[str]:
    """Return the names in a group of `conf/` and of the user's own folder."""
    return list(option_files(group))


TARGET = "_target_"
"""The key with which an algorithm names a class of another package, as in Hydra."""

FOREIGN = "omtl.learners.foreign.Foreign"
"""The learner that plays such a class."""

NEEDED: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "algorithm": {
        "name": (str,),
        "label": (str,),
        "learner": (str,),
        "networked": (bool,),
        "fixed": (dict,),
        "grid": (dict,),
    },
    "dataset": {
        "name": (str,),
        "label": (str,),
        "options": (dict,),
        "normalise": (str,),
        "bias": (bool,),
    },
    "protocol": {"name": (str,), "module": (str,), "draw": (str,)},
}
"""Required values of each group's configs, and their types."""


Check = tuple[Callable[[Any], bool], str]
"""A check of a value, with its description."""

POSITIVE: Check = (lambda n: type(n) is int and n > 0, "a positive whole number")
SHARE: Check = (lambda x: type(x) in (int, float) and 0 < x <= 1, "above 0 and at most 1")

RANGES: Mapping[str, Mapping[str, Check]] = {
    "protocol": {
        "checkpoints": POSITIVE,
        "n_train": POSITIVE,
        "folds": (lambda n: type(n) is int and n >= 0 and n != 1, "0, or a whole number from 2 on"),
        "share": SHARE,
    },
    "selection": {"fraction": SHARE},
}
"""Checks of optional values of a group."""


def whole(group: str, config: dict[str, Any]) -> dict[str, Any]:
    """Return a config after checking that it has all required values of its group.

    An algorithm that names a class of another package, by ``_target_``, is a `Foreign` learner.

    Raises
    ------
    UserError
        If a value is missing, of the wrong type or out of range.
    """
    where = f"{group} {config.get('name', '')}".strip()
    if group == "algorithm" and (target := config.pop(TARGET, None)):
        if "learner" in config:
            raise UserError(f"{where}: it has both learner and {TARGET}; write one of them")
        config |= {"learner": FOREIGN, "fixed": {TARGET: target} | config.get("fixed", {})}
    for name, kinds in NEEDED.get(group, {}).items():
        if name not in config:
            raise UserError(f"{where}: it has no {name}; write one in its config")
        if not isinstance(config[name], kinds):
            kind = {bool: "true or false", dict: "a mapping", str: "a text"}[kinds[0]]
            raise UserError(f"{where}: {name}={config[name]!r} must be {kind}")
    for name, (fits, words) in RANGES.get(group, {}).items():
        if name in config and not fits(config[name]):
            raise UserError(f"{where}: {name}={config[name]!r} must be {words}")
    return config


def load_option(group: str, name: str) -> dict[str, Any]:
    """Return a group's config by name.

    Raises
    ------
    UserError
        If there is none, or it lacks a required value.
    """
    files = option_files(group)
    return whole(group, read_yaml(files[choose(group, name, list(files))]))


def questions(paper: str) -> dict[str, Any]:
    """Return a paper's open questions, from its ``readings.yaml``.

    Raises
    ------
    UserError
        If a non-literal option has no label from `SUPPORT`, or another option has one.
    """
    path = paper_file(paper, "readings.yaml")
    asked = read_yaml(path)["questions"]
    for name, question in asked.items():
        departures = set(map(str, question["options"])) - {str(question["literal"])}
        for option in sorted(departures | set(map(str, question.get("support", {})))):
            label = support_of(question, option)
            if option not in departures:
                raise UserError(
                    f"{path}: question {name}: support names {option!r}, which is not an option "
                    "besides the literal one"
                )
            if label not in SUPPORT:
                raise UserError(
                    f"{path}: question {name}: option {option!r} has support {label!r}; "
                    f"write one of {', '.join(SUPPORT)}"
                )
        if not isinstance(question.get("found", ""), str):
            raise UserError(f"{path}: question {name}: found must be a text")
    return asked


def support_of(question: Mapping[str, Any], option: Any) -> str | None:
    """Return an option's support in the paper's text; None for the literal one."""
    labels = {str(name): label for name, label in question.get("support", {}).items()}
    return labels.get(str(option))


def named_reading(paper: str, name: str) -> dict[str, Any]:
    """Return a reading of a paper: ``conf/reading/<paper>/<name>.yaml``, or the one for all."""
    own = {k.removeprefix(f"{paper}/"): k for k in options("reading") if k.startswith(f"{paper}/")}
    shared = {k: k for k in options("reading") if "/" not in k}
    known = shared | own
    return load_option("reading", known[choose("reading", name, sorted(known))])


def for_column(reading: Mapping[str, Any], column: str) -> dict[str, Any]:
    """Return a reading with only its answers that can affect a column of a table."""
    if not reading["answers"]:
        return dict(reading)
    asked = questions(reading["paper"])
    moving = {
        question: answer
        for question, answer in reading["answers"].items()
        if question not in asked or column in asked[question]["columns"]
    }
    return {**reading, "answers": moving}


def patch_of(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config values that a reading's answers set.

    Keys are ``group.name.path.to.value``; a name may be ``*``.

    Raises
    ------
    UserError
        If an answer belongs to no question, or is not one of its options.
    """
    patch: dict[str, Any] = {}
    asked = questions(reading["paper"]) if reading["answers"] else {}
    for question, answer in reading["answers"].items():
        chosen = asked[choose(f"question of {reading['paper']}", question, list(asked))]
        choices = {str(choice): value for choice, value in chosen["options"].items()}
        patch |= choices[choose(f"answer to {question!r}", str(answer), list(choices))]
    return patch


def apply_reading(parts: Mapping[str, Any], reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of an experiment with a reading's answers applied.

    Parameters
    ----------
    parts : mapping
        The configs by group: algorithm, dataset, protocol, network, selection.
    reading : mapping
        A reading's config.
    """
    return patched(parts, patch_of(reading))


def patched(parts: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return configs with values set by ``group.name.path.to.value``."""
    changed = copied(dict(parts))
    for key, value in patch.items():
        group, name, *path = key.split(".")
        target = changed.get(group)
        if target is None or name not in ("*", target["name"]):
            continue
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = copied(value)
        if group == "algorithm" and path[0] == "grid":  # searched, so not fixed
            config = changed[group]
            config["fixed"] = {k: v for k, v in config["fixed"].items() if k not in config["grid"]}
    return changed


def grid_points(algorithm: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the hyper-parameters of each point of an algorithm's grid, last name fastest.

    If the algorithm has `only`, these are the points with the given numbers.
    """
    grid = algorithm["grid"]
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise UserError(
                f"algorithm {algorithm['name']}: grid.{name}={values!r} must be a list of values"
            )
    fixed = algorithm["fixed"]
    if both := [name for name in grid if name in fixed]:
        raise UserError(
            f"algorithm {algorithm['name']}: {', '.join(both)} is both in fixed and in grid; "
            f"set it by algorithm.{both[0]}=VALUE, or leave it in one of them"
        )
    points = [fixed | dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return [points[number] for number in algorithm.get("only", range(len(points)))]


LIMITS: Mapping[str, tuple[type, ...]] = {"unit_seconds": (int, float), "unit_mib": (int,)}
"""Limits of a unit, and the types of their numbers."""


def resolve_jobs(parallel: Mapping[str, Any], jobs: int | None = None) -> dict[str, Any]:
    """Return the parallel config with the requested number of jobs (−1: one per core)."""
    asked = parallel["jobs"] if jobs is None else jobs
    if not isinstance(asked, int) or (asked < 1 and asked != -1):
        raise UserError(f"parallel.jobs={asked!r} must be a positive number, or -1 for all cores")
    for name, kinds in LIMITS.items():
        limit = parallel.get(name)
        if limit is not None and (type(limit) not in kinds or not limit > 0):
            raise UserError(f"parallel.{name}={limit!r} must be a positive number, or null")
    return {**parallel, "jobs": asked}
