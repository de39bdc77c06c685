"""Learners of one's own that misbehave end in a sentence, and workers end with who started them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from environments import Done, environment, python
from miniature import SERIAL, small, with_grid

from omtl.compute import engine
from omtl.compute.store import Store
from omtl.experiment.playing import compute
from omtl.experiment.specs import ParallelSpec
from omtl.experiment.unit import Unit
from omtl.util import user_folder
from omtl.util.paths import ROOT

WRONG = {
    "exits": ("import sys; sys.exit(3)", "its code asked Python to exit (status 3)"),
    "dies": ("os._exit(7)", "its process exited with status 7"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "its process was killed by SIGSEGV"),
    "forks_and_dies": ("os._exit(7) if os.fork() else time.sleep(60)", "exited with status 7"),
    "allocates": ("while True: self.k = (getattr(self, 'k', 0), np.ones(2**24))", "MemoryError"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "writes_rows": ("x.rows.X[x.i] *= 2.0; return True", "read-only"),
    "writes_views": ("x.rows.X[x.i][:] = 0.0; return True", "read-only"),
}
"""What updates of learners do that is wrong, and what is told of each."""

RIGHT = {
    "forks": "self.n = getattr(self, 'n', 0) + 1; self.n > 1 or os.fork(); return False",
    "well": "state[x.task] += y * x.rows.X[x.i]; return True",
}
"""What those do that come to their end."""

BODIES = {name: body for name, (body, _) in WRONG.items()} | RIGHT

LEARNER = """
class {name}:
    def __init__(self, eta): self.eta = eta
    def new_state(self, shape): return np.zeros((shape.n_tasks, shape.n_features))
    def score(self, state, x): return float(state[x.task] @ x.rows.X[x.i])
    def update(self, state, x, y, score):
        {body}
    eta: float
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of one's own with these learners."""
    folder = tmp_path / "mine"
    folder.mkdir()
    text = "import os, time\nimport numpy as np\n"
    bodies = BODIES | {"loops": "while True: pass"}
    text += "".join(LEARNER.format(name=name, body=body) for name, body in bodies.items())
    name = f"learners_{tmp_path.name}".replace("-", "_")
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv(user_folder.VARIABLE, str(folder))
    monkeypatch.syspath_prepend(str(folder))
    return folder / f"{name}.py"


def unit_of(module: str, name: str, repeat: int = 0) -> Unit:
    """Return a unit of one of them."""
    experiment = with_grid(small("pm"), eta=[1.0, 2.0])
    about = {"name": name, "learner": f"{module}.{name}", "fixed": {}}
    patch = {f"algorithm.*.{key}": value for key, value in about.items()}
    return experiment.patched(patch).unit(0, repeat)


def limited(backend: str, **limits: Any) -> ParallelSpec:
    """Return an engine with two workers and limits."""
    return ParallelSpec.read({"name": backend, "backend": backend, "jobs": 2, **limits})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "names"), [("threading", [*BODIES]), ("processes", ["dies", "well"])]
)
def test_what_misbehaves_ends_in_a_sentence_and_leaves_the_others_alone(
    backend: str, names: list[str], mine: Path, store: Store
) -> None:
    """The other units have the bits of a run without it, and the store has them whole."""
    bad = [unit_of(mine.stem, name) for name in names]
    good = small("pm").repeats(0, 4)
    units = [unit for pair in zip(bad, good * 3, strict=False) for unit in pair] + good
    limits = limited(backend, unit_seconds=120, unit_mib=1200)
    outcome = engine.run_units(units, store, limits, quiet=True)
    for unit in bad:
        name = unit.algorithm.name
        if name in WRONG:
            reason = outcome.failed[unit.key].reason
            assert reason.startswith(unit.name)
            assert WRONG[name][1] in reason
            assert "\n" not in reason
        assert (store.load(unit) is not None) == (name in RIGHT)
    for unit in good:
        stored = store.load(unit)
        assert stored is not None
        for name, array in compute(unit).arrays.items():
            np.testing.assert_array_equal(array, stored.arrays[name])


def test_what_does_not_end_is_stopped(mine: Path, store: Store) -> None:
    """At its limit of time."""
    unit = unit_of(mine.stem, "loops")
    outcome = engine.run_units([unit], store, limited("threading", unit_seconds=3), quiet=True)
    reason = outcome.failed[unit.key].reason
    assert "it did not finish within its limit of 3 seconds" in reason
    assert reason.startswith(unit.name)


def test_learners_of_ones_own_are_played_apart_without_limits(mine: Path, store: Store) -> None:
    """One that dies does not take the run with it; nothing that it changes is seen by others."""
    units = [unit_of(mine.stem, "dies"), unit_of(mine.stem, "well")]
    outcome = engine.run_units(units, store, SERIAL, quiet=True)
    assert WRONG["dies"][1] in outcome.failed[units[0].key].reason
    assert outcome.computed == 1


def test_modules_of_the_current_folder_do_not_replace_those_of_python(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "select.py").write_text("raise RuntimeError('not that of Python')")
    monkeypatch.chdir(tmp_path)
    how = limited("processes", unit_seconds=120)
    assert engine.run_units(small("pm").repeats(0, 1), store, how, quiet=True).computed == 1


STARTED = """
import os, sys, time
from dataclasses import replace
from miniature import small
from omtl.experiment.specs import ParallelSpec
from omtl.compute import engine
from omtl.compute.store import Store
from pathlib import Path
units = small("pm").repeats(0, 100_000)
limits = {"unit_seconds": 60} if sys.argv[1] == "apart" else {}
name = "threads" if sys.argv[1] == "apart" else sys.argv[1]
parallel = replace(ParallelSpec.named(name), jobs=2, **limits)
engine.run_units(units, Store(Path(sys.argv[2])), parallel, quiet=True)
"""


def must_end(processes: list[psutil.Process], seconds: float) -> None:
    """Demand that processes end within so many seconds; kill those that do not."""
    until = time.monotonic() + seconds
    while left := [one for one in processes if is_alive(one)]:
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    for one in left:
        one.kill()
    assert left == []


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process still runs; one that nobody waited for does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture(scope="session")
def ends_later() -> Iterator[list[psutil.Process]]:
    """Take processes that need a minute to end, and demand it of them after all other tests.

    Those are ray's agents (2.60): they first try to tell the head, which has been killed too.
    """
    processes: list[psutil.Process] = []
    yield processes
    must_end(processes, 120)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    ["processes", "apart", *(pytest.param(n, marks=pytest.mark.deep) for n in ("dask", "ray"))],
)
def test_workers_end_when_the_run_is_killed(
    name: str, tmp_path: Path, ends_later: list[psutil.Process]
) -> None:
    """SIGKILL of the process that was started leaves none of those that it started."""
    run = subprocess.Popen(
        [sys.executable, "-c", STARTED, name, str(tmp_path / "store")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests' / 'helpers'}"},
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 300
        while not Store(tmp_path / "store").keys():
            assert run.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
        started = list(filter(is_alive, psutil.Process(run.pid).children(recursive=True)))
        commands = [" ".join(one.cmdline()).lower() for one in started]
        assert len(started) >= 2
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    both = list(zip(started, commands, strict=True))
    ends_later += [one for one, command in both if "agent" in command]
    must_end([one for one, command in both if "agent" not in command], 30)


WITHOUT_POSIX = """
import sys
sys.modules |= {"fcntl": None, "resource": None}
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(f"{event} {arguments}")
sys.addaudithook(watch)
import pkgutil
import omtl, data_fetchers
for package in (omtl, data_fetchers):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            __import__(module.name)
few = ("dataset.options.n_examples=20", "dataset.options.n_tasks=2")
print(omtl.run("algorithm=mine", *few, repeats=1, parallel="serial").frame["n_repeats"].tolist())
print(len(omtl.compare("pa", "random_walk", *few, against=["pm"], repeats=2).frame))
try:
    omtl.run("algorithm=mine", *few, "parallel.unit_seconds=5", repeats=2)
except omtl.util.errors.UserError as fault:
    print(fault)
"""


CONFIG = """name: {name}
label: {name}
learner: mine.{name}
networked: false
fixed: {{}}
grid: {{eta: [1.0]}}
"""


def write_own(folder: Path, head: str, learners: dict[str, str]) -> None:
    """Write a folder of one's own: a module with learners, and a config of each."""
    (folder / "mine.py").write_text(head + "".join(learners.values()), encoding="utf-8")
    (folder / "algorithm").mkdir()
    for name in learners:
        path = folder / "algorithm" / f"{name}.yaml"
        path.write_text(CONFIG.format(name=name), encoding="utf-8")


def test_neither_unix_nor_a_network_is_needed(tmp_path: Path) -> None:
    """As on Windows: neither to import any module, nor to run a learner of one's own."""
    text = LEARNER.format(name="mine", body=BODIES["well"])
    write_own(tmp_path, "import numpy as np\n", {"mine": text})
    around = {**os.environ, "PYTHONPATH": str(ROOT), "OMTL_HOME": str(tmp_path / "home")}
    done = python("-c", WITHOUT_POSIX, cwd=tmp_path, env=around)
    said = done.stdout.splitlines()
    assert said[:2] == ["[1]", "2"]
    assert "unit_seconds and unit_mib do not work on this system" in said[2]


HEAD = """'''Learners.'''

import numpy as np

from omtl.kernel.compiled import compiled
from omtl.ops import dot


def helper(w):
    return w.sum()
"""
COMPILED = """

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
    named = {f"mine{number}": line for number, line in enumerate(lines)}
    write_own(folder, HEAD, {n: COMPILED.format(name=n, line=line) for n, line in named.items()})
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


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    """Of the learner's own process, too."""
    walk = ["algorithm=mine0", "dataset.options.n_examples=20", "repeats=1"]
    words = ("compare", *walk, "--against", "pm", "--debug")
    done = run(["w[0] = scor + 1"], tmp_path, *words, status=2)
    assert "Traceback (most recent call last)" in done.stderr
