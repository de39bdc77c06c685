"""A learner, a data set and a paper are their own files: made, used, and nothing else edited."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from environments import environment

from omtl.commands._main import main
from omtl.experiment.new_files import KINDS, make_files
from omtl.util.errors import UserError
from omtl.util.paths import ROOT
from omtl.util.status import WRONG_USE

USED = [
    (["check", "{learner}"], "pass"),
    (["run", "algorithm=toy_learner", "dataset=toy_data", "repeats=1"], "Toy learner, Toy data"),
    (["table", "toy-table1", "--repeats", "2"], "Toy, Table 1"),
    (["explain", "toy-table1", "PA on Synthetic", "--repeats", "2"], "verdict: "),
    (["audit", "readings", "toy-table1", "--repeats", "2"], "increment"),
]
"""Commands that use what was made, and what each prints."""

FOUND = """
import numpy as np
from omtl.learners.toy_learner import ToyLearner as Rules
from omtl.reference.transcriptions import transcription_of
from omtl.sklearn import ToyLearner

X = np.eye(4)
assert ToyLearner().get_params() == {"eta": 0.1}
assert (ToyLearner(eta=1.0).fit(X, [1, -1, 1, -1]).predict(X) == [1, -1, 1, -1]).all()
assert transcription_of(Rules(0.1)).__module__ == "omtl.reference.toy_learner"
"""
"""Where the package finds the learner: estimators, references."""


def copy_project(folder: Path) -> None:
    """Copy of the project what commands need."""
    for name in ("conf", "experiments", "data_fetchers", "omtl", "results/published", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))


@pytest.mark.slow
def test_what_is_made_works_as_it_is(tmp_path: Path) -> None:
    """In a checkout; `test_wheel` does it in the folder of a user of the installed package."""
    folder, learner = tmp_path / "project", "omtl/learners/toy_learner.py"
    copy_project(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def python(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=folder,
            env=environment(tmp_path / "home") | {"PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def omtl(*words: str) -> str:
        return python("-m", "omtl", *words)

    names = {"learner": "toy_learner", "dataset": "toy_data", "paper": "toy"}
    told = "".join(omtl("new", kind, names[kind]) for kind in KINDS)
    made = {path for path in folder.rglob("*.*") if path.is_file()} - before.keys()
    assert all(path.name in told for path in made if "pyc" not in path.suffix)
    for words, shown in USED:
        assert shown in omtl(*(word.format(learner=learner) for word in words)), words
    assert "it names no reference" not in omtl("check", learner)
    python("-c", FOUND)
    assert all(path.read_bytes() == content for path, content in before.items())


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        ("learner", "My-Learner", "cannot be a name"),
        ("learner", "class", "cannot be a name"),
        ("learner", "coml", "there is a learner 'coml' already"),
        ("paper", "dom", "there is a paper 'dom' already"),
    ],
)
def test_wrong_names_are_refused(kind: str, name: str, told: str, tmp_path: Path) -> None:
    """And nothing is written, nor is a file that is there."""
    with pytest.raises(UserError, match=told):
        make_files(kind, name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "told"),
    [("numpy", "is the name of an installed Python module"), ("a" * 300, "is too long")],
)
def test_the_command_refuses_names_that_would_do_harm(
    name: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An own ``numpy.py`` would make every stored unit look as if its code were gone."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "learner", name]) == WRONG_USE
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("precious", encoding="utf-8")
    with pytest.raises(UserError, match="there is a learner 'mine' already"):
        make_files("learner", "mine", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]
