"""Runs of the command that makes a small table, each in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omtl.compute.store import FILE
from omtl.util.files import IN_WORK
from omtl.util.paths import ROOT
from scripts.demands import stored
from scripts.faults.mounts import unmount

TABLE = "mini-table1"
ALGORITHMS = ("pm", "pa")
REPEATS = 18
UNITS = len(ALGORITHMS) * REPEATS
OPTIONS = ("--reading", "as_written", "--seed", "1")
"""Of the table; the seed keeps its results out of those that are published."""

PATIENCE = 90.0
"""Seconds after which a run counts as hanging."""


def write_experiment(folder: Path) -> None:
    """Write a paper with a table of a few algorithms on a small random walk."""
    rows = "".join(f"  - {{algorithm: {name}, published: {name}}}\n" for name in ALGORITHMS)
    numbers = "table,dataset,algorithm,task,metric,mean,std\n"
    numbers += "".join(f"{TABLE},Synthetic,{name},all,error,20.0,1.0\n" for name in ALGORITHMS)
    texts = {
        "experiments/mini/table1.yaml": (
            f"id: {TABLE}\npaper: mini\ntitle: A small table\ncaption: small\nspread: std\n"
            "metric: error\nprotocol: rounds\nselection: oracle\nbaselines: none\n"
            f"repeats: {REPEATS}\nplays: 0\ndigits: 2\n"
            "columns:\n  - dataset: random_walk\n    published: Synthetic\n    patch:\n"
            "      dataset.random_walk.options.n_tasks: 8\n"
            "      dataset.random_walk.options.n_examples: 100\n"
            "      dataset.random_walk.options.n_features: 50\n"
            f"rows:\n{rows}"
        ),
        "experiments/mini/readings.yaml": "questions: {}\n",
        "experiments/mini/claims.yaml": (
            f"- id: shared\n  table: {TABLE}\n  place: nowhere\n  says: PA errs less than PM.\n"
            "  all:\n    - {dataset: Synthetic, lower: [pa], than: [pm]}\n"
        ),
        f"results/published/{TABLE}.csv": numbers,
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class Server:
    """A process that has the package loaded and runs the command in forks (`warm_server`).

    The first run is in the process itself, so that what it compiles is compiled for all forks; it
    takes no threads, which forks do not take along.
    """

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        write_experiment(folder)
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("warm_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        self.order(folder, "serial", Path(os.devnull), err := folder.with_suffix(".err"))
        if self.reply() != "ready":
            raise SystemExit(err.read_text(encoding="utf-8"))

    def order(self, folder: Path, parallel: str, out: Path, err: Path, limit: int = 0) -> None:
        """Have the command run that makes the table."""
        jobs = () if parallel == "serial" else ("--jobs", "2")
        order = {
            "folder": str(folder),
            "arguments": ["table", TABLE, *OPTIONS, "--parallel", parallel, *jobs],
            "out": str(out),
            "err": str(err),
            "limit": limit,
        }
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def reply(self) -> str:
        """Return the next line of its answers."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        """Wait until it has ended."""
        self.process.communicate(timeout=PATIENCE)


class Run:
    """A run of the command that is under way, or has ended with a `status`."""

    def __init__(self, server: Server, out: Path, err: Path) -> None:
        self._server, self._out, self._err = server, out, err
        self.pid = int(server.reply())
        self.started = time.monotonic()
        self.status: int | None = None

    def wait(self) -> None:
        """Wait for the end; one that does not come is brought about."""
        alarm = threading.Timer(PATIENCE, os.kill, (self.pid, signal.SIGKILL))
        alarm.start()
        self.status = int(self._server.reply())
        alarm.cancel()
        self.seconds = time.monotonic() - self.started

    def seconds_to_write(self) -> float:
        """Return how long it took from the start until the table was written, or the run ended."""
        while self.is_alive() and not self.has_written:
            time.sleep(0.005)
        return time.monotonic() - self.started

    @property
    def errors(self) -> str:
        """What the run has said on standard error."""
        return self._err.read_text(encoding="utf-8")

    @property
    def has_written(self) -> bool:
        """Whether the run has come to its end: it has written the table and said so."""
        return "written: " in self._out.read_text(encoding="utf-8")

    def is_alive(self) -> bool:
        """Whether the process is there and has not ended."""
        with suppress(OSError, IndexError):
            text = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii")
            return text.rpartition(")")[2].split()[0] not in "ZX"
        return False

    def sleep_until(self, moment: float) -> bool:
        """Wait for so many seconds from the start; return whether the run is still under way."""
        while self.is_alive() and (rest := self.started + moment - time.monotonic()) > 0:
            time.sleep(min(rest, 0.005))
        return self.is_alive()

    def workers(self) -> list[int]:
        """Return the worker processes of the run."""
        found = []
        with suppress(OSError):
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            for child in children:
                with suppress(OSError):
                    if b"popen_loky" in Path(f"/proc/{child}/cmdline").read_bytes():
                        found.append(int(child))
        return found


@dataclass
class Place:
    """A folder with the small experiment, a store and results of its own."""

    folder: Path
    server: Server

    def start(self, parallel: str = "threads", limit: int = 0) -> Run:
        """Begin the command that makes the table."""
        output = self.folder.parent / f"{self.folder.name}.{self.server.process.pid}"
        out, err = (output.with_suffix(f".{kind}") for kind in ("out", "err"))
        for path in (out, err):
            path.write_text("")  # the run may be killed before it opens them
        self.server.order(self.folder, parallel, out, err, limit)
        return Run(self.server, out, err)

    def run(self, parallel: str = "threads", limit: int = 0) -> Run:
        """Run the command undisturbed."""
        run = self.start(parallel, limit)
        run.wait()
        return run

    def stored(self) -> dict[str, str]:
        """Return the units that are stored (`scripts.demands.stored`)."""
        return stored(self.folder / "home" / "store")

    def store_files(self) -> list[Path]:
        """Return the file of the store, and its log."""
        return sorted(self.folder.glob(f"home/store/{FILE}*"))

    def results(self) -> dict[str, bytes]:
        """Return the files of the table."""
        return {
            path.name: path.read_bytes()
            for path in sorted((self.folder / "results" / "partial").iterdir())
            if "machine" not in path.name
        }

    def facts(self) -> dict[str, Any]:
        """Return what the last run says of itself."""
        (meta,) = (self.folder / "results" / "partial").glob("*.machine.json")
        return json.loads(meta.read_text(encoding="utf-8"))

    def computed(self) -> int:
        """Return how many units the last run says that it computed."""
        return self.facts()["last_run"]["units_computed"]

    def left_over(self) -> list[Path]:
        """Return files in work that nobody works on."""
        return list(self.folder.rglob(f"{IN_WORK}*"))


@contextmanager
def servers(folder: Path, count: int) -> Iterator[list[Server]]:
    """Start servers that run commands, one after the other: the first compiles for all."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "compiled")}
    with ExitStack() as stack:
        yield [
            stack.enter_context(closing(Server(folder / f"warm{number}", environment)))
            for number in range(count)
        ]


@contextmanager
def place_in(folder: Path, server: Server) -> Iterator[Place]:
    """Give a new place; remove it in the end."""
    at = Path(tempfile.mkdtemp(dir=folder))
    write_experiment(at)
    try:
        yield Place(at, server)
    finally:
        unmount(at)
        shutil.rmtree(at)
