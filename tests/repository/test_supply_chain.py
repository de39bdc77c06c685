"""What is installed is pinned by hash, licensed, and fetched from nowhere when it is used."""

from __future__ import annotations

import ast
import csv
import re
import socket
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from omtl.util.paths import ROOT
from scripts import audit

LOCKS = sorted((ROOT / "requirements").glob("*.lock"))


def name_of(line: str) -> str:
    """Return the distribution that a requirement names, as locks write it."""
    return re.split(r"[;\[<>= ]", line)[0].lower().replace("_", "-")


@pytest.mark.parametrize("path", LOCKS, ids=[path.name for path in LOCKS])
def test_locks_have_hashes_and_no_address(path: Path) -> None:
    """Each package is pinned to a version, with the hashes of its files."""
    text = path.read_text(encoding="utf-8")
    assert audit.locked(text)
    assert not audit.faults_of_lock(path.name, text)


def test_what_is_wrong_with_a_lock_is_told() -> None:
    """A package without a hash, an address."""
    bare = "numpy==2.0\nscipy==1.0 \\\n    --hash=sha256:ab\n"
    assert audit.locked(bare) == {"numpy": ("2.0", 0), "scipy": ("1.0", 1)}
    assert audit.faults_of_lock("x.lock", bare) == ["x.lock: numpy has no hash; run make lock"]
    addressed = "--index-url https" + "://example.org\nscipy==1.0 --hash=sha256:ab\n"
    (fault,) = audit.faults_of_lock("x.lock", addressed)
    assert fault == "x.lock: names an address to fetch from; run make lock"


def test_what_is_asked_for_is_locked() -> None:
    """Every requirement of the package and its extras is in the lock of its extra."""
    locks = {"engines": "engines", "river": "test", "dev": "test"}
    wanted: dict[str, list[str]] = {}
    for extra, lines in requirements().items():
        wanted.setdefault(locks.get(extra, "run"), []).extend(lines)
    for lock, lines in wanted.items():
        names = {name_of(line) for line in lines} - {"omtl"}
        path = ROOT / "requirements" / f"{lock}.lock"
        assert names <= audit.locked(path.read_text(encoding="utf-8")).keys()


def requirements() -> dict[str, list[str]]:
    """Return the requirements of the package, under "", and of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def test_what_is_imported_is_declared() -> None:
    """By the distribution that it comes from, and not only by another one that needs it."""
    declared = {
        name_of(line) for extra, lines in requirements().items() for line in lines if extra != "dev"
    }
    came_with = packages_distributions()
    undeclared = {}
    for path in (
        path for folder in ("omtl", "data_fetchers") for path in (ROOT / folder).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [str(node.module)]
            for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names:
                of = {name_of(one) for one in came_with.get(name, [name])}
                if name not in ("omtl", "data_fetchers") and not of & declared:
                    undeclared[name] = path.relative_to(ROOT).as_posix()
    assert undeclared == {}


def test_what_the_package_needs_has_a_lower_bound() -> None:
    """Those who develop it take the newest."""
    lines = [line for extra, each in requirements().items() if extra != "dev" for line in each]
    assert [line for line in lines if not line.startswith("omtl") and ">=" not in line] == []
    assert len(lines) > 20


def test_licences_are_listed_and_free() -> None:
    """The list that is kept has packages of the locks, all under licences that allow the use."""
    with audit.LICENCES.open(encoding="utf-8", newline="") as file:
        rows = [(row["package"], row["version"], row["licence"]) for row in csv.DictReader(file)]
    pinned = {
        name: version
        for path in LOCKS
        for name, (version, _) in audit.locked(path.read_text(encoding="utf-8")).items()
    }
    assert {name for name, _, _ in rows} <= pinned.keys()
    assert "numpy" in {name for name, _, _ in rows}
    assert not audit.faults_of_licences(rows)
    assert audit.faults_of_licences([("x", "1", "Proprietary")]) == [
        "x 1: its licence is 'Proprietary'; look whether it may be used"
    ]


def test_the_network_is_closed_to_tests() -> None:
    """But for the loopback, as conftest says."""
    with pytest.raises(RuntimeError, match="a test may not reach"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    with pytest.raises(RuntimeError, match="a test may not reach"):
        socket.getaddrinfo("example.org", 80)
    socket.getaddrinfo("127.0.0.1", 80)


def test_importing_reaches_for_nothing() -> None:
    """Every module of the project is imported without a single connection."""
    program = (
        "import sys, pkgutil, importlib, omtl, data_fetchers\n"
        "def watch(event, arguments):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo'):\n"
        "        raise SystemExit(f'{event} {arguments}')\n"
        "sys.addaudithook(watch)\n"
        "for package in (omtl, data_fetchers):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if not module.name.endswith('__main__'):\n"
        "            importlib.import_module(module.name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
