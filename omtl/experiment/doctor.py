"""What is installed, cached and missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import requires
from pathlib import Path

import joblib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import data_fetchers
from data_fetchers.fetch import local_path
from omtl.experiment.config import option_files
from omtl.util import user_folder
from omtl.util.compile_cache import kept_in, own_home
from omtl.util.files import IN_WORK, file_state
from omtl.util.host import installed_version
from omtl.util.paths import home_folder
from omtl.util.providers import extensions

GOOD, BAD, NOTE = "ok", "missing", "note"
"""`BAD` prevents something from working; a `NOTE` is something to add when needed."""

EXTRAS = {"": BAD, "harness": BAD, "report": BAD, "tables": NOTE, "engines": NOTE, "dev": NOTE}
"""The package's extras, each with the consequence if one of its packages is missing."""

KEPT = {"store": "finished units", "data": "data files"}
"""Folders of what is kept between runs, and their contents."""

VARIABLES = ("OMTL_HOME", "OMTL_DATA", "OMTL_DATA_MIRROR", "OMTL_OFFLINE", "OMTL_OWN")


Finding = dict[str, str]
"""Part, name, state and detail of what was examined."""


def examined() -> list[Finding]:
    """Return all findings."""
    parts = (_machine(), _packages(), _kept(), _data(), _own())
    names = ("part", "name", "state", "detail")
    return [dict(zip(names, found, strict=True)) for part in parts for found in part]


Found = Iterator[tuple[str, str, str, str]]


def _machine() -> Found:
    yield "machine", "python", GOOD, sys.version.split()[0]
    yield "machine", "cores", GOOD, str(joblib.cpu_count())
    for name in filter(os.environ.get, VARIABLES):
        yield "environment", name, GOOD, os.environ[name]


def _packages() -> Found:
    """Yield what is installed of each extra's packages, and how to install what is not."""
    asked = [Requirement(line) for line in requires("omtl") or []]
    seen = {"omtl"}
    for extra, lacking in EXTRAS.items():
        for one in asked:
            name, marker = canonicalize_name(one.name), one.marker
            needed = marker is None or marker.evaluate({"extra": extra})
            if name in seen or not needed or ("extra" in str(marker)) != bool(extra):
                continue
            seen.add(name)
            todo = f"pip install 'omtl[{extra}]'" if extra else "pip install omtl"
            found = installed_version(name)
            detail = found or f"not installed: {todo}"
            yield "packages", name, GOOD if found else lacking, detail


def _kept() -> Found:
    folders = {home_folder() / name: what for name, what in KEPT.items()}
    if (home := own_home()) is not None:
        folders[home] = " of ".join(filter(None, ["compiled code", ", ".join(kept_in(home))]))
    for folder, what in folders.items():
        files = _sizes(folder)
        damaged = sum(path.suffix == ".damaged" for path in files)
        detail = f"{len(files)} files, {sum(files.values()) / 2**20:.1f} MiB: {what}"
        detail += f"; {damaged} damaged, set aside" if damaged else ""
        yield "kept", str(folder), GOOD if files else NOTE, detail


def _sizes(folder: Path) -> dict[Path, int]:
    """Return the sizes of all files in and below a folder, possibly during a run."""
    sizes = {}
    for here, _, names in os.walk(folder):  # ignores folders that disappear meanwhile
        for path in (Path(here, name) for name in names if not name.startswith(IN_WORK)):
            with suppress(OSError):  # the file is gone
                sizes[path] = path.stat().st_size
    return sizes


def _data() -> Found:
    for name in data_fetchers.data_set_names():
        one = data_fetchers.data_set(name)
        folder, files = data_fetchers.folder_of(one), one.FILES
        states = [(file, file_state(local_path(folder, file))) for file in files]
        lacking = [file for file, (_, size, _) in states if size != file.n_bytes]
        detail = f"{len(files)} files, {sum(file.n_bytes for file in files) / 2**20:.1f} MiB"
        if lacking:
            detail = f"{len(lacking)} of {detail} to fetch: omtl fetch {name}"
        if files:
            yield "data", name, NOTE if lacking else GOOD, detail


def _own() -> Found:
    folder = user_folder.own_folder()
    for each in extensions():
        yield "extensions", each.package, GOOD, str(each.conf)
    if folder is None:
        yield "own", "folder", NOTE, "none: see docs/own_learner.md"
    else:
        for group in user_folder.GROUPS:
            for name, path in option_files(group).items():
                if path.is_relative_to(folder):
                    yield "own", f"{group} {name}", GOOD, str(path)
