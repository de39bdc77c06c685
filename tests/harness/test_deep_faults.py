"""Faults of disks and processes, kills, and long runs."""

from __future__ import annotations

import errno
import gc
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from miniature import SERIAL, small

from omtl.compute import batches, engine, exchange
from omtl.compute.store import Store, StoredRow
from omtl.experiment.playing import compute
from omtl.experiment.unit import Result
from omtl.site import build as building
from omtl.site.sources import Sources
from omtl.util.errors import WriteError
from omtl.util.paths import RESULTS
from scripts.faults.__main__ import main as faults
from scripts.faults.moments import KINDS

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


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def files_of(folder: Path) -> dict[str, bytes]:
    """Return a folder's files by their names."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the results of a small site, whose pages are made once: kills are for the writing."""
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("claims.csv", "theory.csv"):
        shutil.copy(RESULTS / name, folder)
    pages = building.pages(Sources(folder))
    monkeypatch.setattr(building, "pages", lambda *_: pages)
    return folder


def killed(results: Path, output: Path, moment: float) -> None:
    """Build a site in a fork that is killed.

    Parameters
    ----------
    results, output : Path
    moment : float
        Seconds after the start; a negative whole number is that of a move of folders.
    """
    child = os.fork()
    if not child:
        move, moved = Path.replace, []

        def counting(path: Path, target: Path) -> Path:
            if len(moved) == -1 - moment:
                os.kill(os.getpid(), signal.SIGKILL)
            moved.append(target)
            return move(path, target)

        Path.replace = counting  # type: ignore[method-assign,assignment]
        building.build(output, results=results)
        os._exit(0)
    if moment >= 0.0:
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_a_site_survives_kills(results: Path, tmp_path: Path) -> None:
    """Before and after each of the two moves that swap it with an earlier one, at any moment."""
    began = time.monotonic()
    building.build(tmp_path / "calm", results=results)
    took, calm = time.monotonic() - began, files_of(tmp_path / "calm")
    output = tmp_path / "site"
    building.build(output, results=results)
    front = output / "index.html"
    drawn = random.Random(1)
    for moment in [-1, -2, *(took * drawn.random() for _ in range(30))]:
        front.write_text("earlier", encoding="utf-8")
        killed(results, output, moment)
        there = output if output.exists() else tmp_path / ".site-earlier"
        assert files_of(there) in (calm, {**calm, "index.html": b"earlier"})
        building.build(output, results=results)
        assert files_of(output) == calm
        assert {path.name for path in tmp_path.iterdir()} == {"calm", "results", "site"}


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_every_kind_of_fault_on_every_engine() -> None:
    """Broken runs go on to the same bytes, with nothing lost and nothing computed twice."""
    assert faults(["--moments", str(sum(len(engines) for _, engines in KINDS.values()))]) == 0


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
