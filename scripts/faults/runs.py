"""Runs of the command that makes a small table, each in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from omtl.compute.store import FILE, Store
from omtl.experiment.new_files import make_files
from omtl.util.files import IN_WORK
from omtl.util.paths import ROOT
from omtl.util.status import DONE

TABLE = "mini-table1"
REPEATS = 18
UNITS = 2 * REPEATS
PATIENCE = 240.0
"""Seconds after which a run counts as hanging."""


class BrokenError(Exception):
    """Something that must hold after a fault does not."""


def demand(holds: bool, what: str) -> None:
    """Raise `BrokenError` if something does not hold."""
    if not holds:
        raise BrokenError(what)


class Server:
    """A process that has the package loaded and runs the command in forks (`server.py`)."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "compiled"), "PYTHONPATH": str(ROOT)},
        )
        log = Place(folder / "warm", self).order("serial", "", {})
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(log.read_text(encoding="utf-8"))

    def close(self) -> None:
        """Wait until it has ended."""
        self.process.communicate(timeout=PATIENCE)


class Place:
    """A folder with the small experiment and results of its own, and a store in its home.

    Parameters
    ----------
    folder : Path
    server : Server
    home : Path, optional
        Of the store; by default in the folder.
    """

    def __init__(self, folder: Path, server: Server, home: Path | None = None) -> None:
        self.folder, self.home, self._server = folder, home or folder / "home", server
        self._table, self._n_runs = folder / "experiments" / "mini" / "table1.yaml", 0
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

    def order(self, engine: str, address: str, harm: dict[str, int]) -> Path:
        """Have the server run the command; return where the run writes what it says."""
        words = ["table", TABLE, "--seed", "1", "--repeats", str(REPEATS), "--parallel", engine]
        words += ["--address", address] if address else []
        words += [] if engine == "serial" else ["--jobs", "2"]
        log = self.folder.with_name(f"{self.folder.name}-{self._n_runs}.log")
        log.write_text("", encoding="utf-8")
        self._n_runs += 1
        order = {"folder": str(self.folder), "home": str(self.home), "log": str(log)}
        stdin = self._server.process.stdin
        assert stdin is not None
        stdin.write(json.dumps(order | {"words": words, "harm": harm}) + "\n")
        stdin.flush()
        return log

    def start(self, engine: str = "threads", address: str = "", **harm: int) -> Run:
        """Begin the command that makes the table."""
        return Run(self.order(engine, address, harm), Store(self.home / "store"))

    def stored(self) -> dict[bytes, bytes]:
        """Return the hashes of the intact units in the store by their keys."""
        rows = list(Store(self.home / "store").rows())
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

    def __init__(self, log: Path, store: Store) -> None:
        self._log, self._store, self._began = log, store, time.monotonic()
        while not log.with_suffix(".pid").exists():
            time.sleep(0.001)
        self.pid = int(log.with_suffix(".pid").read_text(encoding="utf-8"))

    def is_alive(self) -> bool:
        """Whether the run is under way."""
        return not self._log.with_suffix(".status").exists()

    def sleep_until(self, share: float) -> bool:
        """Wait until a share of all units is stored; return whether the run is still under way.

        A share below zero is that of a second after the start.
        """
        while self.is_alive() and time.monotonic() < self._began + PATIENCE:
            if share < 0.0 and time.monotonic() >= self._began - share:
                break
            path = self._store.folder / FILE
            if share >= 0.0 and path.exists() and len(self._store.keys()) >= share * UNITS:
                break
            time.sleep(0.002)
        return self.is_alive()

    def wait(self) -> int:
        """Return the status, or minus the number of a signal; a run that hangs is killed."""
        while self.is_alive() and time.monotonic() < self._began + PATIENCE:
            time.sleep(0.005)
        if self.is_alive():
            self.signal(9)
            raise BrokenError(f"hangs: {self.said()!r}")
        return int(self._log.with_suffix(".status").read_text(encoding="utf-8"))

    def ends(self, *statuses: int, says: str = "") -> bool:
        """Demand that the run is done, or has one of these statuses and says so; return which."""
        status = self.wait()
        demand(status in (DONE, *statuses), f"status {status}: {self.said()}{self.printed()}")
        demand("Traceback" not in self.said(), f"said {self.said()!r}")
        demand(status <= DONE or any(part in self.said() for part in says.split("|")), self.said())
        return status != DONE

    def signal(self, number: int) -> None:
        """Send the run a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def said(self) -> str:
        """Return what the run has said on standard error."""
        return self._log.read_text(encoding="utf-8").strip()

    def printed(self) -> str:
        """Return the end of what the run has printed."""
        return self._log.with_suffix(".out").read_text(encoding="utf-8")[-600:]

    def workers(self) -> list[int]:
        """Return the worker processes that the run has started."""
        with suppress(psutil.Error):
            children = psutil.Process(self.pid).children()
            alive = [one for one in children if one.status() != psutil.STATUS_ZOMBIE]
            return [one.pid for one in alive if "own_process" in " ".join(one.cmdline())]
        return []
