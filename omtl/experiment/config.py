"""The files of configs and papers: the package's, and those of extensions and the user's folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from omtl.experiment.schema import read_yaml
from omtl.util.errors import UserError, choose
from omtl.util.providers import provider_of, providers


def option_files(group: str) -> dict[str, Path]:
    """Return the files of a group by name: those of all `providers`.

    Raises
    ------
    UserError
        If two have the same name, or names that differ only in case.
    """
    found: dict[str, Path] = {}
    alike: dict[str, str] = {}
    for provider in providers():
        folder = provider.conf / group
        within = f"{folder.as_posix()}/"
        for here, _, names in os.walk(folder):
            for path in (Path(here, name) for name in names if name.endswith(".yaml")):
                name = path.as_posix().removeprefix(within).removesuffix(".yaml")
                other = alike.setdefault(name.casefold(), name)
                if other in found:
                    there = provider_of(found[other]).name
                    raise UserError(f"{path}: {there} has {group} {other!r} already; rename yours")
                found[name] = path
    return dict(sorted(found.items()))


def options(group: str) -> list[str]:
    """Return the names in a group, of all providers."""
    return list(option_files(group))


def option_file(group: str, name: str) -> Path:
    """Return the file of an option; raise UserError with the known names if there is none."""
    places = (provider.conf / group / f"{name}.yaml" for provider in providers())
    there = [path for path in places if path.is_file()]
    if len(there) == 1 and ".." not in name and not Path(name).is_absolute():
        return there[0]
    return option_files(group)[known_option(group, name)]


def known_option(group: str, name: str) -> str:
    """Return the name of an option; raise UserError with the known names if there is none.

    A label, as papers call a learner or a data set, is answered with the names of what has it.
    """
    known = options(group)
    others = () if name in known else known
    meant = [one for one in others if _label(group, one).casefold() == name.casefold()]
    return choose(group, name, known, meant)


def _label(group: str, name: str) -> str:
    """Return an option's label; nothing if it has none, or its file cannot be read."""
    with suppress(UserError):
        return str(load_option(group, name).get("label", ""))
    return ""


def load_option(group: str, name: str) -> Mapping[str, Any]:
    """Return an option's config as it is written; raise UserError if there is none.

    `omtl.experiment.specs` has typed ones of most groups.
    """
    return read_yaml(option_file(group, name))


def paper_files(pattern: str) -> list[Path]:
    """Return the files of all papers that match a pattern, by paper and name.

    Raises
    ------
    UserError
        If two papers have the same name.
    """
    folders: dict[str, Path] = {}
    for each in providers():
        for path in sorted(each.experiments.glob("*/")):
            if path.name in folders:
                raise UserError(f"{path}: there is a paper {path.name!r} already; rename yours")
            folders[path.name] = path
    return [path for name in sorted(folders) for path in sorted(folders[name].glob(pattern))]


def paper_file(paper: str, name: str) -> Path:
    """Return the path of a paper's file, which need not exist."""
    folders = [each.experiments / paper for each in reversed(providers())]
    return next((folder for folder in folders if folder.is_dir()), folders[-1]) / name
