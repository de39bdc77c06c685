"""Reading the configs: groups of `conf/`, readings, and the experiment that they make together."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from omtl.errors import UserError
from omtl.paths import CONF, EXPERIMENTS

AS_WRITTEN = "as_written"


def read_yaml(path: Path) -> dict[str, Any]:
    """Return a YAML file's mapping; raise UserError where it cannot be read."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise UserError(f"{path}: cannot be read ({fault.strerror})") from fault
    except yaml.YAMLError as fault:
        raise UserError(f"{path}: is not valid YAML: {' '.join(str(fault).split())}") from fault
    if not isinstance(content, dict):
        raise UserError(f"{path}: must be a mapping of names to values")
    return content


def choose(what: str, name: str, known: list[str]) -> str:
    """Return `name` if it is known; raise a UserError with the known names if it is not."""
    if name in known:
        return name
    close = get_close_matches(name, known, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise UserError(f"no {what} {name!r}{hint}; choose from {', '.join(known)}")


def options(group: str) -> list[str]:
    """Return the names in a group of `conf/`."""
    folder = CONF / group
    return sorted(p.relative_to(folder).with_suffix("").as_posix() for p in folder.rglob("*.yaml"))


def load_option(group: str, name: str) -> dict[str, Any]:
    """Return the config of a name in a group of `conf/`."""
    return read_yaml(CONF / group / f"{choose(group, name, options(group))}.yaml")


def questions(paper: str) -> dict[str, Any]:
    """Return what a paper leaves open: the questions of its ``readings.yaml``."""
    return read_yaml(EXPERIMENTS / paper / "readings.yaml")["questions"]


def named_reading(paper: str, name: str) -> dict[str, Any]:
    """Return a reading of a paper: ``conf/reading/<paper>/<name>.yaml``, or the one for all."""
    own = {k.removeprefix(f"{paper}/"): k for k in options("reading") if k.startswith(f"{paper}/")}
    shared = {k: k for k in options("reading") if "/" not in k}
    known = shared | own
    return load_option("reading", known[choose("reading", name, sorted(known))])


def for_column(reading: Mapping[str, Any], column: str) -> dict[str, Any]:
    """Return a reading with only its answers to questions that can move a column of a table."""
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
        If an answer is to no question, or not one of its options.
    """
    patch: dict[str, Any] = {}
    if not reading["answers"]:
        return patch
    asked = questions(reading["paper"])
    where = f"question of {reading['paper']}"
    for question, answer in reading["answers"].items():
        choices = asked[choose(where, question, list(asked))]["options"]
        choose(f"answer to {question!r}", str(answer), [str(choice) for choice in choices])
        patch |= next(value for choice, value in choices.items() if str(choice) == str(answer))
    return patch


def apply_reading(parts: Mapping[str, Any], reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of an experiment with a reading's answers set in them.

    Parameters
    ----------
    parts : mapping
        The configs by group: algorithm, dataset, protocol, network, selection.
    reading : mapping
        A reading's config.
    """
    return patched(parts, patch_of(reading))


def patched(parts: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return configs with values set in them, by ``group.name.path.to.value``."""
    changed = deepcopy(dict(parts))
    for key, value in patch.items():
        group, name, *path = key.split(".")
        target = changed.get(group)
        if target is None or name not in ("*", target["name"]):
            continue
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = deepcopy(value)
    return changed


def grid_points(algorithm: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the hyper-parameters of each point of an algorithm's grid, last name fastest.

    Where the algorithm says `only`, it is the points of these numbers.
    """
    grid = algorithm["grid"]
    fixed = algorithm["fixed"]
    points = [fixed | dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return [points[number] for number in algorithm.get("only", range(len(points)))]


def resolve_jobs(parallel: Mapping[str, Any], jobs: int | None = None) -> dict[str, Any]:
    """Return how to run in parallel, with the number of jobs asked for (−1: one a core)."""
    asked = parallel["jobs"] if jobs is None else jobs
    if not isinstance(asked, int) or (asked < 1 and asked != -1):
        raise UserError(f"parallel.jobs={asked!r} must be a positive number, or -1 for all cores")
    return {**parallel, "jobs": asked}
