"""The wheel, used outside the checkout: all that the package needs travels in it."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import environments
import pytest

from omtl.util.paths import RESULTS, ROOT

JOURNEYS = sorted((ROOT / "scripts" / "journeys").glob("*.sh"))
PROGRAMS = sorted({*(ROOT / "examples").glob("*.py")} - {ROOT / "examples/log_to_mlflow.py"})
"""The examples but the callback that Hydra imports, which has a test with a stand-in."""

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

LIBRARY = """
import os, numpy as np
before = dict(os.environ)
from omtl.sklearn import PassiveAggressive
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
model = PassiveAggressive().fit(X, np.sign(X[:, 0]), np.tile([0, 1, 2], 100))
print(model.score(X, np.sign(X[:, 0]), np.tile([0, 1, 2], 100)) > 0.8)
"""


@pytest.fixture(scope="module")
def installed(once: Callable[..., Path]) -> Path:
    """The wheel, unpacked as an installer does."""

    def install(folder: Path) -> None:
        build = "-m pip --quiet --disable-pip-version-check wheel --no-deps --no-build-isolation"
        environments.python(*build.split(), "--wheel-dir", str(folder), str(ROOT))
        (wheel,) = folder.glob("*.whl")
        zipfile.ZipFile(wheel).extractall(folder / "site")

    return once("wheel", install) / "site"


def outside(installed: Path, cache: Path, also: Path | None = None) -> dict[str, str]:
    """Return an environment in which the wheel takes the place of the checkout."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMTL_", "NUMBA_"))}
    path = os.pathsep.join(str(path) for path in (also, installed) if path)
    return kept | {"PYTHONPATH": path, "XDG_CACHE_HOME": str(cache), "OMTL_OFFLINE": "1"}


def python(
    installed: Path, here: Path, *words: str, also: Path | None = None, status: int = 0
) -> environments.Done:
    """Run Python in an empty folder, with the wheel in place of the checkout."""
    here.mkdir(exist_ok=True)
    around = outside(installed, installed.parent / "cache", also)
    return environments.python(*words, status=status, cwd=here, env=around)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "journey",
    [
        # The other tests run the tutorial, which is the researcher's journey, and build a site.
        pytest.param(path, marks=[] if path.stem == "maintainer" else [pytest.mark.deep])
        for path in JOURNEYS
    ],
    ids=[path.stem for path in JOURNEYS],
)
def test_a_journey(journey: Path, installed: Path, tmp_path: Path) -> None:
    """A newcomer's commands, one after the other, in an empty folder: each one ends well."""
    program = tmp_path / "bin" / "omtl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m omtl "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    here = tmp_path / "empty"
    here.mkdir()
    around = outside(installed, installed.parent / "cache")
    around["PATH"] = f"{program.parent}{os.pathsep}{around['PATH']}"
    done = environments.ended("sh", "-x", str(journey), cwd=here, env=around)
    assert "Traceback" not in done.stderr
    assert not list(installed.rglob(".omtl")), "something was kept beside the installed package"


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_a_program(program: Path, installed: Path, tmp_path: Path) -> None:
    """A newcomer's few lines of Python, in an empty folder."""
    python(installed, tmp_path / "empty", str(program))


def test_all_results_travel_in_the_wheel(installed: Path) -> None:
    """So that the site is whole without a checkout; runs with few repeats stay behind."""
    shipped = {path.name for path in (installed / "omtl" / "shipped" / "results").iterdir()}
    assert shipped == {path.name for path in RESULTS.iterdir()} - {"partial"}


def test_the_core_alone(installed: Path, tmp_path: Path) -> None:
    """The learners work without the harness; its commands name the extra that brings them."""
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    (lacking / "sitecustomize.py").write_text(CORE_ALONE, encoding="utf-8")
    here, listed = tmp_path / "empty", ("-m", "omtl", "list")
    assert python(installed, here, "-c", LIBRARY, also=lacking).stdout == "True\n"
    command = python(installed, here, *listed, also=lacking, status=2)
    assert command.stderr.endswith("pip install 'omtl[harness]'\n")
    assert "Traceback" not in command.stderr
