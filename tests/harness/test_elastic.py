"""Workers of real clusters, which are processes of their own, come and go; schedulers too."""

from __future__ import annotations

import random
import time
import warnings
from pathlib import Path

import joblib
import pytest

from omtl.commands._main import main
from omtl.compute.clusters import cluster
from omtl.compute.store import Store
from omtl.experiment.playing import compute
from scripts.demands import BrokenError
from scripts.elastic.client import nap, units
from scripts.elastic.clusters import cluster_of
from scripts.elastic.moments import moment

# clusters start slowly where other tests run beside
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.mark.parametrize("engine", ["dask"])  # ray: python -m scripts.elastic --engine ray
def test_workers_come_and_go(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """None at the start is waited for, those that join get work, a killed one loses none."""
    pids: list[int] = []
    joined = killed = False
    with cluster_of(engine) as its:
        backend = cluster(engine, its.address, 1)
        with joblib.parallel_config(backend, n_jobs=1):
            run = joblib.Parallel(
                return_as="generator_unordered", pre_dispatch=backend.backlog(1), batch_size=1
            )
            answers = run(joblib.delayed(nap)(0.1) for _ in range(300))
            until = time.monotonic() + 60
            while "has no workers now; waiting for one" not in capsys.readouterr().err:
                assert time.monotonic() < until
                time.sleep(0.1)
            its.join()
            for pid in answers:
                pids.append(pid)
                if not joined:
                    joined = True
                    its.join()
                if len(set(pids)) == 2 and not killed:
                    killed = True
                    its.leave()
    assert killed
    assert len(pids) == 300
    assert pids[-1] != pids[0]


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_workers_join_and_schedulers_go_and_the_run_goes_on(engine: str, tmp_path: Path) -> None:
    """One sentence, status 2; with a new scheduler the same run computes what is missing.

    `moment` raises where that does not hold. A fast run may have ended before the event. A cluster
    on a busy machine may fail to begin, so there is a second try; the first's fault is a warning.
    """
    for attempt in (1, 2):
        try:
            with cluster_of(engine) as cluster:
                for event in ("a worker joins", "the scheduler is killed"):
                    folder = tmp_path / f"{event} {attempt}"
                    folder.mkdir()
                    moment(event, engine, cluster, random.Random(3), folder)
            break
        except BrokenError as fault:
            if attempt == 2:
                raise
            warnings.warn(str(fault), stacklevel=1)
    store = Store(folder / "store")
    for unit in units()[:2]:
        found = store.load(unit)
        assert found is not None
        assert {name: array.tobytes() for name, array in found.arrays.items()} == {
            name: array.tobytes() for name, array in compute(unit).arrays.items()
        }


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_a_run_that_is_killed_has_what_it_reported(engine: str, tmp_path: Path) -> None:
    """All units that were counted as done are stored, and none of them is computed again."""
    moments = random.Random(7)
    with cluster_of(engine) as none:
        moment("SIGKILL", engine, none, moments, tmp_path)


def test_an_address_needs_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence where the engine has no workers elsewhere, or nobody answers."""
    order = ["table", "dom-table1", "--repeats", "1", "--address", "tcp://127.0.0.1:1"]
    assert main(order) == 2
    assert "--parallel threads runs on this machine only" in capsys.readouterr().err
