"""The wheel, used outside the checkout: all that the package needs travels in it."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import environments
import pytest

from omtl.util.files import write_whole
from omtl.util.paths import RESULTS, ROOT

JOURNEYS = sorted((ROOT / "scripts" / "journeys").glob("*.sh"))

CORE_ALONE = """
import sys

LACKING = {"yaml", "rich", "hydra", "omegaconf", "pandas", "matplotlib", "pooch", "river"}

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name in LACKING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacking())
"""
"""A sitecustomize under which only what the learners need is installed."""


@pytest.fixture(scope="module")
def installed(once: Callable[..., Path]) -> Path:
    """The wheel, unpacked as an installer does."""

    def install(folder: Path) -> None:
        build = "-m pip --quiet --disable-pip-version-check wheel --no-deps --no-build-isolation"
        environments.python(*build.split(), "--wheel-dir", str(folder), str(ROOT))
        (wheel,) = folder.glob("*.whl")
        zipfile.ZipFile(wheel).extractall(folder / "site")

    return once("wheel", install) / "site"


def outside(installed: Path, also: Path | None = None) -> dict[str, str]:
    """Return an environment in which the wheel takes the place of the checkout."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMTL_", "NUMBA_"))}
    path = os.pathsep.join(str(path) for path in (also, installed) if path)
    cache = str(installed.parent / "cache")
    return kept | {"PYTHONPATH": path, "XDG_CACHE_HOME": cache, "OMTL_OFFLINE": "1"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_maintainers_journey(installed: Path, tmp_path: Path) -> None:
    """All its commands in one process, which is quicker."""
    (journey,) = (path for path in JOURNEYS if path.stem == "maintainer")
    lines = [line for line in journey.read_text("utf-8").splitlines() if line.startswith("omtl")]
    commands = [line.partition(" | ")[0] for line in lines]
    told = environments.told_by(*commands, cwd=tmp_path, env=outside(installed))
    assert "verdict" in told[-1]
    assert not list(installed.rglob(".omtl")), "something was kept beside the installed package"


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("journey", JOURNEYS, ids=[path.stem for path in JOURNEYS])
def test_a_journey(journey: Path, installed: Path, tmp_path: Path) -> None:
    """A newcomer's commands, one after the other, in an empty folder: each one ends well."""
    program = tmp_path / "bin" / "omtl"
    write_whole(program, f'#!/bin/sh\nexec "{sys.executable}" -m omtl "$@"\n')
    program.chmod(0o755)
    here = tmp_path / "empty"
    here.mkdir()
    around = outside(installed)
    around["PATH"] = f"{program.parent}{os.pathsep}{around['PATH']}"
    done = environments.ended("sh", "-x", str(journey), cwd=here, env=around)
    assert "Traceback" not in done.stderr


def test_all_results_travel_in_the_wheel(installed: Path) -> None:
    """So that the site is whole without a checkout; runs with few repeats stay behind."""
    shipped = {path.name for path in (installed / "omtl" / "shipped" / "results").iterdir()}
    assert shipped == {path.name for path in RESULTS.iterdir()} - {"partial"}


@pytest.mark.slow
def test_the_core_alone(installed: Path, tmp_path: Path) -> None:
    """The learners work without the harness; its commands name the extra that brings them."""
    lacking, here = tmp_path / "lacking", tmp_path / "empty"
    here.mkdir()
    write_whole(lacking / "sitecustomize.py", CORE_ALONE)
    around = outside(installed, also=lacking)
    environments.python(str(ROOT / "examples" / "use_a_learner.py"), cwd=here, env=around)
    command = environments.python("-m", "omtl", "list", status=2, cwd=here, env=around)
    assert command.stderr.endswith("pip install 'omtl[harness]'\n")
    assert "Traceback" not in command.stderr
