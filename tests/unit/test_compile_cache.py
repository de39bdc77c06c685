"""Compiled code on disk: never stale, never damaged, and the user's alone."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from omtl.util.compile_cache import kept_in
from omtl.util.paths import PACKAGE

PLAYED = """
import numpy as np
from omtl.data.streams import Tasks, lifelong
from omtl.data.examples import examples_of
from omtl.kernel.play import play
from omtl.kernel.rules import Shape
from {module} import GradientDescent

tasks = Tasks(np.eye(4), np.array([1.0, -1.0, 1.0, -1.0]), np.array([0, 0, 1, 1]), ("a", "b"))
stream = lifelong(tasks, np.random.default_rng(0))
trace, state = play(GradientDescent(1.0), examples_of(tasks), stream, Shape(2, 4, np.eye(1)))
print(trace.updates.tolist(), state.w.tolist())
"""


class Checkout:
    """A copy of the package, whose compiled code is kept in a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "checkout", folder / "cache" / "omtl" / "compiled"
        self.folder.mkdir()
        for part in ("data", "kernel", "learners", "reference", "util"):
            shutil.copytree(PACKAGE / part, self.folder / "omtl" / part)
        (self.folder / "omtl" / "__init__.py").write_text("")
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"},
            "PYTHONPATH": str(self.folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }

    def edit(self, module: str, old: str, new: str) -> None:
        """Replace code in a module of the package."""
        path = self.folder / "omtl" / module
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def play(self, module: str = "omtl.learners.gradient") -> str:
        """Play a stream in a process of its own, and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-W", "always::UserWarning", "-c", PLAYED.format(module=module)],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def files(self) -> dict[Path, float]:
        """Return when each file of compiled code was written."""
        return {path: path.stat().st_mtime_ns for path in self.home.rglob("*.nb[ic]")}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Return a copy of the package."""
    return Checkout(tmp_path)


def test_an_edit_of_any_layer_is_compiled(checkout: Checkout) -> None:
    """What a product, a learner, a recorder or a loop now does is what is played."""
    seen = [checkout.play()]
    kept = checkout.files()
    assert checkout.play() == seen[0]
    assert checkout.files() == kept
    assert kept_in(checkout.home) == ["gradient"]
    for module, old, new in (
        ("kernel/products.py", "w[k] += a * x.rows.X", "w[k] += 2.0 * a * x.rows.X"),
        ("learners/gradient.py", "axpy(-s", "axpy(-3.0 * s"),
        ("kernel/play.py", "self.updates[x.task] += 1", "self.updates[x.task] += 2"),
        ("kernel/loop.py", "y = examples.y[i]", "y = -examples.y[i]"),
    ):
        checkout.edit(module, old, new)
        seen.append(checkout.play())
    assert len(set(seen)) == 5


@pytest.mark.parametrize("damage", ["flipped", "cut", "emptied", "foreign"])
def test_damaged_code_is_compiled_again(checkout: Checkout, damage: str) -> None:
    """Whatever happened to the files."""
    first = checkout.play()
    for path in checkout.files():
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 255
        damaged = {
            "flipped": bytes(content),
            "cut": bytes(content[: len(content) // 3]),
            "emptied": b"",
            "foreign": b"cos\nsystem\n(S'touch foreign'\ntR.",
        }
        path.write_bytes(damaged[damage])
    assert checkout.play() == first
    assert not (checkout.folder / "foreign").exists()


def test_code_is_the_users_alone(checkout: Checkout) -> None:
    """Nobody else can write or read it, and nothing is kept in the current folder."""
    checkout.play()
    assert checkout.home.stat().st_mode & 0o777 == 0o700
    assert not list(checkout.folder.rglob("*.nb[ic]"))


def test_code_that_came_with_a_folder_is_not_run(checkout: Checkout) -> None:
    """Neither from the current folder, nor from a home in it; kept there, it would be run."""
    first = checkout.play()
    kept = checkout.files()
    homes = [checkout.folder / ".omtl" / "compiled", checkout.folder / ".omtl", checkout.folder]
    for home in homes:
        for path in kept:
            foreign = home / path.relative_to(checkout.home)
            foreign.parent.mkdir(parents=True, exist_ok=True)
            foreign.write_bytes(b"cos\nsystem\n(S'touch foreign'\ntR.")
            seal = hashlib.sha256(foreign.read_bytes()).hexdigest()
            foreign.with_name(f"{foreign.name}.sha256").write_text(seal)
    shutil.rmtree(checkout.home)
    checkout.environment["OMTL_HOME"] = str(checkout.folder / ".omtl")
    assert checkout.play() == first
    assert not (checkout.folder / "foreign").exists()


def test_a_home_of_somebody_else_is_not_used(checkout: Checkout, tmp_path: Path) -> None:
    """A link to another folder neither: what is in it is not read."""
    checkout.home.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    checkout.home.symlink_to(tmp_path / "elsewhere")
    assert "compiled code cannot be kept" in checkout.play()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_without_a_home_it_compiles_in_memory(checkout: Checkout) -> None:
    """With one warning."""
    checkout.home.parent.parent.write_text("a file, not a folder")
    said = checkout.play()
    assert said.count("compiled code cannot be kept") == 1
    checkout.home.parent.parent.unlink()
    assert said.startswith(checkout.play())
