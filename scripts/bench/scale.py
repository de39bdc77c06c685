"""How the time and the memory of whole plays grow with the problem, and where memory ends.

Each play has a process of its own, with limits of memory and of time. A size is left out once the
one before it took longer than `LONGEST` seconds, or did not end within the limits.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from omtl.compute.engine import run_units
from omtl.compute.own_process import Apart, LostProcess, peak_mib
from omtl.compute.store import Store
from omtl.experiment.config import load_option
from omtl.kernel.grids import play_points
from scripts.bench import streams
from scripts.bench.ours import LEARNERS
from scripts.bench.turns import Effort
from scripts.bench.waits import perceptrons

LEARNER_NAMES = ("PA", "ROM-PGD", "OSMTL-e", "DOM-I, ring")
"""A task alone, two vectors a task, every pair of tasks, and a network."""

MOST_GIB, MOST_SECONDS = 12, 240
SHORTEST, LONGEST = 1.0, 60.0

EXAMPLES, TASKS, FEATURES, NONZEROS = 100_000, 9, 20, 100
"""The size of a problem in what does not grow."""


class Axis(NamedTuple):
    """What grows: its sizes, for which learners, and a play of a size, which is timed."""

    sizes: tuple[int, ...]
    learners: tuple[str, ...]
    play: Callable[[str, int], Callable[[], Any]]


def played(name: str, n: int, n_tasks: int, n_features: int) -> Callable[[], Any]:
    """Return a learner's play of dense examples."""
    return LEARNERS[name].play(*streams.dense_data(n, n_features), n_tasks).mistakes


def played_sparse(name: str, n_features: int) -> Callable[[], Any]:
    """Return a learner's play of sparse examples."""
    rows, y = streams.sparse_data(EXAMPLES // 10, NONZEROS, n_features)
    return LEARNERS[name].play(rows, y, TASKS).mistakes


def played_grid(name: str, n_points: int) -> Callable[[], Any]:
    """Return the play of a grid whose points share what they can."""
    ready = LEARNERS[name].play(*streams.dense_data(EXAMPLES // 100, FEATURES), TASKS)
    etas = np.geomspace(0.001, 1.0, max(1, n_points // 10)).tolist()
    points = [ready.learner._replace(eta=eta, gamma=0.001 * k) for eta in etas for k in range(10)]
    return lambda: list(play_points(points, ready.examples, ready.stream, ready.shape))


def stored_units(_: str, n_units: int) -> Callable[[], Any]:
    """Return the computing of small units, each of which is stored."""

    def compute() -> None:
        units = perceptrons(n_units, n_tasks=2, n_examples=10, n_features=3)
        with tempfile.TemporaryDirectory() as folder:
            run_units(units, Store(Path(folder)), load_option("parallel", "serial"), quiet=True)

    return compute


AXES: dict[str, Axis] = {
    "examples": Axis(
        (10_000, 100_000, 1_000_000, 10_000_000),
        LEARNER_NAMES,
        lambda name, n: played(name, n, TASKS, FEATURES),
    ),
    "tasks": Axis(
        (10, 100, 1000, 10_000),
        LEARNER_NAMES[1:],
        lambda name, n: played(name, EXAMPLES, n, FEATURES),
    ),
    "features": Axis((100, 1000, 10_000, 100_000, 1_000_000), LEARNER_NAMES, played_sparse),
    "points": Axis((10, 100, 1000, 10_000), ("ROM-PGD",), played_grid),
    "units": Axis((100, 1000, 10_000, 100_000), ("PM",), stored_units),
}


def measure(axis: str, name: str, size: int) -> dict[str, float | None]:
    """Return the seconds of a play, and this process's peak of memory."""
    play = AXES[axis].play
    play(name, AXES[axis].sizes[0])()  # compiles
    call, count, began = play(name, size), 0, time.process_time()
    while count < 1 or time.process_time() - began < SHORTEST:  # the clock's steps are coarse
        call()
        count += 1
    return {"seconds": (time.process_time() - began) / count, "mib": peak_mib()}


def measured(axis: str, name: str, size: int) -> dict[str, Any]:
    """Return the seconds and MiB of a play in a process of its own, or what ended it."""
    process = Apart(mib=1024 * MOST_GIB)
    try:
        return process.ask(measure, axis, name, size, seconds=MOST_SECONDS)
    except MemoryError:
        return {"ended": f"more than {MOST_GIB} GiB"}
    except LostProcess as fault:
        return {"ended": f"more than {MOST_SECONDS} s" if "limit" in str(fault) else str(fault)}
    finally:
        if not process.is_lost():
            process.kill()


def scale(effort: Effort) -> Iterator[dict[str, Any]]:
    """Yield the seconds and the memory of plays by size; of those that did not end, the reason."""
    unknown = {"seconds": np.nan, "mib": np.nan, "ended": ""}
    for axis, (sizes, names, _) in AXES.items():
        for name in names:
            for size in sizes if effort.seconds else sizes[:1]:
                print(f"{axis}: {name}, {size}", file=sys.stderr, flush=True)
                found = unknown | measured(axis, name, size)
                yield {"axis": axis, "learner": name, "size": size, **found}
                if not found["seconds"] <= LONGEST:
                    break


def exponents(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the largest size of each axis and learner, with the exponents of time and memory.

    They are the slopes from the size before it. Memory is taken to grow on in a line, where it grew
    by more than a tenth.
    """
    line = ["axis", "learner"]
    frame = frame.assign(ended=frame.groupby(line)["ended"].transform("last"))
    known = frame.dropna(subset="seconds")
    numbers = known[["size", "seconds", "mib"]]
    more = numbers.groupby([known[key] for key in line]).diff()
    power = np.log(numbers).groupby([known[key] for key in line]).diff()
    room = (1024 * MOST_GIB - known["mib"]) / more["mib"] * more["size"]
    full = (known["size"] + room).where(more["mib"] > known["mib"] / 10)
    shown = known.assign(
        time=(power["seconds"] / power["size"]).round(2),
        memory=(power["mib"] / power["size"]).round(2),
        full=full.map("{:.1g}".format, na_action="ignore"),
    )
    return shown.groupby(line, sort=False).tail(1)
