"""Runs that are broken go on where they were; `make faults` breaks them at 200 moments."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from miniature import SERIAL, small

from omtl.commands._main import main
from omtl.compute import engine
from omtl.compute.store import Store
from omtl.experiment.playing import compute
from omtl.util.errors import WriteError
from scripts.faults.__main__ import broken
from scripts.faults.__main__ import main as faults
from scripts.faults.moments import KINDS, Ground

QUICK = [
    ("SIGKILL", "threads"),
    ("SIGINT", "threads"),
    ("SIGTERM", "processes"),
    ("worker-dies", "processes"),
    ("disk-fills-up", "threads"),
    ("killed-between-files", "threads"),
]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_broken_runs_go_on() -> None:
    """To the same bytes, with nothing lost and nothing computed twice."""
    trials = list(broken(QUICK, len(QUICK), seed=1))
    assert [fault for *_, fault in trials if fault] == []
    assert sorted(trial[:2] for trial in trials) == sorted(QUICK)


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_every_kind_of_fault_on_every_engine() -> None:
    assert faults(["--moments", str(sum(len(engines) for _, engines in KINDS.values()))]) == 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_other_bytes_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver can fail: an undisturbed run that made other bytes."""
    kill, engines = KINDS["SIGKILL"]

    def with_other_bytes(ground: Ground) -> bool:
        ground.calm = {name: content + b" " for name, content in ground.calm.items()}
        return kill(ground)

    monkeypatch.setitem(KINDS, "SIGKILL", (with_other_bytes, engines))
    [(*_, fault)] = broken([("SIGKILL", "threads")], 1, seed=0)
    assert fault == "went on to other bytes"


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

    monkeypatch.setattr(engine, "compute", fill)
    with pytest.raises(WriteError, match="/some/cache cannot be written"):
        engine.run_units(units, store, SERIAL, quiet=True)
    assert [store.has(unit) for unit in units] == [True, False, False, False]


def test_an_address_needs_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence where the engine has no workers elsewhere, or nobody answers."""
    order = ["table", "dom-table1", "--repeats", "1", "--address", "tcp://127.0.0.1:1"]
    assert main(order) == 2
    assert "--parallel threads runs on this machine only" in capsys.readouterr().err
