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
    publish,
    remove_unused,
    type_key,
)
from omtl.util.paths import PACKAGE

PLAYED = """
import numpy as np
from omtl.data.streams import Tasks, lifelong
from omtl.data.examples import examples_of
from omtl.kernel.play import play
from omtl.kernel.rules import Shape
from omtl.learners.gradient import GradientDescent

tasks = Tasks(np.eye(4), np.array([1.0, -1.0, 1.0, -1.0]), np.array([0, 0, 1, 1]), ("a", "b"))
stream = lifelong(tasks, np.random.default_rng(0))
trace, state = play(GradientDescent(1.0), examples_of(tasks), stream, Shape(2, 4, np.eye(1)))
print(trace.updates.tolist(), state.w.tolist())
"""

PLACE = """
import sys
from omtl.util.compile_cache import CompiledFunction, classes_in, type_key

CompiledFunction.__call__ = lambda self, *arguments: sys.exit(
    print(self.folder(type_key(arguments), classes_in(arguments)))
)
"""
"""Prints the folder in which the compiled code would be, in place of playing."""

AT_ONCE = """
from threading import Thread
from omtl.data.rows import SparseRows

rows = SparseRows(np.arange(5), np.arange(4, dtype=np.int32), np.ones(4))
given = examples_of(tasks)._replace(rows=rows), stream, Shape(2, 4, np.eye(1), sparse=True)
other = Thread(target=play, args=(GradientDescent(1.0), *given))
other.start()
"""
"""Plays a learner on sparse rows in a thread beside what comes next."""

EDITED = """
import sys
from pathlib import Path

file = Path(sys.modules["omtl.learners.gradient"].__file__)
file.write_text(file.read_text())
try:
    play(GradientDescent(1.0), examples_of(tasks), stream, Shape(2, 4, np.eye(1)))
except Exception as fault:
    print(fault)
"""
"""Plays a learner whose file was written after it was imported."""

FOREIGN = b"cos\nsystem\n(S'touch foreign'\ntR."
"""Code that would run if it were read as compiled code."""


class Checkout:
    """A copy of the package, whose compiled code is kept in a home of its own; it is played once.

    Parameters
    ----------
    folder : Path
        Where it and its home are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "checkout", folder / "cache" / "omtl" / "compiled"
        self.folder.mkdir()
        for part in ("data", "kernel", "learners", "reference", "util"):
            shutil.copytree(PACKAGE / part, self.folder / "omtl" / part)
        (self.folder / "omtl" / "__init__.py").write_text("")
        self.first = self.play()

    def edit(self, module: str, old: str, new: str) -> None:
        """Replace code in a module of the package."""
        path = self.folder / "omtl" / module
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def play(self, script: str = PLAYED) -> str:
        """Play a stream in a process of its own, and return what it prints."""
        around = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        around |= {"PYTHONPATH": str(self.folder), "OMTL_HOME": str(self.folder / ".omtl")}
        around |= {"XDG_CACHE_HOME": str(self.home.parents[1])}
        words = ("-W", "always::UserWarning", "-c", script)
        done = python(*words, cwd=self.folder, env=around)
        return done.stdout + done.stderr

    def files(self) -> dict[Path, float]:
        """Return when each file of compiled code was written."""
        return {path: path.stat().st_mtime_ns for path in self.home.rglob("*.nb[ic]")}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a copy of the package that was played once."""
    return Checkout(tmp_path_factory.mktemp("played"))


@pytest.fixture
def checkout(played: Checkout) -> Iterator[Checkout]:
    """Return the copy, and give it its files and its cache back."""
    folder = played.folder.parent
    saved = shutil.copytree(folder, folder.with_name("saved"))
    yield played
    shutil.rmtree(folder)
    saved.rename(folder)


def test_an_edit_of_any_layer_is_compiled(checkout: Checkout) -> None:
    """What a product, a learner, a recorder or a loop now does is what is played."""
    kept = checkout.files()
    assert checkout.play() == checkout.first
    assert checkout.files() == kept
    assert kept_in(checkout.home) == ["gradient"]
    assert checkout.home.stat().st_mode & 0o777 == 0o700, "nobody else can write or read it"
    assert not list(checkout.folder.rglob("*.nb[ic]"))
    places = [checkout.play(PLACE + PLAYED)]
    for module, old, new in (
        ("kernel/products.py", "w[k] += a * x.rows.X", "w[k] += 2.0 * a * x.rows.X"),
        ("learners/gradient.py", "axpy(-s", "axpy(-3.0 * s"),
        ("kernel/play.py", "self.updates[x.task] += 1", "self.updates[x.task] += 2"),
        ("kernel/loop.py", "y = examples.y[i]", "y = -examples.y[i]"),
    ):
        checkout.edit(module, old, new)
        places.append(checkout.play(PLACE + PLAYED))
    assert len(set(places)) == 5
    assert Path(places[0].strip()) in {path.parents[1] for path in kept}
    (updates, w), (before, was) = (
        [np.array(json.loads(part)) for part in said.replace("] [", "]\n[").splitlines()]
        for said in (checkout.play(), checkout.first)
    )
    np.testing.assert_array_equal(updates, 2 * before)
    np.testing.assert_allclose(w, -6.0 * was)


def test_code_that_is_edited_once_it_is_imported_is_not_kept(checkout: Checkout) -> None:
    """What runs is not what the file says: later programs would play what it was before."""
    kept = checkout.files()
    said = checkout.play(PLAYED.partition("trace, state")[0] + EDITED)
    assert "gradient.py was edited after this program began; start the program again" in said
    assert checkout.files() == kept


def test_what_threads_and_processes_compile_at_once_is_kept(checkout: Checkout) -> None:
    """None takes another's unfinished code for damaged: the next process compiles nothing."""
    shutil.rmtree(checkout.home)
    begin, trace, end = PLAYED.partition("trace, state")
    script = begin + AT_ONCE + trace + end
    with ThreadPoolExecutor() as pool:
        assert {*pool.map(checkout.play, (script, PLAYED))} == {checkout.first}
    kept = checkout.files()
    assert checkout.play(script) == checkout.first
    assert checkout.files() == kept
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


def test_code_that_is_damaged_or_came_with_a_folder_is_not_run(checkout: Checkout) -> None:
    """It is compiled again, whatever is in the home, in the current folder or in a home there."""
    for path in checkout.files():
        path.write_bytes(FOREIGN)
    for place in (".omtl/compiled", ".omtl", "."):
        foreign = checkout.folder / place
        foreign.mkdir(parents=True, exist_ok=True)
        for folder in checkout.home.iterdir():
            if folder.is_dir():
                publish(shutil.copytree(folder, foreign / "work"), foreign / folder.name)
                assert is_sound(foreign / folder.name)
    assert checkout.play() == checkout.first
    assert not (checkout.folder / "foreign").exists()


def test_without_a_home_of_ones_own_it_compiles_in_memory(
    checkout: Checkout, tmp_path: Path
) -> None:
    """With one warning; what is in a folder that a link leads to is not read."""
    shutil.rmtree(checkout.home)
    checkout.home.symlink_to(tmp_path)
    said = checkout.play()
    assert said.count("compiled code cannot be kept") == 1
    assert said.startswith(checkout.first)
    assert not list(tmp_path.iterdir())


def test_classes_are_prepared_when_no_other_thread_compiles() -> None:
    """What a thread prepares changes what a name means that compiled code has met."""
    held: list[bool] = []
    first = CompiledFunction(lambda one: one.a, lambda _: held.append(is_compiling()), {})
    assert first(One(2.0)) == 2.0
    assert held == [True]
