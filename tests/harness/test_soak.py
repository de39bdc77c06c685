"""A process that goes on for long: memory and descriptors level off."""

from __future__ import annotations

import gc
import sys

import psutil
import pytest
from miniature import SERIAL, small

from omtl.compute import engine, exchange
from omtl.compute.store import Store, StoredRow
from omtl.experiment.playing import compute
from omtl.experiment.unit import Result

MIB = 2**20


def held() -> tuple[int, int]:
    """Return this process's memory and its number of descriptors."""
    gc.collect()
    process = psutil.Process()
    return process.memory_info().rss, process.num_fds()


@pytest.mark.deep
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


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_units(store: Store) -> None:
    """They are stored, listed, checked and counted; the second half needs no more memory."""
    result = compute(small("pm").unit(0, 0))

    def rows(start: int) -> list[StoredRow]:
        units = small("pm").repeats(start, 1000)  # an experiment keeps its units: one per thousand
        facts = [result.facts | {"unit": unit.identity} for unit in units]
        made = zip(units, facts, strict=True)
        return [StoredRow.of(unit, Result(result.arrays, fact)) for unit, fact in made]

    assert exchange.Current()(rows(0)[0])
    after = []
    for half in range(2):
        for start in range(50_000 * half, 50_000 * (half + 1), 1000):
            store.add(rows(start))
        assert len(store.keys()) == 50_000 * (half + 1)
        assert not exchange.damaged_units(store)
        assert exchange.prune(store, only_count=True) == (0, 50_000 * (half + 1))
        after.append(held())
    assert after[1][0] - after[0][0] < 24 * MIB
    assert after[1][1] == after[0][1]
