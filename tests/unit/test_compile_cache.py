"""Compiled code on disk: never stale, never damaged, and the user's alone."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from environments import python
from numba import typeof

from omtl.util.compile_cache import (
    CompiledFunction,
    is_compiling,
    is_sound,
    kept_in,
    own_home,
    publish,
    remove_unused,
    type_key,
)
from omtl.util.paths import PACKAGE

PLAYED = """
import numpy as np
from omtl.data.streams import Tasks, lifelong
from omtl.data.rows import examples_of
from omtl.kernel.play import play
from omtl.kernel.rules import Shape
from omtl.learners.gradient import GradientDescent

tasks = Tasks(np.eye(4), np.array([1.0, -1.0, 1.0, -1.0]), np.array([0, 0, 1, 1]), ("a", "b"))
stream = lifelong(tasks, np.random.default_rng(0))
trace, state = play(GradientDescent(1.0), examples_of(tasks), stream, Shape(2, 4, np.eye(1)))
print(trace.updates.tolist(), state.w.tolist())
"""

PLACES = """
import json, os, sys
import numba, numpy
from pathlib import Path

played, edits = sys.argv[1], json.loads(sys.argv[2])
for module, old, new in [("__init__.py", "", ""), *edits]:
    file = Path("omtl", module)
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    if not os.fork():
        from omtl.util.compile_cache import CompiledFunction, classes_in, type_key
        CompiledFunction.__call__ = lambda self, *arguments: sys.exit(
            print(self.folder(type_key(arguments), classes_in(arguments)))
        )
        exec(played)
    os.wait()
"""
"""Prints the folders in which the compiled code would be, before edits and after each of them."""

EDITS = [
    ("kernel/products.py", "w[k] += a * x.rows.X", "w[k] += 2.0 * a * x.rows.X"),
    ("learners/gradient.py", "axpy(-s", "axpy(-3.0 * s"),
    ("kernel/play.py", "self.updates[x.task] += 1", "self.updates[x.task] += 2"),
    ("kernel/loop.py", "y = examples.y[i]", "y = -examples.y[i]"),
]

FOREIGN = b"cos\nsystem\n(S'touch foreign'\ntR."
"""Code that would run if it were read as compiled code."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of compiled code in a cache of the test's own, which is not there yet."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    own_home.cache_clear()
    yield tmp_path / "cache" / "omtl" / "compiled"
    own_home.cache_clear()


def files(home: Path) -> dict[Path, float]:
    """Return when each file of compiled code was written."""
    return {path: path.stat().st_mtime_ns for path in home.rglob("*.nb[ic]")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_edit_of_any_layer_is_compiled(home: Path, tmp_path: Path) -> None:
    """What a product, a learner, a recorder or a loop now does is what is played."""
    checkout = tmp_path / "checkout"
    for part in ("data", "kernel", "learners", "reference", "util"):
        shutil.copytree(PACKAGE / part, checkout / "omtl" / part)
    (checkout / "omtl" / "__init__.py").touch()
    around = os.environ | {"PYTHONPATH": str(checkout), "OMTL_HOME": str(checkout / ".omtl")}

    def play(script: str = PLAYED, *words: str) -> str:
        return python("-c", script, *words, cwd=checkout, env=around).stdout

    first = play()
    kept = files(home)
    assert play() == first
    assert files(home) == kept
    assert kept_in(home) == ["gradient"]
    assert home.stat().st_mode & 0o777 == 0o700, "nobody else can write or read it"
    assert not list(checkout.rglob("*.nb[ic]"))
    places = play(PLACES, PLAYED, json.dumps(EDITS)).splitlines()
    assert len(set(places)) == 5
    assert Path(places[0]) in {path.parents[1] for path in kept}
    (updates, w), (before, was) = (
        [np.array(json.loads(part)) for part in said.replace("] [", "]\n[").splitlines()]
        for said in (play(), first)
    )
    np.testing.assert_array_equal(updates, 2 * before)
    np.testing.assert_allclose(w, -6.0 * was)


def twice(number: float) -> float:
    """Return twice a number."""
    return 2 * number


def compiled() -> CompiledFunction:
    """Return the compiled function as a new process has it."""
    return CompiledFunction(twice, id, {})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_threads_and_processes_compile_at_once_is_kept(home: Path) -> None:
    """None takes another's unfinished code for damaged: the next process compiles nothing."""
    children = []
    for _ in range(3):
        children.append(os.fork())
        if not children[-1]:
            with ThreadPoolExecutor(2) as pool:
                os._exit([*pool.map(compiled(), (1, 1.5))] != [2, 3.0])
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    kept = files(home)
    function = compiled()
    assert (function(1), function(1.5)) == (2, 3.0)
    assert files(home) == kept
    assert len([path for path in kept if path.suffix == ".nbi"]) == 2


class One(NamedTuple):
    """A tuple."""

    a: float


class Other(NamedTuple):
    """Another tuple of the same."""

    a: float


def test_values_are_told_apart_as_numba_does() -> None:
    """What one compiled function can take has one folder."""
    numbers = [1, 1.0, True, np.float64(1), np.int64(1), np.bool_(1), np.float32(1), np.uint32(1)]
    table = np.zeros((3, 4))
    arrays = [table, table.T, table[:1], table[:, ::2], table[0], table.astype(np.float32)]
    values = [*numbers, *arrays, (1, 2.0), (1.0, np.float64(2)), One(1.0), Other(1.0)]
    for one, other in combinations(values, 2):
        assert (type_key(one) == type_key(other)) == (typeof(one) == typeof(other))


CODE = "numba/code.nbc"


@pytest.mark.parametrize(
    ("file", "content"),
    [*((CODE, each) for each in (b"codE", b"cod", b"", FOREIGN, None)), ("sha256", None)],
)
def test_damaged_code_is_replaced(file: str, content: bytes | None, tmp_path: Path) -> None:
    """And sound code is not."""
    folder = tmp_path / "learner-1"

    def compiled(code: bytes) -> None:
        work = tmp_path / "work"
        (work / "numba").mkdir(parents=True)
        (work / CODE).write_bytes(code)
        (work / "numba" / "index.nbi").write_bytes(b"index")
        publish(work, folder)
        assert not work.exists()
        assert is_sound(folder)

    compiled(b"code")
    compiled(b"code of another process")
    assert (folder / CODE).read_bytes() == b"code"
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    assert not is_sound(folder)
    compiled(b"again")
    assert (folder / CODE).read_bytes() == b"again"


def test_old_folders_are_removed_and_unfinished_ones_sooner(tmp_path: Path) -> None:
    """An unfinished one is that of a killed process, unless it is young."""
    for name, days in (("used", 59), ("unused", 61), ("tmpnew", 0), ("tmpold", 2)):
        (tmp_path / name).mkdir()
        if not name.startswith("tmp"):
            (tmp_path / name / "sha256").touch()
        os.utime(tmp_path / name, (time.time() - days * 86400,) * 2)
    remove_unused(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"used", "tmpnew"}


def test_code_that_is_damaged_or_came_with_a_folder_is_not_run(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is compiled again, whatever is in the home, in the current folder or in a home there."""
    assert compiled()(1.5) == 3.0
    for path in files(home):
        path.write_bytes(FOREIGN)
    for place in (".omtl/compiled", ".omtl", "."):
        foreign = tmp_path / "foreign" / place
        for folder in home.glob("*/"):
            publish(shutil.copytree(folder, foreign / "work"), foreign / folder.name)
            assert is_sound(foreign / folder.name)
    monkeypatch.chdir(tmp_path / "foreign")
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "foreign" / ".omtl"))
    own_home.cache_clear()
    assert compiled()(1.5) == 3.0
    assert not Path("foreign").exists()


def test_without_a_home_of_ones_own_it_compiles_in_memory(home: Path, tmp_path: Path) -> None:
    """With one warning; what is in a folder that a link leads to is not read."""
    (tmp_path / "elsewhere").mkdir()
    home.parent.mkdir(parents=True)
    home.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(UserWarning, match="compiled code cannot be kept") as warned:
        assert [compiled()(1.5) for _ in range(2)] == [3.0, 3.0]
    assert len(warned) == 1
    assert not list((tmp_path / "elsewhere").iterdir())


def test_classes_are_prepared_when_no_other_thread_compiles() -> None:
    """What a thread prepares changes what a name means that compiled code has met."""
    held: list[bool] = []
    first = CompiledFunction(lambda one: one.a, lambda _: held.append(is_compiling()), {})
    assert first(One(2.0)) == 2.0
    assert held == [True]
