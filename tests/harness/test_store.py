"""Nothing is lost and nothing half-written is taken for a result."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miniature import SERIAL, small

from omtl.compute import parallel_jobs
from omtl.compute.segments import HEADER, scan
from omtl.compute.store import Store
from omtl.experiment.unit import Result, compute
from omtl.util.errors import WriteError
from omtl.util.paths import ROOT


def test_a_result_comes_back_as_it_was(store: Store) -> None:
    """What is loaded equals what was saved."""
    unit = small("dom1").unit(seed=0, repeat=0)
    result = compute(unit)
    store.save(unit, result)
    loaded = store.load(unit)
    assert loaded is not None
    assert loaded.arrays.keys() == result.arrays.keys()
    for name, array in result.arrays.items():
        np.testing.assert_array_equal(loaded.arrays[name], array)
        assert loaded.arrays[name].dtype == array.dtype
    assert loaded.facts == store.facts(unit) == json.loads(json.dumps(result.facts))


@pytest.mark.parametrize("place", ["magic", "header", "payload", "last header", "last payload"])
def test_a_damaged_unit_is_set_aside_and_computed_again(
    store: Store, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only it: the others of its file are kept, and the file as it was is kept for inspection."""
    units = small("pm").repeats(0, 3)
    parallel_jobs.run(units, store, SERIAL, quiet=True)
    (path,) = store.folder.glob("*.units")
    _, second, last = scan(path)
    at = {
        "magic": second.begin - HEADER.size + 2,
        "header": second.begin - HEADER.size + 20,
        "payload": second.begin + 50,
        "last header": last.begin - 3,
        "last payload": last.end - 1,
    }[place]
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    again = Store(store.folder)
    assert parallel_jobs.run(units, again, SERIAL, quiet=True).computed == 1
    assert capsys.readouterr().err.count("damaged at byte") == 1
    assert path.with_suffix(".damaged").read_bytes() == content
    assert parallel_jobs.run(units, Store(store.folder), SERIAL, quiet=True).reused == 3
    assert "damaged" not in capsys.readouterr().err


@pytest.mark.parametrize("left", [1, HEADER.size - 1, HEADER.size, HEADER.size + 1, -1])
def test_a_torn_end_is_no_unit(store: Store, left: int, capsys: pytest.CaptureFixture[str]) -> None:
    """What a killed process has begun to write is not read, and nothing is written after it."""
    units = small("pm").repeats(0, 3)
    parallel_jobs.run(units, store, SERIAL, quiet=True)
    (path,) = store.folder.glob("*.units")
    *_, last = scan(path)
    end = last.begin - HEADER.size + left if left > 0 else last.end - 1
    os.truncate(path, end)
    assert parallel_jobs.run(units, Store(store.folder), SERIAL, quiet=True).computed == 1
    assert path.stat().st_size == end
    assert parallel_jobs.run(units, Store(store.folder), SERIAL, quiet=True).reused == 3
    assert "damaged" not in capsys.readouterr().err


def test_many_units_are_few_files_and_others_find_them(store: Store) -> None:
    """Of two that write at once each has a file; what one writes the other finds."""
    units = small("pm").repeats(0, 40)
    one, two = Store(store.folder), Store(store.folder)
    for number, unit in enumerate(units):
        (one, two)[number % 2].save(unit, Result({"number": np.array(number)}, {}))
    assert len(list(store.folder.glob("*.units"))) == 2
    for reader in (one, two, store):
        assert all(reader.has(unit) for unit in units)
    one.sync()
    two.sync()
    two.save(small("pm").unit(0, 40), Result({}, {}))
    assert len(list(store.folder.glob("*.units"))) == 2


def test_what_does_not_fit_leaves_the_file_as_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full in the middle of a record: a sentence, and no half of it."""
    units = small("pm").repeats(0, 2)
    store.save(units[0], Result({}, {}))
    (path,) = store.folder.glob("*.units")
    before, honest = path.read_bytes(), os.write

    def full(handle: int, content: memoryview) -> int:
        if len(content) <= 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return honest(handle, content[:100])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(WriteError, match=r"units cannot be written \(No space"):
        store.save(units[1], Result({}, {}))
    assert path.read_bytes() == before


def test_units_are_reported_when_they_are_on_the_disk(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In groups, none of which is counted before its file is synchronised."""
    units, synced = small("pm").repeats(0, 20), []
    honest = os.fsync

    def sync(handle: int) -> None:
        honest(handle)
        synced.append(sum(1 for path in store.folder.glob("*.units") for _ in scan(path)))

    monkeypatch.setattr(os, "fsync", sync)
    assert parallel_jobs.run(units, store, SERIAL, quiet=True).computed == 20
    assert synced[-1] == 20
    assert len(synced) < 15


def test_without_locks_files_of_others_are_left_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on some file systems of clusters: each process appends to what it has made."""

    def none(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    one, two = Store(store.folder), Store(store.folder)
    for number, unit in enumerate(small("pm").repeats(0, 6)):
        (one, two)[number % 2].save(unit, Result({}, {}))
        (one, two)[number % 2].sync()
    assert len(list(store.folder.glob("*.units"))) == 2
    assert len(list(store.records())) == 6


def test_stored_units_are_not_computed_again(store: Store) -> None:
    """A second run computes only what is new, and a unit asked for twice is computed once."""
    experiment = small("pm")
    first = parallel_jobs.run(experiment.repeats(0, 3) * 2, store, SERIAL, quiet=True)
    second = parallel_jobs.run(experiment.repeats(0, 5), store, SERIAL, quiet=True)
    assert (first.computed, first.reused) == (3, 0)
    assert (second.computed, second.reused) == (2, 3)


def test_a_failed_unit_is_reported_and_not_stored(store: Store) -> None:
    """One wrong unit leaves the others alone, has a reason, and is no result."""
    wrong = small("pm")
    wrong.algorithm["grid"] = {"eta": ["often"]}
    units = [*wrong.repeats(0, 1), *small("pm").repeats(0, 1)]
    outcome = parallel_jobs.run(units, store, SERIAL, quiet=True)
    assert outcome.computed == 1
    assert "often" in outcome.failed[units[0].key].reason
    assert not store.has(units[0])


def test_what_determines_a_result_determines_its_key() -> None:
    """Any change of the experiment, the seed or the repeat changes the key; labels do not."""
    base = small("dom2").unit(0, 0)
    same = small("dom2")
    same.algorithm["label"] = "another label"
    assert same.unit(0, 0).key == base.key
    others = [small("dom2").unit(1, 0), small("dom2").unit(0, 1), small("dom2").unit(0, 0, draw=1)]
    others.append(small("dom2", network="full").unit(0, 0))
    others.append(small("dom2", increment="std").unit(0, 0))
    others.append(small("dom2", compared_losses="of_nodes").unit(0, 0))
    keys = [unit.key for unit in (base, *others)]
    assert len(set(keys)) == len(keys)


RUN = [
    *(sys.executable, "-m", "omtl", "run", "algorithm=dom2", "network=ring", "repeats=40"),
    *("dataset.options.n_examples=150", "dataset.options.n_features=20", "parallel=threads"),
]


def _run(home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMTL_HOME": str(home)}
    return subprocess.run(
        RUN, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=True
    )


def count(home: Path) -> int:
    """Return how many units are stored."""
    return len(list(Store(home / "store").records()))


@pytest.mark.slow
def test_killed_runs_go_on_and_end_with_the_same_answer(tmp_path: Path) -> None:
    """SIGKILL and SIGINT at random moments lose no finished unit and change no number."""
    undisturbed = _run(tmp_path / "calm").stdout.partition("written:")[0]
    home = tmp_path / "killed"
    moments = random.Random(5)
    stored = 0
    for trial in range(6):
        process = subprocess.Popen(
            RUN,
            cwd=ROOT,
            env={**os.environ, "OMTL_HOME": str(home)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        target = stored + moments.randint(1, 4)
        while process.poll() is None and time.monotonic() < deadline:
            if count(home) >= target:
                break
            time.sleep(moments.uniform(0.0, 0.02))
        process.send_signal(signal.SIGKILL if trial % 2 else signal.SIGINT)
        process.wait(timeout=60)
        now = count(home)
        assert now >= stored
        stored = now
    ended = _run(home)
    assert ended.stdout.partition("written:")[0] == undisturbed
    assert "damaged" not in ended.stderr
