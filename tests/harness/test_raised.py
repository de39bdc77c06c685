"""Faults in a learner of one's own: the line, what numba refuses, the traceback where asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from environments import Done, environment, python

HEAD = """'''Learners.'''

import numpy as np

from omtl.kernel.compiled import compiled
from omtl.ops import dot


def helper(w):
    return w.sum()
"""
LEARNER = """

@compiled
class {name}:
    eta: float

    def new_state(self, shape):
        return np.zeros((shape.n_tasks, shape.n_features))

    def score(self, state, x):
        return dot(state[x.task], x)

    def update(self, state, x, y, score):
        w = state[x.task]
        {line}
        return True
"""
CONFIG = """name: {name}
label: {name}
learner: mine.{name}
networked: false
fixed: {{}}
grid: {{eta: [1.0]}}
"""

FAULTS = {
    "w[0] = scor + 1": "NameError: name 'scor' is not defined (mine.py, line {}: w[0] =",
    "w[0, 0, 0] = 1.0": "(mine.py, line {}: w[0, 0, 0] = 1.0)",
    "v = sorted(w, key=abs)": "it calls sorted in a way that numba does not know; mine.py",
    "w[0] = helper(w)": "decorate that with @inlined of omtl.ops; mine.py, line {}: w[0] =",
    "import json": "a statement that numba does not know (IMPORT_NAME); mine.py, line {}",
    'z = "y" + str(w[0])': "it makes an array, a text or another object",
}


def run(lines: Iterable[str], folder: Path, *words: str, status: int) -> Done:
    """Run a command where each learner, `mine0` and so on, has one of the lines in its update."""
    (folder / "algorithm").mkdir()
    text = HEAD
    for number, line in enumerate(lines):
        text += LEARNER.format(name=f"mine{number}", line=line)
        config = folder / "algorithm" / f"mine{number}.yaml"
        config.write_text(CONFIG.format(name=f"mine{number}"), encoding="utf-8")
    (folder / "mine.py").write_text(text, encoding="utf-8")
    return python("-m", "omtl", *words, status=status, cwd=folder, env=environment(folder / "home"))


def test_a_fault_is_told_with_its_line(tmp_path: Path) -> None:
    """By the check that finds it, in one line."""
    done = run(FAULTS, tmp_path, "check", "mine.py", "--json", status=1)
    assert "Traceback" not in done.stdout + done.stderr
    rows = json.loads(done.stdout)
    text = (tmp_path / "mine.py").read_text(encoding="utf-8").splitlines()
    for number, (line, told) in enumerate(FAULTS.items()):
        own = [row for row in rows if row["learner"].startswith(f"mine{number}")]
        failed = [row["why"] for row in own if row["result"] == "fail"]
        at = text.index(f"        {line}") + 1
        assert told.format(at) in " ".join(failed), line


def test_a_syntax_error_is_one_sentence(tmp_path: Path) -> None:
    done = run(["w = (1"], tmp_path, "run", "algorithm=mine0", "repeats=1", status=2)
    assert done.stderr.startswith("omtl: algorithm.learner: 'mine.mine0' cannot be imported")
    assert "'(' was never closed (mine.py, line " in done.stderr
    assert done.stderr.count("\n") == 1


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    """Of the learner's own process, too."""
    walk = ["algorithm=mine0", "dataset.options.n_examples=20", "repeats=1"]
    words = ("compare", *walk, "--only", "pm", "--debug")
    done = run(["w[0] = scor + 1"], tmp_path, *words, status=2)
    assert "Traceback (most recent call last)" in done.stderr
