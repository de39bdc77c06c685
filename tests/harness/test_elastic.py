"""Workers of real clusters, which are processes of their own, come and go; schedulers too."""

from __future__ import annotations

import random
import warnings
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from omtl.compute.engines import results
from omtl.compute.engines.ray_cluster import Ray

from omtl.commands._main import main
from omtl.compute.store import Store
from omtl.experiment.config import load_option
from omtl.experiment.unit import compute
from omtl.util.errors import UserError
from scripts.demands import BrokenError
from scripts.elastic.client import nap, units
from scripts.elastic.clusters import cluster_of
from scripts.elastic.moments import moment

# clusters start slowly where other tests run beside
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
AFTER = 20
"""Tasks that are handed out after a worker has been killed."""


@pytest.mark.parametrize("engine", ["dask"])  # ray: python -m scripts.elastic --engine ray
def test_workers_come_and_go(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """None at the start is waited for, those that join get work, a killed one loses none."""
    pids: list[int] = []
    n_given, left, joined = 0, AFTER, False

    def take(_: int) -> float | None:
        nonlocal n_given, left
        left -= killed
        n_given += left >= 0
        return 0.1 if left >= 0 else None

    killed = False
    with cluster_of(engine) as cluster:
        how = {**load_option("parallel", engine), "address": cluster.address}
        with closing(results(nap, take, how, 10**6)) as stream:
            assert next(stream) == []
            assert "has no workers now; waiting for one" in capsys.readouterr().err
            cluster.join()
            for ended in stream:
                pids += ended
                if pids and not joined:
                    joined = True
                    cluster.join()
                if len(set(pids)) == 2 and not killed:
                    killed = True
                    cluster.leave()
    assert killed
    assert len(pids) == n_given
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


def test_a_run_whose_own_node_of_ray_died_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the head still answers: ray would go on without the node, and then end the run."""
    engine = object.__new__(Ray)
    nodes = [{"NodeID": "own", "Alive": True, "Resources": {"CPU": 2.0}}]
    nodes += [{"NodeID": "other", "Alive": alive, "Resources": {"CPU": 4.0}} for alive in (0, 1)]
    engine._ray, engine._node, engine._address = SimpleNamespace(nodes=lambda: nodes), "own", "a:1"
    monkeypatch.setattr(Ray, "_head_answers", lambda _self: True)
    assert engine._now() == 6
    nodes[0]["Alive"] = False
    with pytest.raises(UserError, match="the scheduler of ray at a:1 is gone"):
        engine._now()
