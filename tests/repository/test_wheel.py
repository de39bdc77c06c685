"""The wheel, used outside the checkout: all that the package needs travels in it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from omtl.util.paths import ROOT

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
from omtl.sklearn import ROMPGD
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
model = ROMPGD(eta=0.1, gamma=0.1).fit(X, np.sign(X[:, 0]), np.tile([0, 1, 2], 100))
print(model.score(X, np.sign(X[:, 0]), np.tile([0, 1, 2], 100)) > 0.8)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked as an installer does."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "--quiet", "wheel", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*build, "--disable-pip-version-check", "--wheel-dir", str(folder), str(ROOT)], check=True
    )
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def python(
    installed: Path, here: Path, *words: str, also: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python in an empty folder, with the wheel in place of the checkout."""
    here.mkdir(exist_ok=True)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMTL_", "NUMBA_"))}
    kept["PYTHONPATH"] = os.pathsep.join(str(path) for path in (also, installed) if path)
    return subprocess.run(
        [sys.executable, *words],
        cwd=here,
        env=kept | {"XDG_CACHE_HOME": str(here / "cache"), "OMTL_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_table_runs_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """The synthetic column needs no data; results go to the folder, what is kept to the cache."""
    here = tmp_path / "empty"
    done = python(installed, here, "-m", "omtl", "table", "dom-table1", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    assert "DOM-I (Full)" in done.stdout
    assert (here / "results" / "partial" / "dom-table1.csv").is_file()
    assert {path.name for path in here.iterdir()} == {"results", "cache"}
    assert not list(installed.rglob(".omtl")), "something was kept beside the installed package"
    once = python(installed, here, "-m", "omtl", "run", "algorithm=pm", "repeats=1")
    assert once.returncode == 0, once.stderr
    assert "error" in once.stdout


def test_results_that_come_with_the_package_are_read(installed: Path, tmp_path: Path) -> None:
    """The ledger and the site are of the published runs where there are none of one's own."""
    here = tmp_path / "reader"
    claims = python(installed, here, "-m", "omtl", "claims")
    assert claims.returncode == 0, claims.stderr
    assert "holds" in claims.stdout
    site = python(installed, here, "-m", "omtl", "report", "--output", "site")
    assert site.returncode == 0, site.stderr
    assert "rom-table1" in (here / "site" / "index.html").read_text(encoding="utf-8")


def test_the_core_alone(installed: Path, tmp_path: Path) -> None:
    """The learners work without the harness; its commands name the extra that brings them."""
    lacking = tmp_path / "lacking"
    lacking.mkdir()
    (lacking / "sitecustomize.py").write_text(CORE_ALONE, encoding="utf-8")
    library = python(installed, tmp_path / "empty", "-c", LIBRARY, also=lacking)
    assert library.stdout == "True\n", library.stderr
    command = python(installed, tmp_path / "empty", "-m", "omtl", "list", also=lacking)
    assert command.returncode == 2
    assert command.stderr.endswith("pip install 'omtl[harness]'\n")
    assert "Traceback" not in command.stderr
