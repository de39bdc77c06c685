"""Faults of disks and processes, kills, and long runs."""

from __future__ import annotations

import errno
import gc
import os
import sys
from typing import Any

import psutil
import pytest
from miniature import SERIAL, small

from omtl.compute import batches, engine, exchange
from omtl.compute.store import Store, StoredRow
from omtl.experiment.playing import compute
from omtl.experiment.unit import Result
from omtl.util.errors import WriteError
from scripts.faults.__main__ import main as faults
from scripts.faults.moments import KINDS

slow, deep = pytest.mark.slow, pytest.mark.deep

MIB = 2**20


def held() -> tuple[int, int]:
    """Return this process's memory and its number of descriptors."""
    gc.collect()
    process = psutil.Process()
    return process.memory_info().rss, process.num_fds()


@deep
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform == "win32", reason="counts descriptors")
def test_three_thousand_runs_in_one_process(store: Store) -> None:
    """Each of a unit that is new, and of one that is stored."""
    experiment = small("pm")
    after = {}
    for number in range(3000):
        engine.run_units(experiment.repeats(number // 100, 2), store, SERIAL, quiet=True)
        engine.run_units([experiment.unit(1000, number)], store, SERIAL, quiet=True)
        if number in (999, 2999):
            after[number] = held()
    assert after[2999][0] - after[999][0] < 16 * MIB
    assert after[2999][1] == after[999][1]
    assert len(store.keys()) == 3000 + 60


@deep
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_units(store: Store) -> None:
    """They are stored, listed, checked and counted; the second half needs no more memory."""
    result = compute(small("pm").unit(0, 0))

    def rows(start: int) -> list[StoredRow]:
        units = small("pm").repeats(start, 1000)  # an experiment keeps its units: one per thousand
        facts = [result.facts | {"unit": unit.identity} for unit in units]
        made = zip(units, facts, strict=True)
        return [StoredRow.of(unit, Result(result.arrays, fact)) for unit, fact in made]

    assert exchange.is_current(rows(0)[0])
    after = []
    for half in range(2):
        for start in range(50_000 * half, 50_000 * (half + 1), 1000):
            store.add(rows(start))
        assert len(store.keys()) == 50_000 * (half + 1)
        assert not store.damaged()
        assert exchange.prune(store, only_count=True) == (0, 50_000 * (half + 1))
        after.append(held())
    assert after[1][0] - after[0][0] < 24 * MIB
    assert after[1][1] == after[0][1]


ONE_EACH = sum(len(engines) for _, engines in KINDS.values())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "words",
    [
        pytest.param("SIGKILL SIGINT two-runs --engine threads --moments 3", marks=slow),
        pytest.param("worker-dies --engine processes --moments 1", marks=slow),
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

    monkeypatch.setattr(batches, "compute", fill)
    with pytest.raises(WriteError, match="/some/cache cannot be written"):
        engine.run_units(units, store, SERIAL, quiet=True)
    assert [store.load(unit) is not None for unit in units] == [True, False, False, False]
