"""What is installed, cached and missing."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import joblib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import data_fetchers
from data_fetchers.fetch import local_path
from omtl.experiment.config import option_files
from omtl.util import user_folder
from omtl.util.compile_cache import kept_in, own_home
from omtl.util.files import IN_WORK
from omtl.util.paths import ROOT, home_folder
from omtl.util.providers import extensions

GOOD, BAD, NOTE = "ok", "missing", "note"
"""`BAD` prevents something from working; a `NOTE` is something to add when needed."""

OLDEST_PYTHON = (3, 11)

EXTRAS = {"": BAD, "harness": BAD, "report": BAD, "tables": NOTE, "engines": NOTE, "dev": NOTE}
"""The package's extras, each with the consequence if one of its packages is missing."""

LOCKS = {"tables": "tables", "engines": "engines", "dev": "test"}
"""The lock file that pins an extra; the others are in ``run.lock``."""

KEPT = {"store": "finished units", "data": "data files"}
"""Folders of what is kept between runs, and their contents."""

VARIABLES = ("OMTL_HOME", "OMTL_DATA", "OMTL_DATA_MIRROR", "OMTL_OFFLINE", "OMTL_OWN")


def examined_part(part: str, name: str, state: str, detail: str) -> dict[str, str]:
    """Return one finding: part, subject, state and details."""
    return {"part": part, "name": name, "state": state, "detail": detail}


def examined() -> list[dict[str, str]]:
    """Return all findings."""
    return [*_machine(), *_packages(), *_kept(), *_data(), *_own()]


def _machine() -> list[dict[str, str]]:
    running = sys.version_info[:2] >= OLDEST_PYTHON
    findings = [
        examined_part("machine", "python", GOOD if running else BAD, sys.version.split()[0]),
        examined_part("machine", "cores", GOOD, str(joblib.cpu_count())),
    ]
    given = [(name, os.environ[name]) for name in VARIABLES if os.environ.get(name)]
    return findings + [examined_part("environment", name, GOOD, value) for name, value in given]


def _packages() -> list[dict[str, str]]:
    """Return what is installed of each extra's packages, and how to install what is not."""
    asked = [Requirement(line) for line in requires("omtl") or []]
    findings: dict[str, dict[str, str]] = {}
    for extra, lacking in EXTRAS.items():
        lock = f"requirements/{LOCKS.get(extra, 'run')}.lock"
        locked = _locked(ROOT / lock)
        todo = f"pip install --require-hashes -r {lock}" if locked else f"pip install omtl[{extra}]"
        for one in asked:
            name, marker = canonicalize_name(one.name), str(one.marker or "")
            needed = one.marker is None or one.marker.evaluate({"extra": extra})
            if name == "omtl" or not needed or ("extra" in marker) != bool(extra):
                continue
            state, detail = _state_of(name, locked.get(name, set()), lacking)
            detail += "" if state == GOOD else f": {todo}"
            findings.setdefault(name, examined_part("packages", name, state, detail))
    return list(findings.values())


def _state_of(package: str, locked: set[str], lacking: str) -> tuple[str, str]:
    try:
        found = version(package)
    except PackageNotFoundError:
        return lacking, "not installed"
    if locked and found not in locked:
        return NOTE, f"{found}, but {' or '.join(sorted(locked))} is locked"
    return GOOD, found


def _locked(path: Path) -> dict[str, set[str]]:
    """Return the versions of each package in a lock file, one for each Python version."""
    locked: dict[str, set[str]] = {}
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for name, number in re.findall(r"^([\w.-]+)(?:\[.*\])?==([^\s;\\]+)", text, re.M):
        locked.setdefault(canonicalize_name(name), set()).add(number)
    return locked


def _kept() -> list[dict[str, str]]:
    folders = {home_folder() / name: what for name, what in KEPT.items()}
    if (home := own_home()) is not None:
        folders[home] = " of ".join(filter(None, ["compiled code", ", ".join(kept_in(home))]))
    return [_contents(folder, what) for folder, what in folders.items()]


def _contents(folder: Path, what: str) -> dict[str, str]:
    files = _sizes(folder)
    damaged = sum(path.suffix == ".damaged" for path in files)
    detail = f"{len(files)} files, {sum(files.values()) / 2**20:.1f} MiB: {what}"
    detail += f"; {damaged} damaged, set aside" if damaged else ""
    return examined_part("kept", str(folder), GOOD if files else NOTE, detail)


def _sizes(folder: Path) -> dict[Path, int]:
    """Return the sizes of all files in and below a folder, possibly during a run."""
    sizes = {}
    for here, _, names in os.walk(folder):  # ignores folders that disappear meanwhile
        for path in (Path(here, name) for name in names if not name.startswith(IN_WORK)):
            with suppress(OSError):  # the file is gone
                sizes[path] = path.stat().st_size
    return sizes


def _data() -> list[dict[str, str]]:
    findings = []
    for name in data_fetchers.data_set_names():
        one = data_fetchers.data_set(name)
        if not one.FILES:
            continue
        folder = data_fetchers.folder_of(one)
        there = [local_path(folder, file) for file in one.FILES]
        lacking = [
            file.path
            for file, path in zip(one.FILES, there, strict=True)
            if not path.is_file() or path.stat().st_size != file.n_bytes
        ]
        size = sum(file.n_bytes for file in one.FILES) / 2**20
        detail = f"{len(one.FILES)} files, {size:.1f} MiB"
        if lacking:
            detail = f"{len(lacking)} of {detail} to fetch: omtl fetch {name}"
        findings.append(examined_part("data", name, NOTE if lacking else GOOD, detail))
    return findings


def _own() -> list[dict[str, str]]:
    folder = user_folder.own_folder()
    added = [
        examined_part("extensions", each.package, GOOD, str(each.conf)) for each in extensions()
    ]
    if folder is None:
        return [*added, examined_part("own", "folder", NOTE, "none: see docs/own_learner.md")]
    if not folder.is_dir():
        return [
            *added,
            examined_part("own", str(folder), BAD, f"{user_folder.VARIABLE} names no folder"),
        ]
    return added + [
        examined_part("own", f"{group} {name}", GOOD, str(path))
        for group in user_folder.GROUPS
        for name, path in option_files(group).items()
        if path.is_relative_to(folder)
    ]
