"""Whatever computes the units, and whatever becomes of its workers, the bytes are the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import BrokenExecutor, Future
from contextlib import closing
from importlib import import_module
from itertools import islice
from pathlib import Path
from threading import Lock, Timer
from typing import Any
from unittest.mock import Mock

import pytest
from miniature import small

from omtl.compute import engines, parallel_jobs, worker
from omtl.compute.engines import ENGINES, dask_cluster, ray_cluster, results
from omtl.compute.engines.local import Threads
from omtl.compute.store import Store
from omtl.experiment.config import load_option, options, resolve_jobs
from omtl.experiment.unit import Unit, compute
from omtl.util.errors import UserError
from omtl.util.paths import ROOT

# clusters start slowly where other tests run beside
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
WORKERS = 2
UNITS = small("pm").repeats(0, 40)


def parallel(name: str) -> dict[str, Any]:
    """Return the config of an engine with two workers."""
    return resolve_jobs(load_option("parallel", name), WORKERS)


def bits(store: Store, units: list[Unit]) -> list[dict[str, bytes]]:
    """Return the arrays of stored units, to the bit."""
    found = [store.load(unit) for unit in units]
    return [{name: a.tobytes() for name, a in r.arrays.items()} for r in found if r is not None]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """Return the arrays of all units, computed by this process."""
    store = Store(tmp_path_factory.mktemp("alone"))
    for unit in UNITS:
        store.save(unit, compute(unit))
    return bits(store, UNITS)


def test_every_option_has_an_engine() -> None:
    """And every engine an option."""
    assert {load_option("parallel", name)["backend"] for name in options("parallel")} == set(
        ENGINES
    )


@pytest.mark.parametrize("name", ["processes", "dask", "ray"])
def test_units_are_done_by_workers_of_which_one_is_killed(
    name: str, alone: list[dict[str, bytes]], store: Store
) -> None:
    """Results come as they end, each worker loads the data once, and a killed one is replaced."""
    given = iter(UNITS)
    taken: list[Unit] = []

    def take(_: int) -> Unit | None:
        taken.extend(unit := [*islice(given, 1)])
        return unit[0] if unit else None

    with closing(results(worker.compute_one, take, parallel(name), len(UNITS))) as stream:
        while not next(stream):
            pass
    assert len(taken) < len(UNITS)

    workers: list[str] = []
    with closing(parallel_jobs.as_done(UNITS, store, parallel(name))) as stream:
        for done in (done for ended in stream for done in ended):
            assert done is not None
            assert done.result is not None
            assert done.loads == 1
            store.save(done.unit, done.result)
            workers.append(done.worker)
            if len(workers) == 5:
                os.kill(int(done.worker.rpartition(":")[2]), signal.SIGKILL)
    assert worker.this_process() not in workers
    assert len(set(workers)) >= WORKERS
    assert len(workers) == len(UNITS)
    assert workers[4] not in workers[-10:]
    assert bits(store, UNITS) == alone


def test_a_fault_comes_after_what_others_returned() -> None:
    """What ended with the task that failed is not lost; the fault itself is raised as it is."""

    def work(number: int) -> int:
        if number == 1:
            raise KeyError(number)
        return number

    pool = Threads(work, 1)
    for number in range(3):
        pool.submit(number)
    ended, fault = pool.ended()
    while fault is None:
        more, fault = pool.ended()
        ended += more
    pool.close()
    assert ended == [0]
    assert isinstance(fault, KeyError)

    taken, how = iter([0, 1]), {**parallel("threads"), "jobs": 1}
    returned: list[int] = []
    with pytest.raises(KeyError, match="1"):
        for done in results(work, lambda _: next(taken, None), how, 2):
            returned += done
    assert returned == [0]


def test_processes_are_not_killed_while_a_task_is_on_its_way_to_them() -> None:
    """A thread of loky would look for it in vain, and print a traceback (found by SIGTERM)."""

    def shutdown(kill_workers: bool) -> None:
        assert kill_workers
        states.append(future.running())

    states: list[bool] = []
    future: Future[Any] = Future()
    pool = engines.Processes.__new__(engines.Processes)
    pool._executor, pool._under_way = Mock(_processes={}, shutdown=shutdown), {future}
    pool._executor._shutdown_lock = Lock()
    later = Timer(0.1, future.set_running_or_notify_cancel)
    later.start()
    pool.close()
    later.join()
    assert states == [True]


def test_a_process_killed_while_it_sends_its_result_is_noticed() -> None:
    """Though loky waits for the rest of the result, and looks at no process meanwhile."""

    def work(is_killed: bool) -> int:
        if is_killed:
            frame = sys._getframe()
            while "result_queue" not in frame.f_locals:
                assert frame.f_back is not None
                frame = frame.f_back
            queue = frame.f_locals["result_queue"]
            with queue._wlock:
                os.write(queue._writer.fileno(), b"\0\0\x40\0")  # how long the result is
                os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    def returned(*tasks: bool) -> list[int]:
        given = iter(tasks)
        stream = results(work, lambda _: next(given, None), parallel("processes"), WORKERS)
        return [process for ended in stream for process in ended]

    with pytest.raises(BrokenExecutor, match="ended before all of its result had come"):
        returned(True, False)
    assert len(returned(False, False)) == 2


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGCONT])
def test_the_end_does_not_wait_for_ever_for_a_process(number: signal.Signals) -> None:
    """One may want a lock for ever that a killed one held; here, processes no longer answer.

    Those that do end by themselves: they clean up, or the run would tell of semaphores that leaked.
    """
    script = f"""
import os
from omtl.compute.engines import local, results
local.LEAVE = 2.0 if {number == signal.SIGSTOP} else 60.0
task = "import multiprocessing as kept; kept.lock = kept.Lock()" * {number == signal.SIGCONT}
given = iter([task, task])
for _ in results(exec, lambda _: next(given, None), {{"backend": "loky", "jobs": 2}}, 2):
    pass
from joblib.externals.loky.reusable_executor import _executor
for worker in _executor._processes:
    os.kill(worker, {number})
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, timeout=120, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_ray_is_never_asked_to_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may abort the process that asks, of which it once killed a run of these tests."""
    import ray

    cancelled: list[Any] = []
    monkeypatch.setattr(ray, "cancel", lambda *what, **how: cancelled.append((what, how)))
    for n_taken in (1, 2, 3):
        given = iter(UNITS)
        take = lambda _, given=given: next(given, None)  # noqa: E731
        with closing(results(worker.compute_one, take, parallel("ray"), len(UNITS))) as stream:
            done = [*islice((each for ended in stream for each in ended), n_taken)]
        assert len({each.unit.key for each in done}) == n_taken
    assert not cancelled


def test_an_engine_that_is_not_installed_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that installs it."""
    for name, package in (("dask", "distributed"), ("ray", "ray")):
        monkeypatch.setitem(sys.modules, package, None)
        dask_cluster.open_dask.cache_clear()
        ray_cluster.open_ray.cache_clear()
        with pytest.raises(UserError, match=f"parallel={name} needs .*engines"):
            parallel_jobs.run(UNITS[:1], store, parallel(name), quiet=True)


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_an_engine_needs_no_address(
    name: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with parallel.backend=ray on an option that has none: it opens on this machine."""

    def opened(address: str, jobs: int) -> None:
        raise UserError(f"address {address!r}, {jobs} workers")

    monkeypatch.setattr(f"omtl.compute.engines.{name}_cluster.open_{name}", opened)
    with pytest.raises(UserError, match="address '', 2 workers"):
        parallel_jobs.run(UNITS[:1], store, {**parallel("threads"), "backend": name}, quiet=True)


def test_deaths_of_workers_are_known_by_name() -> None:
    """Each is an exception of a package that is installed."""
    for module in parallel_jobs.DEAD:
        import_module(module)
    deaths = parallel_jobs._deaths()
    assert len(deaths) == sum(map(len, parallel_jobs.DEAD.values()))
    assert all(issubclass(death, Exception) for death in deaths)


def test_an_unknown_engine_is_told(store: Store) -> None:
    """With those that there are."""
    with pytest.raises(UserError, match=r"no parallel\.backend 'slurm'; choose from sequential"):
        parallel_jobs.run(UNITS[:1], store, {**parallel("dask"), "backend": "slurm"}, quiet=True)


@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_hydras_launchers_fill_the_store(launcher: str, tmp_path: Path) -> None:
    """A sweep by a launcher computes what the same sweep without it then only reads."""
    sweep = ["algorithm=pm,pa", "repeats=3", "dataset.options.n_examples=40", "parallel=serial"]

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "omtl", "run", "-m", *words, *sweep],
            cwd=ROOT,
            env={**os.environ, "OMTL_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(f"hydra/launcher={launcher}")
    stored = list(Store(tmp_path / "store").records())
    assert len(stored) == 6
    assert run().count("3 repeats") == 2
    assert sorted(Store(tmp_path / "store").records()) == sorted(stored)
