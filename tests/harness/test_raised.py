"""Faults in a learner of one's own: the line, what numba refuses, the traceback where asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from environments import environment

LEARNER = '''"""A learner."""

import numpy as np

from omtl.kernel.compiled import compiled
from omtl.ops import dot


def helper(w):
    return w.sum()


@compiled
class Mine:
    """A baseline. Cost per example: O(1)."""

    eta: float

    def new_state(self, shape):
        return np.zeros((shape.n_tasks, shape.n_features))

    def score(self, state, x):
        return dot(state[x.task], x)

    def update(self, state, x, y, score):
        w = state[x.task]
        LINE
        return True
'''
AT = LEARNER[: LEARNER.index("LINE")].count("\n") + 1
CONFIG = """name: mine
label: Mine
learner: mine.Mine
networked: false
fixed: {}
grid: {eta: [1.0]}
"""


def run(line: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command on a learner with a line in its update."""
    (folder / "algorithm").mkdir()
    (folder / "algorithm" / "mine.yaml").write_text(CONFIG, encoding="utf-8")
    (folder / "mine.py").write_text(LEARNER.replace("LINE", line), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "omtl", *words],
        cwd=folder,
        env=environment(folder / "home"),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("w[0] = scor + 1", "NameError: name 'scor' is not defined (mine.py, line {}: w[0] ="),
        ("w[0, 0, 0] = 1.0", "(mine.py, line {}: w[0, 0, 0] = 1.0)"),
        ("v = sorted(w, key=abs)", "it calls sorted in a way that numba does not know; mine.py"),
        ("w[0] = helper(w)", "decorate that with @inlined of omtl.ops; mine.py, line {}: w[0] ="),
        ("import json", "a statement that numba does not know (IMPORT_NAME); mine.py, line {}"),
        ('z = "y" + str(w[0])', "it makes an array, a text or another object"),
    ],
)
def test_a_fault_is_told_with_its_line(line: str, told: str, tmp_path: Path) -> None:
    """By the check that finds it, in one line."""
    done = run(line, tmp_path, "check", "mine.py")
    assert done.returncode == 1, done.stderr
    assert told.format(AT) in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_syntax_error_is_one_sentence(tmp_path: Path) -> None:
    done = run("w = (1", tmp_path, "run", "algorithm=mine", "repeats=1")
    assert done.returncode == 2
    assert done.stderr.startswith("omtl: algorithm.learner: 'mine.Mine' cannot be imported")
    assert f"'(' was never closed (mine.py, line {AT})" in done.stderr
    assert done.stderr.count("\n") == 1


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    """Of the learner's own process, too."""
    walk = ["algorithm=mine", "dataset.options.n_examples=20", "repeats=1"]
    done = run("w[0] = scor + 1", tmp_path, "compare", *walk, "--only", "pm", "--debug")
    assert done.returncode == 2
    assert "Traceback (most recent call last)" in done.stderr
