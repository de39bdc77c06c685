"""Functions that are inlined: no machine code of their own, and all they do where they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import njit
from numba.core.codegen import JITCodeLibrary

from omtl.kernel.inlining import OPTIONS, inlined
from omtl.util.paths import ROOT


@inlined
def root(x):
    """Return the square root of a number."""
    if x < 0.0:
        raise ValueError("a negative number has no root")
    return x**0.5


@inlined
def fourth_root(x):
    """Return the root of the root of a number."""
    return root(root(x))


def test_one_loop_is_turned_to_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many functions are inlined into it, and they raise as they do in Python."""
    made: list[str] = []
    generate = JITCodeLibrary._finalize_specific

    def noted(library: JITCodeLibrary) -> None:
        made.append(library.name)
        generate(library)

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", noted)

    @njit(**OPTIONS)
    def both(x):
        return fourth_root(x) + root(x)

    assert both(16.0) == 6.0
    assert [name.rpartition(".")[2] for name in made if name != "nrt"] == ["both"]
    with pytest.raises(ValueError, match="no root"):
        both(-1.0)


PRINTING = """
from numba import njit
from omtl.kernel.inlining import OPTIONS, inlined

@inlined
def announced(x):
    print("met", x)
    return x

@njit(**OPTIONS)
def twice(x):
    return announced(announced(x))

assert twice(3) == 3
"""


def test_an_inlined_function_can_print() -> None:
    """Who writes a learner looks into it so; without its environment the program ended or hung.

    In a process of its own: libraries that a test before has loaded may have replaced `print`.
    """
    command = [sys.executable, "-c", PRINTING]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "met 3\nmet 3\n"), done.stderr


PLAYED = """
import sys
sys.path[:0] = sys.argv[1:]
import numpy as np
from omtl.data.streams import Tasks, lifelong
from omtl.data.examples import examples_of
from omtl.kernel.play import play
from omtl.kernel.rules import Shape
from {module} import GradientDescent

tasks = Tasks(np.eye(4), np.array([1.0, -1.0, 1.0, -1.0]), np.array([0, 0, 1, 1]), ("a", "b"))
stream = lifelong(tasks, np.random.default_rng(0))
learner = GradientDescent(1.0)
print(play(learner, examples_of(tasks), stream, Shape(2, 4, np.eye(1)))[0])
"""


def test_code_kept_for_a_class_that_others_lack_keeps_nobody_from_theirs(tmp_path: Path) -> None:
    """The index of what numba keeps names classes: those of a user's module have an index apart."""
    folder = tmp_path / "mine"
    folder.mkdir()
    rules = (ROOT / "omtl" / "learners" / "gradient.py").read_text(encoding="utf-8")
    (folder / "my_rules.py").write_text(rules, encoding="utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    answers = []
    for module, above in [("my_rules", [str(folder)]), ("omtl.learners.gradient", [])]:
        program = PLAYED.format(module=module)
        done = subprocess.run(
            [sys.executable, "-c", program, *above],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout)
    assert answers[0] == answers[1]
    assert list((tmp_path / "kept").rglob("*.my_rules.*.nbi"))
