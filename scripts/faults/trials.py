"""Trials: runs that are broken, gone on with, and held against an undisturbed run."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from scripts.demands import BrokenError, demand
from scripts.faults.kinds import FAULTS, Calm, TooLateError, kinds_of
from scripts.faults.runs import UNITS, Place, Server, place_in, servers

SERVERS = 2

TRIES = 100
"""How many runs may have ended before the moment that was drawn for a fault."""


@dataclass(frozen=True)
class Trial:
    """A run that was broken at a random moment and gone on with.

    Parameters
    ----------
    kind : str
        The fault.
    kept : int
        How many units were stored when the run had ended.
    again : int
        How many of them the run after it wrote again.
    fault : str
        What did not hold; empty if all did.
    """

    kind: str
    kept: int = 0
    again: int = 0
    fault: str = ""


def attempt(kind: str, place: Place, moments: random.Random, calm: Calm) -> Trial:
    """Break a run, go on with it, and tell what came of it.

    Raises
    ------
    TooLateError
        If the run had ended before.
    """
    kept: dict[str, str] = {}
    again = 0
    try:
        FAULTS[kind].happen(place, moments, calm)
        kept = place.stored()
        after = place.run()
        demand(after.status == 0, f"went on with status {after.status}: {after.errors}")
        demand(not after.errors, f"went on saying {after.errors!r}")
        demand(place.results() == calm.results, "went on to other bytes")
        computed, now = place.computed(), place.stored()
        again = sum(now[name] != kept[name] for name in kept)
        demand(len(now) == UNITS, f"{len(now)} of {UNITS} units are stored")
        demand(computed == UNITS - len(kept), f"computed {computed}, {len(kept)} were stored")
        demand(again == 0, f"{again} stored units were written again")
        demand(not place.left_over(), f"left over: {place.left_over()}")
    except BrokenError as fault:
        return Trial(kind, len(kept), again, str(fault))
    return Trial(kind, len(kept), again)


def undisturbed(folder: Path, server: Server) -> Calm:
    """Run undisturbed, by threads and by processes, and measure."""
    seconds = []
    for parallel in ("processes", "threads", "threads"):
        with place_in(folder, server) as place:
            run = place.start(parallel)
            written = run.seconds_to_write()
            run.wait()
            demand(run.status == 0 and not run.errors, f"undisturbed: {run.status}: {run.errors}")
            demand(place.computed() == UNITS == len(place.stored()), "not all units are stored")
            seconds.append(run.seconds if parallel == "processes" else written)
            results = place.results()
            paths = [path for path in place.folder.rglob("*") if path.is_file()]
            pages = sum(1 + path.stat().st_size // 4096 for path in paths)
            largest = max(path.stat().st_size for path in place.store_files())
    return Calm(
        results,
        seconds=min(seconds[1:]),
        seconds_processes=seconds[0],
        pages=pages,
        largest=largest,
    )


@dataclass(frozen=True)
class Ground:
    """What trials need: a folder, servers that run the command, and an undisturbed run."""

    folder: Path
    servers: list[Server]
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
        Called with each trial that went wrong.
    """
    kinds = kinds_of(moments)
    random.Random(seed).shuffle(kinds)
    free: SimpleQueue[Server] = SimpleQueue()
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
            demand(run.status == 0 and not run.errors, f"status {run.status}: {run.errors}")
        demand(place.results() == on.calm.results, "two at once made other bytes")
        demand(len(place.stored()) == UNITS, "not all units are stored")
        demand(not place.left_over(), f"left over: {place.left_over()}")
    return 0, 0


def damaged(on: Ground, drawn: random.Random) -> tuple[int, int]:
    """Change a byte of the store: what it belongs to must be computed again, to the same bytes.

    Returns how many units were left whole, and how many were computed again.

    Raises
    ------
    BrokenError
        If it is not.
    """
    with place_in(on.folder, on.servers[0]) as place:
        place.run()
        path = drawn.choice([path for path in place.store_files() if path.suffix != ".db-shm"])
        content = bytearray(path.read_bytes())
        content[drawn.randrange(len(content))] ^= 1 << drawn.randrange(8)
        path.write_bytes(content)
        run = place.run()
        demand(run.status == 0, f"status {run.status}: {run.errors}")
        demand(not run.errors or "damaged" in run.errors, f"said {run.errors!r}")
        demand(place.results() == on.calm.results, "other bytes")
        demand(len(place.stored()) == UNITS, "not all units are stored")
        return UNITS - place.computed(), place.computed()


OTHERS: dict[str, tuple[Callable[[Ground, random.Random], tuple[int, int]], str]] = {
    "two runs at once": (two_at_once, "both status 0"),
    "a stored byte is changed": (damaged, "what is damaged is computed again"),
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
