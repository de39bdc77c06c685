"""Runs of the command that makes a small table, and clusters whose workers come and go."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from omtl.compute.store import Store
from omtl.experiment.new_files import make_files
from omtl.util.ending import DONE
from omtl.util.files import IN_WORK
from omtl.util.paths import ROOT

TABLE = "mini-table1"
REPEATS = 18
UNITS = 2 * REPEATS
COMMAND = Path(__file__).with_name("command.py")
"""Run as a file, as users run `omtl`: Ctrl-C that falls into an `exec` of Python's own library, and
is answered, ends ``python -m`` by the signal and not with the status."""

PATIENCE = 240.0
"""Seconds after which a run counts as hanging."""


class Place:
    """A folder with the small experiment and results of its own, and a store in its home.

    Parameters
    ----------
    folder : Path
    home : Path, optional
        Of the store; by default in the folder.
    """

    def __init__(self, folder: Path, home: Path | None = None) -> None:
        self.folder, self.home = folder, home or folder / "home"
        self.store = Store(self.home / "store")
        self._table, self._log = folder / "experiments" / "mini" / "table1.yaml", Path()
        self.write_experiment()

    def write_experiment(self) -> None:
        """Write a paper of the user's own, with a table of two algorithms."""
        make_files("paper", "mini", self.folder)
        with self._table.open("a", encoding="utf-8") as file:
            file.write("baselines: none\nplays: 0\n")

    def write_learner(self, old: str, new: str) -> None:
        """Put a learner of the user's own into the table, with a change of its code."""
        shutil.copytree(ROOT / "examples" / "my_learner", self.folder, dirs_exist_ok=True)
        changes = {self.folder / "my_learner.py": (old, new)}
        changes[self._table] = "algorithm: pa,", "algorithm: my_learner,"
        for path, change in changes.items():
            path.write_text(path.read_text(encoding="utf-8").replace(*change), encoding="utf-8")

    def start(self, engine: str = "threads", address: str = "", files: int | None = None) -> Run:
        """Begin the command that makes the table; it is killed after so many files of results."""
        words = ["table", TABLE, "--seed", "1", "--repeats", str(REPEATS), "--jobs", "2"]
        words += ["--parallel", engine, *(["--address", address] if address else [])]
        own = {"OMTL_HOME": str(self.home), "OMTL_OWN": str(self.folder), "PYTHONPATH": str(ROOT)}
        log = self.folder.with_name(f"{self.folder.name}-{time.monotonic_ns()}.log")
        with log.open("wb") as said:
            process = subprocess.Popen(
                [sys.executable, "-P", COMMAND, "all" if files is None else str(files), *words],
                **{"cwd": self.folder, "env": os.environ | own, "start_new_session": True},
                **{"stdout": said, "stderr": subprocess.STDOUT},
            )
        return Run(process, log, self.store)

    def stored(self) -> dict[bytes, bytes]:
        """Return the hashes of the intact units in the store by their keys."""
        rows = list(self.store.rows())
        for row in rows:
            row.result()
        return {row.key: row.sha256 for row in rows}

    def results(self) -> dict[str, bytes]:
        """Return the files of the table."""
        paths = sorted((self.folder / "results" / "partial").glob("[!.]*"))
        return {path.name: path.read_bytes() for path in paths if "machine" not in path.name}

    def computed(self) -> int:
        """Return how many units the last run says that it computed."""
        (facts,) = (self.folder / "results" / "partial").glob("*.machine.json")
        return json.loads(facts.read_text(encoding="utf-8"))["last_run"]["units_computed"]

    def left_over(self) -> list[Path]:
        """Return files in work that nobody works on."""
        return list(self.folder.rglob(f"{IN_WORK}*"))


class Run:
    """A run that is under way, or has ended."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, store: Store) -> None:
        self.process, self._log, self._store = process, log, store
        while self.is_alive() and not self.said():
            time.sleep(0.005)

    def is_alive(self) -> bool:
        """Whether the run is under way."""
        return self.process.poll() is None

    def sleep_until(self, share: float) -> None:
        """Wait until a share of all units is stored, or the run has ended or hangs."""
        until = time.monotonic() + PATIENCE
        while self.is_alive() and len(self._store.keys()) < share * UNITS:
            if time.monotonic() > until:
                break
            time.sleep(0.002)

    def wait(self) -> int:
        """Return the status, or minus the number of a signal; a run that hangs is killed."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired as fault:
            self.process.kill()
            raise AssertionError(f"hangs: {self.said()!r}") from fault

    def ends(self, *statuses: int, says: str = "") -> bool:
        """Demand that the run is done, or has one of these statuses and says so; return which."""
        status, said = self.wait(), self.said()
        assert status in (DONE, *statuses), f"status {status}: {said}"
        assert "Traceback" not in said, f"said {said!r}"
        assert status <= DONE or any(part in said for part in says.split("|")), said
        return status != DONE

    def said(self) -> str:
        """Return what the run has printed."""
        return self._log.read_text(encoding="utf-8").strip()

    def workers(self) -> list[int]:
        """Return the worker processes that the run has started."""
        with suppress(psutil.Error):
            children = psutil.Process(self.process.pid).children()
            alive = [one for one in children if one.status() != psutil.STATUS_ZOMBIE]
            return [one.pid for one in alive if "own_process" in " ".join(one.cmdline())]
        return []


class DaskCluster:
    """A scheduler of Dask and workers with a thread each."""

    def __init__(self) -> None:
        self.workers: list[Any] = []
        self.begin()

    def _start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        words += "--host", "127.0.0.1", "--no-dashboard"
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *words],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def begin(self) -> None:
        """Start the scheduler."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self._scheduler = self._start("dask_scheduler", "--port", str(port), "--no-show")

    def join(self) -> None:
        """Start a worker."""
        words = ["--nthreads", "1", "--no-nanny", "--death-timeout", "60"]
        self.workers.append(self._start("dask_worker", self.address, *words))

    def leave(self) -> None:
        """Kill the worker that has been there longest."""
        worker = self.workers.pop(0)
        worker.kill()
        worker.wait()

    def fall(self) -> None:
        """Kill the scheduler, and the workers."""
        self._scheduler.kill()
        self._scheduler.wait()
        while self.workers:
            self.leave()


class RayCluster:
    """A head of Ray without workers, and nodes with one each."""

    def __init__(self) -> None:
        self.workers: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """Start the head."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "1"  # several nodes on one machine
        os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # a busy machine
        os.environ.setdefault("PYTHONPATH", str(ROOT))
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
        )
        self.address = self._cluster.address

    def join(self) -> None:
        """Start a node with one worker."""
        self.workers.append(self._cluster.add_node(num_cpus=1, wait=False))

    def leave(self) -> None:
        """Kill the node that has been there longest."""
        self._cluster.remove_node(self.workers.pop(0), allow_graceful=False)

    def fall(self) -> None:
        """Kill the head and all nodes."""
        self.workers.clear()
        self._cluster.shutdown()


CLUSTERS: dict[str, Any] = {"dask": DaskCluster, "ray": RayCluster}


@contextmanager
def cluster_of(engine: str) -> Iterator[Any]:
    """Give a cluster of an engine, and end it; None for the engines of this machine."""
    cluster = CLUSTERS[engine]() if engine in CLUSTERS else None
    try:
        yield cluster
    finally:
        with suppress(Exception):
            if cluster:
                cluster.fall()
