"""Whatever computes the units, and whatever becomes of workers and disks: the same bytes."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from environments import python, started
from miniature import SERIAL, small

from omtl.compute import batches as batching
from omtl.compute import engine, workers
from omtl.compute.batches import BATCH_SECONDS, MOST, Batches
from omtl.compute.own_process import CAN_ISOLATE, Apart
from omtl.compute.store import Store, StoredRow, packed
from omtl.experiment.playing import compute
from omtl.experiment.specs import ParallelSpec
from omtl.experiment.unit import Unit
from omtl.util.ending import INTERRUPTED
from omtl.util.errors import UserError, WriteError
from scripts.faults.__main__ import main as faults
from scripts.faults.moments import KINDS

WORKERS = 2
slow, deep = pytest.mark.slow, pytest.mark.deep


def parallel(name: str) -> ParallelSpec:
    """Return an engine with two workers."""
    return replace(ParallelSpec.named(name), jobs=WORKERS)


def bits(store: Store, units: list[Unit]) -> list[bytes]:
    """Return the arrays of stored units, to the bit."""
    return [packed(result.arrays) for result in store.stored(units)]


@pytest.fixture(autouse=True)
def _on_a_terminal() -> Iterator[None]:
    """Let Ctrl-C do what it does in a terminal; without one, workers may inherit to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("name", ["threads", pytest.param("dask", marks=slow)])
def test_all_engines_store_the_same_bytes(name: str, store: Store, tmp_path: Path) -> None:
    """Short units are handed out several at a time."""
    units = [*small("pm").repeats(0, 30), *small("dom2").repeats(0, 10)]
    alone = Store(tmp_path / "alone")
    engine.run_units(units, alone, SERIAL, quiet=True)
    outcome = engine.run_units(units, store, parallel(name), quiet=True)
    assert (outcome.computed, outcome.failed) == (len(units), {})
    assert bits(store, units) == bits(alone, units)
    if name == "dask":
        cluster = workers.cluster("dask", "", WORKERS, os.getpid())
        assert cluster.n_workers() == WORKERS
        cluster.client.shutdown()  # or it would keep this process busy during later tests
        workers.cluster.cache_clear()


@pytest.mark.slow
@pytest.mark.skipif(not CAN_ISOLATE, reason="needs other processes")
def test_units_of_a_worker_process_that_is_killed_are_computed_by_another(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the same bytes."""
    units, honest, asked = small("pm").repeats(0, 30), Apart.ask, []

    def ask(apart: Apart, *given: Any, **limits: Any) -> Any:
        asked.append(apart)
        if len(asked) == 3:
            apart._process.kill()
        return honest(apart, *given, **limits)

    monkeypatch.setattr(Apart, "ask", ask)
    outcome = engine.run_units(units, store, parallel("processes"), quiet=True)
    assert capsys.readouterr().err.count("a worker died") == 1
    assert (outcome.computed, outcome.failed) == (len(units), {})
    assert bits(store, units) == [packed(compute(unit).arrays) for unit in units]


@pytest.mark.skipif(not CAN_ISOLATE, reason="needs other processes")
def test_units_are_computed_elsewhere_while_another_thread_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Numba lets one thread of a process compile at a time."""
    unit = small("pm").unit(0, 0)
    expected = compute(unit)
    monkeypatch.setattr(batching, "_BEGUN", set())
    monkeypatch.setattr(batching, "is_compiling", lambda: True)
    monkeypatch.setattr(batching, "compute", lambda _: pytest.fail("it was computed here"))
    ends = batching.compute_batch([unit], batching.this_process(), SERIAL)
    assert packed(ends[unit.key].arrays) == packed(expected.arrays)


def test_workers_that_always_die_end_the_run(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a few attempts with nothing done; units that were done are kept."""
    honest, calls = batching.compute_batch, []

    def die(units: list[Unit], *given: Any) -> Any:
        calls.append(units)
        if len(calls) == 1:
            return honest(units, *given)
        raise ConnectionError("the machine is gone")

    monkeypatch.setattr(batching, "compute_batch", die)
    units = small("pm").repeats(0, 3)
    with pytest.raises(UserError, match=r"sequential died 3 times .*the machine is gone"):
        engine.run_units(units, store, SERIAL, quiet=True)
    assert len(calls) == 4
    assert capsys.readouterr().err.count("a worker died") == 2
    assert store.stored(units[:1])


def test_ctrl_c_is_answered_at_once_and_keeps_what_is_finished(tmp_path: Path) -> None:
    """The first lets the units under way end, which are stored; the second stops."""
    run = started(tmp_path, "parallel=threads", units=5)
    for _ in range(2):
        run.send_signal(signal.SIGINT)
        time.sleep(0.2)
    _, told = run.communicate(timeout=240)
    assert run.returncode == INTERRUPTED
    assert "press again to stop now" in told
    assert "omtl: stopped; finished units are kept" in told
    assert "Traceback" not in told
    assert 5 <= len(Store(tmp_path / "store").keys()) < 2000


@deep
@pytest.mark.parametrize("name", ["dask", "ray"])
def test_a_cluster_that_does_not_answer_is_reported(name: str, store: Store) -> None:
    """With its address."""
    how = replace(parallel(name), address="127.0.0.1:1")
    with pytest.raises(UserError, match=f"no cluster of {name} answers at '127.0.0.1:1'"):
        engine.run_units(small("pm").repeats(0, 1), store, how, quiet=True)


def batches(units: list[Unit], count: int = 1) -> Batches:
    """Return the batches of units, all of which are wanted, for so many workers."""
    return Batches(units, Mock(count=count), lambda batch: batch)


def test_the_first_of_each_kind_come_early_and_alone() -> None:
    """They compile; after them units of known kinds share a batch if they are short."""
    pm, pa, gd = (small(name).repeats(0, 20) for name in ("pm", "pa", "gd"))
    queue = batches([*pm, *pa, *gd])
    assert [next(queue) for _ in range(3)] == [pm[:1], pa[:1], gd[:1]]
    for unit in (pm[0], pa[0], gd[0]):
        queue.note(unit, 9.0)  # with compiling
        queue.note(unit, BATCH_SECONDS / 4)
    assert next(queue) == [pm[1], pa[1], gd[1], pm[2]]
    full, ring = (small("dom1", network).repeats(0, 2) for network in ("full", "ring"))
    handed = [unit for batch in batches([*full, *ring, *pm[:2]]) for unit in batch]
    assert handed == [full[0], pm[0], ring[0], full[1], pm[1], ring[1]]


def test_data_sets_take_turns_once() -> None:
    """Two large ones that alternate would be loaded for each unit; one unit loads the next."""
    units = [small(name).unit(0, repeat) for repeat in range(5) for name in ("pm", "pa")]
    sets = [replace(units[0].dataset, name=name) for name in ("random_walk", "biased_tasks")]
    queue = batches([replace(unit, dataset=dataset) for unit in units for dataset in sets])
    given = "".join(unit.dataset.name[0] for handed in queue for unit in handed)
    assert given == "bb" + "r" + 8 * "b" + 9 * "r"


def test_short_units_are_handed_out_together_but_not_the_last() -> None:
    """And long ones never."""
    units = small("pm").repeats(0, 4000)
    for seconds, most in ((BATCH_SECONDS / 9.5, 10), (1e-9, MOST), (1.0, 1)):
        queue = batches(units, count=2)
        [first] = next(queue)
        queue.note(first, 9.0)  # with compiling
        queue.note(first, seconds)
        sizes = [len(handed) for handed in queue]
        assert (sizes[0], sizes[-1], sum(sizes)) == (most, 1, len(units) - 1)


def test_what_another_run_stores_is_not_computed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked for when its turn comes; its seconds are known too."""
    units = small("pm").repeats(0, 4)

    def compute_beside_another(unit: Unit) -> Any:
        if unit is units[0]:
            for other in units[1:3]:
                Store(store.folder).add([StoredRow.of(other, compute(other))])
        return compute(unit)

    monkeypatch.setattr(batching, "compute", compute_beside_another)
    outcome = engine.run_units(units, store, SERIAL, quiet=True)
    assert (outcome.computed, outcome.reused) == (2, 2)
    assert set(outcome.seconds) == {unit.key for unit in units}


@deep
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_hydras_launchers_fill_the_store(launcher: str, tmp_path: Path) -> None:
    """A sweep by a launcher computes what the same sweep without it then only reads."""
    sweep = ["algorithm=pm,pa", "repeats=3", "dataset.options.n_examples=40", "parallel=serial"]

    def run(*words: str) -> str:
        around = {**os.environ, "OMTL_HOME": str(tmp_path)}
        return python("-m", "omtl", "run", "-m", *words, *sweep, env=around).stdout

    run(f"hydra/launcher={launcher}")
    stored = list(Store(tmp_path / "store").rows())
    assert len(stored) == 6
    assert run().count("3 repeats") == 2
    assert list(Store(tmp_path / "store").rows()) == stored


ONE_EACH = sum(len(engines) for _, engines in KINDS.values())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "words",
    [
        pytest.param("SIGKILL SIGINT --engine threads --moments 2", marks=slow),
        pytest.param(f"--moments {ONE_EACH}", marks=deep),
    ],
)
def test_broken_runs_go_on_to_the_same_bytes(words: str) -> None:
    """With nothing lost and nothing computed twice, whatever breaks them on whatever engine."""
    assert faults(words.split()) == 0


def test_a_full_disk_under_a_unit_ends_the_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other unit would fare better, so none is tried; what was stored is kept."""
    units, played = small("pm").repeats(0, 4), []

    def fill(unit: Any) -> Any:
        played.append(unit)
        if len(played) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", "/some/cache")
        return compute(unit)

    monkeypatch.setattr(batching, "compute", fill)
    with pytest.raises(WriteError, match="/some/cache cannot be written"):
        engine.run_units(units, store, SERIAL, quiet=True)
    assert [bool(store.stored([unit])) for unit in units] == [True, False, False, False]
