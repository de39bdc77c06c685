"""Learners of one's own that misbehave end in a sentence, and workers end with who started them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from environments import environment, python, started
from miniature import small

from omtl.compute import engine, own_process
from omtl.compute.own_process import call_apart
from omtl.compute.store import Store, packed
from omtl.experiment.playing import compute
from omtl.experiment.specs import AlgorithmSpec, ParallelSpec
from omtl.experiment.unit import Unit
from omtl.util import user_folder

WRONG = {
    "exits": ("import sys; sys.exit(3)", "its code asked Python to exit (status 3)"),
    "dies": ("os._exit(7)", "its process exited with status 7"),
    "ends": ("os._exit(0)", "its process exited with status 0"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "its process was killed by SIGSEGV"),
    "forks_and_dies": ("os._exit(7) if os.fork() else time.sleep(60)", "exited with status 7"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "writes_rows": ("x.rows.X[x.i] *= 2.0", "read-only"),
}
"""What updates of learners do that is wrong, and what is told of each."""

LIMITED = {
    "allocates": ("np.ones(2**28)", {"unit_mib": 1200}, "raise parallel.unit_mib"),
    "starves": ("pass", {"unit_mib": 60}, "raise parallel.unit_mib"),
    "loops": ("while True: pass", {"unit_seconds": 3}, "not finish within its limit of 3 seconds"),
}
"""What those do that a limit ends, the limit, and what is told of each."""

RIGHT = {
    "forks": "self.n = getattr(self, 'n', 0) + 1; self.n > 1 or os.fork()",
    "well": "w += y * x.rows.X[x.i]",
}
"""What those do that come to their end."""

BODIES = {name: body for name, (body, _) in WRONG.items()} | RIGHT
BODIES_LIMITED = {name: body for name, (body, *_) in LIMITED.items()}

HEAD = """'''Learners.'''

import os
import time
from dataclasses import dataclass

import numpy as np

from omtl.kernel.compiled import compiled
from omtl.ops import dot


def helper(w):
    return w.sum()
"""
LEARNER = """

@{kind}
class {name}:
    eta: float

    def new_state(self, shape):
        return np.zeros((shape.n_tasks, shape.n_features))

    def score(self, state, x):
        return dot(state[x.task], x)

    def update(self, state, x, y, score):
        w = state[x.task]
        {body}
        return True
"""
CONFIG = "{{name: {name}, label: {name}, learner: {module}.{name}, networked: false, fixed: {{}}, "
CONFIG += "grid: {{eta: [1.0, 2.0]}}}}\n"


def write_own(folder: Path, module: str, kind: str, bodies: dict[str, str]) -> None:
    """Write a folder of one's own: a module with learners of a kind, and a config of each."""
    text = [LEARNER.format(kind=kind, name=name, body=body) for name, body in bodies.items()]
    (folder / f"{module}.py").write_text(HEAD + "".join(text), encoding="utf-8")
    (folder / "algorithm").mkdir()
    for name in bodies:
        path = folder / "algorithm" / f"{name}.yaml"
        path.write_text(CONFIG.format(name=name, module=module), encoding="utf-8")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty folder the current one, and the user's own."""
    monkeypatch.setenv(user_folder.VARIABLE, str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    user_folder.begin_call()
    return tmp_path


@pytest.fixture
def mine(here: Path) -> None:
    """Let the folder have these learners, and a module named as one of Python's."""
    write_own(here, f"learners_{here.name}", "dataclass", BODIES | BODIES_LIMITED)
    (here / "select.py").write_text("raise RuntimeError('not that of Python')")


def unit_of(name: str) -> Unit:
    """Return a unit of one of them."""
    return replace(small("pm"), algorithm=AlgorithmSpec.named(name)).unit(0, 0)


def limited(backend: str, **limits: Any) -> ParallelSpec:
    """Return an engine with two workers and limits."""
    return ParallelSpec.read({"name": backend, "backend": backend, "jobs": 2, **limits})


@pytest.mark.slow
@pytest.mark.usefixtures("mine")
def test_what_misbehaves_ends_in_a_sentence_and_leaves_the_others_alone(store: Store) -> None:
    """The other units have the bits of a run without it, and the store has them whole.

    No module of the current folder takes the place of one of Python's own.
    """
    bad = [unit_of(name) for name in BODIES]
    good = small("pm").repeats(0, 4)
    units = [unit for pair in zip(bad, good * 3, strict=False) for unit in pair] + good
    outcome = engine.run_units(units, store, limited("threading"), quiet=True)
    for unit in bad:
        name = unit.algorithm.name
        if name in WRONG:
            reason = outcome.failed[unit.key].reason
            assert reason.startswith(unit.name)
            assert WRONG[name][1] in reason
            assert "\n" not in reason
        assert bool(store.stored([unit])) == (name in RIGHT)
    for unit in good:
        [stored] = store.stored([unit])
        assert packed(stored.arrays) == packed(compute(unit).arrays)


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("name", LIMITED)
def test_what_exceeds_a_limit_is_stopped(name: str, store: Store) -> None:
    unit, (_, limits, told) = unit_of(name), LIMITED[name]
    outcome = engine.run_units([unit], store, limited("threading", **limits), quiet=True)
    assert outcome.failed[unit.key].reason.startswith(unit.name)
    assert told in outcome.failed[unit.key].reason


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process still runs; one that nobody waited for does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for_end(processes: list[psutil.Process], seconds: float) -> None:
    """Wait until processes have ended; kill those that have not, and fail."""
    until = time.monotonic() + seconds
    while (left := list(filter(is_alive, processes))) and time.monotonic() < until:
        time.sleep(0.1)
    for one in left:
        one.kill()
    assert left == []


BUSY = """
import sys, time
from omtl.compute.own_process import Apart
apart = Apart(None)
apart.ask(len, "")
print(apart._process.pid, flush=True)
apart.ask(time.sleep, 600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends with its call")
def test_a_busy_worker_ends_when_the_run_is_killed() -> None:
    """Also if it would not end by itself."""
    run = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    worker = psutil.Process(int(run.stdout.readline()))
    time.sleep(0.2)
    run.kill()
    run.wait()
    run.stdout.close()
    wait_for_end([worker], 10)


@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("parallel", ["dask", "ray"])
def test_workers_end_when_the_run_is_killed(parallel: str, tmp_path: Path) -> None:
    """SIGKILL of the process that was started leaves none of those that it started.

    Ray's agents (2.60) take a minute: they first try to tell the head, which has been killed too.
    """
    run = started(tmp_path, "parallel.jobs=2", f"parallel={parallel}", units=1)
    children = list(filter(is_alive, psutil.Process(run.pid).children(recursive=True)))
    run.kill()
    run.wait()
    assert len(children) >= 2
    wait_for_end(children, 120)


@pytest.mark.filterwarnings("error")
def test_a_worker_ends_with_its_thread() -> None:
    """And not only with the program."""
    found: list[psutil.Process] = []

    def ask() -> None:
        assert call_apart(len, "abc") == 3
        found.append(psutil.Process(own_process._local.process._process.pid))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert not is_alive(found[0])


WITHOUT_POSIX = """
import sys
sys.modules |= {"fcntl": None, "resource": None}
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(f"{event} {arguments}")
sys.addaudithook(watch)
import pkgutil, omtl, data_fetchers
for package in (omtl, data_fetchers):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            __import__(module.name)
few = ("dataset.options.n_examples=20", "dataset.options.n_tasks=2")
print(omtl.run("algorithm=mine", *few, repeats=1, parallel="serial").frame["n_repeats"].tolist())
try:
    omtl.run("algorithm=mine", *few, "parallel.unit_seconds=5", repeats=2)
except omtl.util.errors.UserError as fault:
    print(fault)
"""


def test_neither_unix_nor_a_network_is_needed(tmp_path: Path) -> None:
    """As on Windows: neither to import any module, nor to run a learner of one's own."""
    write_own(tmp_path, "mine", "dataclass", {"mine": RIGHT["well"]})
    done = python("-c", WITHOUT_POSIX, cwd=tmp_path, env=environment(tmp_path / "home"))
    repeats, refused = done.stdout.splitlines()
    assert repeats == "[1]"
    assert "unit_seconds and unit_mib do not work on this system" in refused


FAULTS = {
    "w[0] = scor + 1": "NameError: name 'scor' is not defined (mine.py, line {}: w[0] =",
    "w[0, 0, 0] = 1.0": "(mine.py, line {}: w[0, 0, 0] = 1.0)",
    "v = sorted(w, key=abs)": "it calls sorted in a way that numba does not know; mine.py",
    "w[0] = helper(w)": "decorate that with @inlined of omtl.ops; mine.py, line {}: w[0] =",
    "import json": "a statement that numba does not know (IMPORT_NAME); mine.py, line {}",
    'z = "y" + str(w[0])': "it makes an array, a text or another object",
}


def test_a_fault_is_told_with_its_line(here: Path, told: Callable[..., str]) -> None:
    """By the check that finds it, in one line."""
    bodies = {f"mine{number}": body for number, body in enumerate(FAULTS)}
    write_own(here, "mine", "compiled", bodies)
    rows = json.loads(told("check", "mine.py", "--json", status=1))
    text = (here / "mine.py").read_text(encoding="utf-8").splitlines()
    for name, (line, fault) in zip(bodies, FAULTS.items(), strict=True):
        own = [row for row in rows if row["learner"].startswith(name)]
        failed = [row["why"] for row in own if row["result"] == "fail"]
        at = text.index(f"        {line}") + 1
        assert fault.format(at) in " ".join(failed), line


def test_debug_shows_the_traceback(here: Path) -> None:
    """Of the learner's own process, too."""
    write_own(here, "mine", "dataclass", {"mine": "w[0] = scor + 1"})
    words = ("run", "algorithm=mine", "dataset.options.n_examples=20", "repeats=1", "--debug")
    done = python("-m", "omtl", *words, status=2, cwd=here, env=environment(here / "home"))
    assert "Traceback (most recent call last)" in done.stderr
