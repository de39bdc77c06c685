"""Modules import from below, each public name is defined once, and what is installed is pinned."""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
import tomllib
from functools import cache
from importlib.metadata import EntryPoint, packages_distributions
from pathlib import Path

import environments
import pytest

from omtl.util import providers
from omtl.util.errors import UserError
from omtl.util.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TOP_DOWN = re.findall(r"^\| `omtl/(\w+)/` \|", PAGE.partition("folder of `omtl/`")[2], re.MULTILINE)
FLOORS = list(reversed(TOP_DOWN))
FLOORS.insert(FLOORS.index("sklearn"), "data_fetchers")
MODULES = sorted([*(ROOT / "omtl").rglob("*.py"), *(ROOT / "data_fetchers").glob("*.py")])

INTERFACES = {"load", "parse", "play_grid", "run"}
"""Functions that a module is recognised by: of a data set, a protocol, a command."""

NOT_YET = ("kernel", "learners")
"""Folders whose vocabulary is counted apart: renaming it changes the learners' hashes."""


def floor(parts: tuple[str, ...]) -> int | None:
    """Return how high a module stands; None at the root of the package, and for others' modules."""
    if parts[0] not in ("omtl", "data_fetchers"):
        return None
    folder = parts[0] if parts[0] == "data_fetchers" else parts[1] if len(parts) > 1 else ""
    return FLOORS.index(folder) if folder in FLOORS else None


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> set[str]:
    """Return all modules that a file imports, also within its functions."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_the_page_names_all_folders() -> None:
    """They are those that there are."""
    there = {path.parent.name for path in (ROOT / "omtl").glob("*/__init__.py")}
    assert set(TOP_DOWN) == there


def test_no_module_imports_from_above() -> None:
    """What stands below knows nothing of what stands above."""
    heights = {path: floor(path.relative_to(ROOT).with_suffix("").parts) for path in MODULES}
    above = [
        f"{path} imports {name}"
        for path, mine in heights.items()
        if mine is not None
        for name in imported(path)
        if (high := floor(tuple(name.split(".")))) is not None and high > mine
    ]
    assert not above


def test_public_names_are_defined_once() -> None:
    """Every data set has its `load`, every protocol its `play_grid`, every command its `run`."""
    found: dict[str, set[str]] = {}
    for path in MODULES:
        parts = path.relative_to(ROOT).parts
        if parts[1] not in NOT_YET:
            for node in tree_of(path).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[0] != "_":
                    found.setdefault(node.name, set()).add("/".join(parts))
    twice = {name: files for name, files in found.items() if len(files) > 1}
    assert twice.keys() <= INTERFACES, twice


LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
PINNED = re.compile(r"^([\w.-]+)(?:\[[^]]*\])?==\S+(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def locked(path: Path) -> dict[str, str]:
    """Return what a lock says of each package, by name."""
    return dict(PINNED.findall(path.read_text(encoding="utf-8")))


def name_of(line: str) -> str:
    """Return the distribution that a requirement names, as locks write it."""
    return re.split(r"[;\[<>= ]", line)[0].lower().replace("_", "-")


@pytest.mark.parametrize("path", LOCKS, ids=[path.name for path in LOCKS])
def test_locks_have_hashes_and_no_address(path: Path) -> None:
    """Each package is pinned to a version, with the hashes of its files."""
    assert locked(path)
    assert all("--hash=sha256:" in rest for rest in locked(path).values())
    assert not re.search(r"://|^--(extra-)?index-url|^--find-links", path.read_text("utf-8"), re.M)


def test_no_file_names_a_package_index() -> None:
    """Which one is used is the business of whoever installs."""
    hosts = "py" + "pi[.]org|python" + "hosted[.]org|mcr[.]micro" + "soft[.]com"
    environments.ended("git", "grep", "-lE", hosts, status=1)


def test_what_is_asked_for_is_locked() -> None:
    """Every requirement of the package and its extras is in the lock of its extra."""
    locks = {"engines": "engines", "tables": "tables", "river": "test", "dev": "test"}
    wanted: dict[str, list[str]] = {}
    for extra, lines in requirements().items():
        wanted.setdefault(locks.get(extra, "run"), []).extend(lines)
    for lock, lines in wanted.items():
        names = {name_of(line) for line in lines} - {"omtl"}
        assert names <= locked(ROOT / "requirements" / f"{lock}.lock").keys()


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
    undeclared = {
        name: path
        for path in MODULES
        for name in {one.partition(".")[0] for one in imported(path)} - sys.stdlib_module_names
        if name not in ("omtl", "data_fetchers")
        and not {name_of(one) for one in came_with.get(name, [name])} & declared
    }
    assert undeclared == {}


EXAMPLE = ROOT / "examples" / "omtl-paper-example"

KEY = """
from omtl.experiment.composition import composed
from omtl.util.code import code_of
run = composed(["algorithm=leaky_perceptron", "dataset=stripes", "selection=oracle"])
unit = run.experiment.unit(0, 0)
assert unit.is_own
for module in ("omtl_paper_example.stripes", "omtl_paper_example.leaky_perceptron"):
    assert module in code_of(module).modules
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the example was installed, from a copy: building leaves files."""
    folder = tmp_path_factory.mktemp("extension")
    shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    words = "-m pip --quiet --disable-pip-version-check install --no-deps --no-build-isolation"
    place = ("--target", str(folder / "site"), str(folder / "source"))
    environments.python(*words.split(), *place)
    return folder


def python(installed: Path, *words: str, status: int = 0) -> str:
    """Return what a program prints where the example is installed."""
    found = environments.environment(installed / "home")
    found["COLUMNS"] = "200"
    found["PYTHONPATH"] += os.pathsep + str(installed / "site")
    done = environments.python(*words, status=status, cwd=installed, env=found)
    return done.stdout + done.stderr


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_what_an_extension_adds_is_used_like_the_rest(installed: Path) -> None:
    """Listed, counted in keys, run in other processes, swept over; its paper is reproduced."""

    def omtl(*words: str) -> str:
        return python(installed, "-m", "omtl", *words)

    for kind, name in {"algorithms": "leaky_perceptron", "tables": "example-table1"}.items():
        (line,) = (line for line in omtl("list", kind).splitlines() if f" {name} " in line)
        assert "omtl_paper_example" in line
    python(installed, "-c", KEY)
    assert "omtl_paper_example" in omtl("doctor")
    checked = omtl("check", "site/omtl_paper_example/leaky_perceptron.py")
    assert "leaky_perceptron: LeakyPerceptron(leak=0.1)" in checked
    run = "run -m algorithm=leaky_perceptron,pm dataset=stripes parallel=processes repeats=1"
    assert omtl(*run.split()).count("Stripes: error") == 2
    table = omtl("table", "example-table1", "--repeats", "1")
    assert "reading as_published" in table
    assert "of 2 cells within 10%" in table


@pytest.mark.deep
def test_a_name_belongs_to_one_provider(installed: Path) -> None:
    """Your own folder may not have an option or a paper of an extension."""
    for place in ("algorithm/leaky_perceptron.yaml", "experiments/example/table1.yaml"):
        source = installed / "site" / "omtl_paper_example" / place
        (installed / place).parent.mkdir(parents=True)
        shutil.copy(source, installed / place)
    listed = python(installed, "-m", "omtl", "list", "algorithms", status=2)
    assert (
        "extension paper-example has algorithm 'leaky_perceptron' already; rename yours" in listed
    )
    listed = python(installed, "-m", "omtl", "list", "tables", status=2)
    assert "there is a paper 'example' already; rename yours" in listed
    shutil.rmtree(installed / "algorithm")
    shutil.rmtree(installed / "experiments")


@pytest.mark.parametrize("value", ["no_such_package", "omtl.util", "json.decoder:x"])
def test_a_broken_extension_is_named(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do."""
    point = EntryPoint("odd", value, providers.ENTRY_POINTS)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])  # noqa: ARG005
    with pytest.raises(UserError, match=r"extension 'odd' names '.*'; install it again|not an"):
        providers.extensions.__wrapped__()
