"""An installed package adds learners, data sets, readings and papers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from environments import environment

from omtl.util import providers
from omtl.util.errors import UserError
from omtl.util.paths import ROOT

EXAMPLE = ROOT / "examples" / "omtl-paper-example"

KEY = """
from omtl.experiment.composition import composed
from omtl.util.code import code_of
run = composed(["algorithm=leaky_perceptron", "dataset=stripes", "selection=oracle"])
unit = run.experiment.unit(0, 0)
assert unit.is_own
assert "omtl_paper_example.stripes" in code_of("omtl_paper_example.stripes").modules
print(unit.key)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the example was installed, from a copy: building leaves files."""
    folder = tmp_path_factory.mktemp("extension")
    shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    words = "-m pip --quiet --disable-pip-version-check install --no-deps --no-build-isolation"
    install = [sys.executable, *words.split(), "--target", str(folder / "site")]
    subprocess.run([*install, str(folder / "source")], check=True)
    return folder


def python(installed: Path, *words: str, status: int = 0) -> str:
    """Return what a program prints where the example is installed."""
    found = environment(installed / "home")
    found["COLUMNS"] = "200"
    found["PYTHONPATH"] += os.pathsep + str(installed / "site")
    done = subprocess.run(
        [sys.executable, *words],
        cwd=installed,
        env=found,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_an_extension_adds_is_used_like_the_rest(installed: Path) -> None:
    """Listed, run in other processes, swept over, and its paper reproduced and explained."""

    def omtl(*words: str) -> str:
        return python(installed, "-m", "omtl", *words)

    for kind, name in {"algorithms": "leaky_perceptron", "tables": "example-table1"}.items():
        (line,) = (line for line in omtl("list", kind).splitlines() if f" {name} " in line)
        assert "omtl_paper_example" in line
    assert "omtl_paper_example" in omtl("doctor")
    run = "run -m algorithm=leaky_perceptron,pm dataset=stripes parallel=processes repeats=1"
    assert omtl(*run.split()).count("Stripes: error") == 2
    table = omtl("table", "example-table1", "--repeats", "1")
    assert "reading as_published" in table
    assert "of 2 cells within 10%" in table


@pytest.mark.slow
def test_the_code_of_an_extension_is_part_of_the_key(installed: Path) -> None:
    """A changed line computes anew; a changed comment does not."""
    before = python(installed, "-c", KEY)
    learner = installed / "site" / "omtl_paper_example" / "leaky_perceptron.py"
    text = learner.read_text(encoding="utf-8")
    learner.write_text(f"# a comment\n{text}", encoding="utf-8")
    assert python(installed, "-c", KEY) == before
    learner.write_text(text.replace("1.0 - self.leak", "1.0 - 2.0 * self.leak"), encoding="utf-8")
    assert python(installed, "-c", KEY) != before
    learner.write_text(text, encoding="utf-8")


def test_a_name_belongs_to_one_provider(installed: Path) -> None:
    """Your own folder may not have an option or a paper of an extension."""
    for place in ("algorithm/leaky_perceptron.yaml", "experiments/example/table1.yaml"):
        source = installed / "site" / "omtl_paper_example" / place
        (installed / place).parent.mkdir(parents=True)
        shutil.copy(source, installed / place)
    listed = python(installed, "-m", "omtl", "list", "algorithms", status=2)
    assert "algorithm 'leaky_perceptron' in extension paper-example already; rename it" in listed
    listed = python(installed, "-m", "omtl", "list", "tables", status=2)
    assert "there is a paper 'example' already; rename yours" in listed
    shutil.rmtree(installed / "algorithm")
    shutil.rmtree(installed / "experiments")


@pytest.mark.parametrize("value", ["no_such_package", "omtl.util", "json.decoder:x"])
def test_a_broken_extension_is_named(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do."""
    point = EntryPoint("odd", value, providers.ENTRY_POINTS)
    monkeypatch.setattr(providers, "entry_points", lambda group: [point])  # noqa: ARG005
    with pytest.raises(UserError, match=r"extension 'odd' names '.*'; install it again|not an"):
        providers.extensions.__wrapped__()
