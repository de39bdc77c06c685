"""Nothing is lost and nothing half-written is taken for a result."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from miniature import small

from omtl.compute import parallel_jobs
from omtl.compute.store import Store
from omtl.experiment.unit import compute
from omtl.util.paths import ROOT

SERIAL = {"backend": "sequential", "jobs": 1}


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


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "garbage"])
def test_a_damaged_file_is_set_aside_and_computed_again(
    store: Store, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file whose hash is wrong is no result, is kept for inspection, and is replaced."""
    unit = small("pm").unit(seed=0, repeat=0)
    parallel_jobs.run([unit], store, SERIAL, quiet=True)
    path = store.path(unit)
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(
        {
            "truncate": content[:middle],
            "flip": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            "empty": b"",
            "garbage": b"x" * 500,
        }[damage]
    )
    assert parallel_jobs.run([unit], store, SERIAL, quiet=True).computed == 1
    assert "damaged" in capsys.readouterr().err
    assert path.with_suffix(".damaged").exists()
    assert store.load(unit) is not None


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


def test_killed_runs_go_on_and_end_with_the_same_answer(tmp_path: Path) -> None:
    """SIGKILL and SIGINT at random moments lose no finished unit and change no number."""
    undisturbed = _run(tmp_path / "calm").stdout
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
            if len(list(home.glob("store/*/*.unit"))) >= target:
                break
            time.sleep(moments.uniform(0.0, 0.02))
        process.send_signal(signal.SIGKILL if trial % 2 else signal.SIGINT)
        process.wait(timeout=60)
        now = len(list(home.glob("store/*/*.unit")))
        assert now >= stored
        stored = now
    ended = _run(home)
    assert ended.stdout == undisturbed
    assert "damaged" not in ended.stderr
