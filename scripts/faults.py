"""Breaking runs at random moments: each goes on where it was, loses nothing, and ends the same.

``python -m scripts.faults --moments 200`` makes a small table by the command that makes all tables.
Each moment has a store of its own: the run is broken there, then the same command is run again.
What is demanded is in `Trial`. Runs are forked from a process that has the package loaded
(`warm_server`), so that moments fall into the run and not into the loading.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from omtl.compute.segments import SUFFIX, Damage, scan
from omtl.util.files import IN_WORK, write_whole
from scripts.in_page import fill, table

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "results" / "trust"

TABLE = "mini-table1"
ALGORITHMS = ("pm", "pa")
REPEATS = 18
UNITS = len(ALGORITHMS) * REPEATS
OPTIONS = ("--reading", "as_written", "--seed", "1")
"""Of the table; the seed keeps its results out of those that are published."""

SERVERS = 2
TIMES = 10
"""How often faults happen that are at no moment of a run."""

TRIES = 100
"""How many runs may have ended before the moment that was drawn for a fault."""

PATIENCE = 90.0
"""Seconds after which a run counts as hanging."""

STOPPED = "omtl: stopped; finished units are kept, the same command goes on from there"


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


class Run:
    """A run of the command that is under way, or has ended with a `status`."""

    def __init__(self, server: subprocess.Popen[str], out: Path, err: Path) -> None:
        assert server.stdout is not None
        self._replies, self._out, self._err = server.stdout, out, err
        self.pid = int(self._replies.readline())
        self.started = time.monotonic()
        self.status: int | None = None

    def wait(self) -> None:
        """Wait for the end; one that does not come is brought about."""
        alarm = threading.Timer(PATIENCE, os.kill, (self.pid, signal.SIGKILL))
        alarm.start()
        self.status = int(self._replies.readline())
        alarm.cancel()
        self.seconds = time.monotonic() - self.started

    @property
    def told(self) -> str:
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
    server: subprocess.Popen[str]

    def start(self, parallel: str = "threads", limit: int = 0) -> Run:
        """Begin the command that makes the table."""
        told = self.folder.parent / f"{self.folder.name}.{self.server.pid}"
        out, err = (told.with_suffix(f".{kind}") for kind in ("out", "err"))
        for path in (out, err):
            path.write_text("")  # the run may be killed before it opens them
        order = {
            "folder": str(self.folder),
            "arguments": ["table", TABLE, *OPTIONS, "--parallel", parallel, "--jobs", "2"],
            "out": str(out),
            "err": str(err),
            "limit": limit,
        }
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        return Run(self.server, out, err)

    def run(self) -> Run:
        """Run the command undisturbed."""
        run = self.start()
        run.wait()
        return run

    def stored(self) -> dict[str, tuple[str, int]]:
        """Return the units that are stored, each with what changes if it is written again.

        Raises
        ------
        BrokenError
            If one is not whole.
        """
        found = {}
        for path in self.segments():
            for record in scan(path):
                if isinstance(record, Damage) or record.payload() is None:
                    raise BrokenError(f"{path.name} is damaged at byte {record.begin}")
                found[record.key.hex()] = path.name, record.begin
        return found

    def segments(self) -> list[Path]:
        """Return the files of the store."""
        return sorted(self.folder.glob(f"home/store/*{SUFFIX}"))

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


class BrokenError(Exception):
    """Something that must hold after a fault does not."""


class TooLateError(Exception):
    """The run had ended before the fault came; another moment is drawn."""


def demand(holds: bool, what: str) -> None:
    """Raise `BrokenError` if something does not hold."""
    if not holds:
        raise BrokenError(what)


def stop_by(number: signal.Signals, status: int, sentence: str) -> Callable[..., Any]:
    """Return the fault of a signal, after which the run must end with a status and a sentence."""

    def fault(place: Place, moments: random.Random, calm: Calm) -> Run:
        run = place.start()
        if not run.sleep_until(moments.uniform(0.0, calm.seconds)):
            run.wait()
            raise TooLateError
        os.kill(run.pid, number)
        run.wait()
        if run.has_written:
            raise TooLateError
        demand(run.status == status, f"status {run.status}, not {status}: {run.told}")
        demand(run.told.strip() == sentence, f"said {run.told!r}")
        return run

    return fault


def refused(run: Run) -> Run:
    """Demand that a run tells that it cannot write, where and why, in one sentence."""
    if run.status == 0:
        raise TooLateError
    demand(run.status == 2, f"status {run.status}: {run.told}")
    lines = run.told.strip().splitlines()
    demand(len(lines) == 1 and "cannot be written (" in lines[0], f"said {run.told!r}")
    return run


def disk_full(place: Place, moments: random.Random, calm: Calm) -> Run:
    """Run on a disk too small; without the right to mount one, with files bounded in size."""
    if not can_mount():
        run = place.start(limit=moments.randrange(1, calm.largest))
        run.wait()
        return refused(run)
    pages = moments.randrange(8, calm.pages)
    mount(place.folder, "-t", "tmpfs", "-o", f"size={pages * 4096},mode=755", "none")
    write_experiment(place.folder)
    run = place.start()
    run.wait()
    mount(place.folder, "-o", f"remount,size={calm.pages * 8192}")
    return refused(run)


def read_only(place: Place, moments: random.Random, calm: Calm) -> Run:
    """Let the folder become read-only under the run, which takes the right to mount."""
    mount(place.folder, "--bind", str(place.folder))
    run = place.start()
    run.sleep_until(moments.uniform(0.0, calm.seconds))
    while run.is_alive():
        with suppress(BrokenError):  # busy while a file is being written
            mount(place.folder, "-o", "remount,bind,ro")
            break
    run.wait()
    mount(place.folder, "-o", "remount,bind,rw")
    return refused(run)


def results_a_file(place: Place, moments: random.Random, calm: Calm) -> Run:
    """Put a file where the folder of results is to be."""
    results, aside = place.folder / "results" / "partial", place.folder / "aside"
    run = place.start()
    run.sleep_until(moments.uniform(0.0, calm.seconds))
    with suppress(FileNotFoundError):
        results.rename(aside)
    with suppress(IsADirectoryError):
        results.write_text("in the way")
    run.wait()
    if run.status == 0:
        raise TooLateError
    if results.is_file():
        results.unlink()
    shutil.rmtree(aside, ignore_errors=True)
    demand(len(place.stored()) == UNITS, "not all units are stored")
    return refused(run)


def worker_dies(place: Place, moments: random.Random, calm: Calm) -> Run:
    """Kill a worker process; the run goes on without it."""
    run = place.start("processes")
    run.sleep_until(moments.uniform(0.0, calm.seconds_processes))
    while run.is_alive() and not (workers := run.workers()):
        time.sleep(0.005)
    if not run.is_alive():
        run.wait()
        raise TooLateError
    with suppress(ProcessLookupError):
        os.kill(moments.choice(workers), signal.SIGKILL)
    run.wait()
    demand(run.status == 0, f"status {run.status}: {run.told}")
    demand(place.results() == calm.results, "the run that lost a worker made other bytes")
    return run


FAULTS: dict[str, tuple[float, Callable[..., Run], str]] = {
    "SIGKILL": (0.34, stop_by(signal.SIGKILL, -signal.SIGKILL, ""), "killed"),
    "SIGINT": (0.2, stop_by(signal.SIGINT, 130, STOPPED), "one sentence, status 130"),
    "SIGTERM": (0.2, stop_by(signal.SIGTERM, 143, STOPPED), "one sentence, status 143"),
    "disk full": (0.1, disk_full, "one sentence, status 2"),
    "folder turns read-only": (0.06, read_only, "one sentence, status 2"),
    "results folder is a file": (0.06, results_a_file, "one sentence, status 2, all units kept"),
    "a worker process dies": (0.04, worker_dies, "its units begun again, status 0"),
}
"""Kinds of fault: their share of the moments, how they are brought about, what becomes of a run."""


@dataclass(frozen=True)
class Calm:
    """An undisturbed run: what it made, how long it took, and what room."""

    results: dict[str, bytes]
    seconds: float
    seconds_processes: float
    peak_mib: float
    peak_mib_processes: float
    pages: int
    largest: int


@dataclass(frozen=True)
class Trial:
    """A run that was broken at a random moment and gone on with.

    Parameters
    ----------
    kind : str
        The fault.
    kept : int
        How many units were stored when the run had ended.
    computed : int
        How many the run after it computed.
    again : int
        How many of those that were stored it wrote again.
    fault : str
        What did not hold; empty if all did.
    """

    kind: str
    kept: int = 0
    computed: int = 0
    again: int = 0
    fault: str = ""


def attempt(kind: str, place: Place, moments: random.Random, calm: Calm) -> Trial:
    """Break a run, go on with it, and tell what came of it.

    Raises
    ------
    TooLateError
        If the run had ended before.
    """
    kept: dict[str, tuple[str, int]] = {}
    computed = again = 0
    try:
        FAULTS[kind][1](place, moments, calm)
        kept = place.stored()
        after = place.run()
        demand(after.status == 0, f"went on with status {after.status}: {after.told}")
        demand(not after.told, f"went on saying {after.told!r}")
        demand(place.results() == calm.results, "went on to other bytes")
        computed, now = place.computed(), place.stored()
        again = sum(now[name] != kept[name] for name in kept)
        demand(len(now) == UNITS, f"{len(now)} of {UNITS} units are stored")
        demand(computed == UNITS - len(kept), f"computed {computed}, {len(kept)} were stored")
        demand(again == 0, f"{again} stored units were written again")
        demand(not place.left_over(), f"left over: {place.left_over()}")
    except BrokenError as fault:
        return Trial(kind, len(kept), computed, again, str(fault))
    return Trial(kind, len(kept), computed, again)


def mount(folder: Path, *words: str) -> None:
    """Mount something on a folder, or change what is mounted; `BrokenError` if it cannot be."""
    done = subprocess.run(["mount", *words, str(folder)], capture_output=True, check=False)
    demand(done.returncode == 0, f"mount {words}: {done.stderr.decode().strip()}")


def unmount(folder: Path) -> None:
    """Take off what is mounted on a folder."""
    mounted = Path("/proc/self/mounts")  # is_mount() does not see a folder mounted on itself
    while mounted.exists() and f" {folder} " in mounted.read_text(encoding="utf-8"):
        subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=True)


@cache
def can_mount() -> bool:
    """Whether this process may mount a disk of its own."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            mount(Path(folder), "-t", "tmpfs", "none")
        except (BrokenError, FileNotFoundError):
            return False
        unmount(Path(folder))
    return True


@contextmanager
def servers(folder: Path, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Start servers that run commands, one after the other: the first compiles for all."""
    started: list[subprocess.Popen[str]] = []
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "compiled")}
    try:
        for number in range(count):
            warm = folder / f"warm{number}"
            write_experiment(warm)
            server = subprocess.Popen(
                [sys.executable, str(ROOT / "scripts" / "warm_server.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env=environment,
            )
            started.append(server)
            assert server.stdin is not None
            assert server.stdout is not None
            # Forks take no threads along, so the server must have none.
            order = {"folder": str(warm), "out": os.devnull, "err": str(folder / "warm.err")}
            order |= {"arguments": ["table", TABLE, *OPTIONS, "--parallel", "serial"], "limit": 0}
            server.stdin.write(json.dumps(order) + "\n")
            server.stdin.flush()
            if server.stdout.readline() != "ready\n":
                raise SystemExit((folder / "warm.err").read_text(encoding="utf-8"))
        yield started
    finally:
        for server in started:
            server.stdin.close()
            server.wait(timeout=PATIENCE)


@contextmanager
def place_in(folder: Path, server: subprocess.Popen[str]) -> Iterator[Place]:
    """Give a new place; remove it in the end."""
    at = Path(tempfile.mkdtemp(dir=folder))
    write_experiment(at)
    try:
        yield Place(at, server)
    finally:
        unmount(at)
        shutil.rmtree(at)


def undisturbed(folder: Path, server: subprocess.Popen[str]) -> Calm:
    """Run undisturbed, by threads and by processes, and measure."""
    seconds, peaks = [], []
    for parallel in ("processes", "threads", "threads"):
        with place_in(folder, server) as place:
            run = place.start(parallel)
            run.wait()
            demand(run.status == 0 and not run.told, f"undisturbed: {run.status}: {run.told}")
            demand(place.computed() == UNITS == len(place.stored()), "not all units are stored")
            seconds.append(run.seconds)
            peaks.append(place.facts()["last_run"]["peak_mib"])
            results = place.results()
            paths = [path for path in place.folder.rglob("*") if path.is_file()]
            pages = sum(1 + path.stat().st_size // 4096 for path in paths)
            largest = max(path.stat().st_size for path in place.segments())
    return Calm(
        results,
        seconds=min(seconds[1:]),
        seconds_processes=seconds[0],
        peak_mib=peaks[1],
        peak_mib_processes=peaks[0],
        pages=pages,
        largest=largest,
    )


def kinds_of(moments: int) -> list[str]:
    """Return the kind of each moment, by their shares; each kind that can be has one at least."""
    possible = {
        kind: fault for kind, fault in FAULTS.items() if can_mount() or fault[1] != read_only
    }
    counts = {kind: max(1, round(share * moments)) for kind, (share, *_) in possible.items()}
    counts["SIGKILL"] = max(1, counts["SIGKILL"] + moments - sum(counts.values()))
    return [kind for kind, count in counts.items() for _ in range(count)]


@dataclass(frozen=True)
class Ground:
    """What trials need: a folder, servers that run the command, and an undisturbed run."""

    folder: Path
    servers: list[subprocess.Popen[str]]
    calm: Calm


@contextmanager
def ground() -> Iterator[Ground]:
    """Give ground for trials; remove it in the end."""
    with tempfile.TemporaryDirectory() as name, servers(Path(name), SERVERS) as started:
        yield Ground(Path(name), started, undisturbed(Path(name), started[0]))


def suite(on: Ground, moments: int, seed: int, tell: Callable[[str], None] = print) -> list[Trial]:
    """Break runs at so many random moments; return what came of each.

    Parameters
    ----------
    on : Ground
    moments : int
        How many; no fewer than there are kinds.
    seed : int
        Of the moments.
    tell : callable
        Is told each trial that went wrong.
    """
    kinds = kinds_of(moments)
    random.Random(seed).shuffle(kinds)
    free: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
    for server in on.servers:
        free.put(server)

    def trial(numbered: tuple[int, str]) -> Trial:
        number, kind = numbered
        drawn = random.Random(f"{seed} {number}")
        server = free.get()
        try:
            done = Trial(kind, fault=f"{TRIES} runs had all ended before it came")
            for _ in range(TRIES):
                with suppress(TooLateError), place_in(on.folder, server) as place:
                    done = attempt(kind, place, drawn, on.calm)
                    break
            if done.fault:
                tell(f"moment {number}, {kind}: {done.fault}")
            return done
        finally:
            free.put(server)

    with ThreadPoolExecutor(len(on.servers)) as hands:
        return list(hands.map(trial, enumerate(kinds)))


def two_at_once(on: Ground, drawn: random.Random) -> tuple[int, int]:  # noqa: ARG001
    """Run the command twice at once on one store: both must make the bytes of an undisturbed run.

    Returns how many units were stored before, and how many of these were computed again: none.

    Raises
    ------
    BrokenError
        If one does not.
    """
    with place_in(on.folder, on.servers[0]) as place:
        runs = [Place(place.folder, server).start() for server in on.servers]
        for run in runs:
            run.wait()
            demand(run.status == 0 and not run.told, f"status {run.status}: {run.told}")
        demand(place.results() == on.calm.results, "two at once made other bytes")
        demand(len(place.stored()) == UNITS, "not all units are stored")
        demand(not place.left_over(), f"left over: {place.left_over()}")
    return 0, 0


def damaged(on: Ground, drawn: random.Random) -> tuple[int, int]:
    """Change a byte of a stored unit: it must be told, set aside, and computed again.

    Returns how many units were left whole, and how many were computed again.

    Raises
    ------
    BrokenError
        If it is not.
    """
    with place_in(on.folder, on.servers[0]) as place:
        place.run()
        path = drawn.choice(place.segments())
        content = bytearray(path.read_bytes())
        content[drawn.randrange(len(content))] ^= 1 << drawn.randrange(8)
        path.write_bytes(content)
        run = place.run()
        demand(run.status == 0 and run.told.count("\n") == 1, f"status {run.status}: {run.told}")
        demand(path.name in run.told and "damaged" in run.told, f"said {run.told!r}")
        demand(path.with_suffix(".damaged").read_bytes() == content, "not set aside")
        demand(place.computed() == 1, f"computed {place.computed()}")
        demand(place.results() == on.calm.results, "other bytes")
        return UNITS - place.computed(), place.computed()


OTHERS: dict[str, tuple[Callable[[Ground, random.Random], tuple[int, int]], str]] = {
    "two runs at once": (two_at_once, "both status 0"),
    "a stored byte is changed": (damaged, "told, set aside, computed again"),
}
"""What else can go wrong with a store, and what becomes of it; at no moment of a run."""


def others(on: Ground, times: int, seed: int, tell: Callable[[str], None] = print) -> list[Trial]:
    """Let each of `OTHERS` happen so many times; return what came of each."""
    drawn, trials = random.Random(seed), []
    for kind, (happen, _) in OTHERS.items():
        for _ in range(times):
            fault, kept, again = "", 0, 0
            try:
                kept, again = happen(on, drawn)
            except BrokenError as found:
                fault = str(found)
                tell(f"{kind}: {fault}")
            trials.append(Trial(kind, kept=kept, again=again, fault=fault))
    return trials


COLUMNS = ("fault", "times", "as demanded", "units kept", "computed again", "what became of them")


def summed_up(trials: list[Trial]) -> list[tuple[str, ...]]:
    """Return a row for each kind of fault."""
    became = {kind: text for kind, (_, _, text) in FAULTS.items()}
    became |= {kind: text for kind, (_, text) in OTHERS.items()}
    rows = []
    for kind in [kind for kind in became if any(trial.kind == kind for trial in trials)]:
        mine = [trial for trial in trials if trial.kind == kind]
        kept = sorted({trial.kept for trial in mine})
        of = " to ".join(map(str, dict.fromkeys([kept[0], kept[-1]]))) + f" of {UNITS}"
        good, again = sum(not trial.fault for trial in mine), sum(trial.again for trial in mine)
        rows.append((kind, str(len(mine)), str(good), of, str(again), became[kind]))
    return rows


def write(trials: list[Trial], folder: Path, moments: int, seed: int) -> None:
    """Write the rows, and put them into the page on trust if the folder is the project's."""
    rows, text = summed_up(trials), io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    write_whole(folder / "faults.csv", text.getvalue())
    if folder == FOLDER:
        how = "on disks mounted for it" if can_mount() else "without the right to mount a disk"
        head = (
            f"{moments} moments drawn with seed {seed}, {how}; {UNITS} units by two threads, or "
            "by two processes where one dies:"
        )
        fill(ROOT / "docs" / "trust.md", "faults", [head, "", *table(COLUMNS, rows)])


def main() -> int:
    """Run the suite and write what came of it; write nothing if anything went wrong."""
    top = argparse.ArgumentParser(description="Break runs at random moments, and go on with them.")
    top.add_argument("--moments", type=int, default=200, help="how many; default: 200")
    top.add_argument("--seed", type=int, default=0, help="of the moments; default: 0")
    top.add_argument("--folder", type=Path, default=FOLDER, help="where the results go")
    options = top.parse_args()
    if options.moments < len(FAULTS):
        top.error(
            f"--moments {options.moments}: there are {len(FAULTS)} kinds; name as many or more"
        )
    started = time.monotonic()
    with ground() as on:
        trials = suite(on, options.moments, options.seed)
        trials += others(on, TIMES, options.seed)
    for kind, times, good, kept, again, _ in summed_up(trials):
        print(f"{kind}: {good} of {times} as demanded, {kept} units kept, {again} computed again")
    wrong = sum(bool(trial.fault) for trial in trials)
    print(f"{wrong} went wrong; {time.monotonic() - started:.0f} s")
    if not wrong:
        write(trials, options.folder, options.moments, options.seed)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
