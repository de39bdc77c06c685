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
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.engine import run_units
from omtl.compute.own_process import Apart, LostProcess
from omtl.compute.store import Store
from omtl.experiment.specs import SERIAL
from omtl.kernel.grids import play_points
from omtl.util.host import peak_mib
from scripts.bench import streams
from scripts.bench.ours import LEARNERS
from scripts.bench.turns import Contender, Effort
from scripts.bench.waits import perceptrons

LEARNER_NAMES = ("PA", "ROM-PGD", "OSMTL-e", "DOM-I, ring")
"""A task alone, two vectors a task, every pair of tasks, and a network."""

MOST_GIB, MOST_SECONDS = 12, 240
SHORTEST, LONGEST = 1.0, 60.0

EXAMPLES, TASKS, FEATURES, NONZEROS = 100_000, 9, 20, 100
"""The size of a problem in what does not grow."""


AXES: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "examples": (LEARNER_NAMES, (10_000, 100_000, 1_000_000, 10_000_000)),
    "tasks": (LEARNER_NAMES[1:], (10, 100, 1000, 10_000)),
    "features": (LEARNER_NAMES, (100, 1000, 10_000, 100_000, 1_000_000)),
    "points": (("ROM-PGD",), (10, 100, 1000, 10_000)),
    "units": (("PM",), (100, 1000, 10_000, 100_000)),
}
"""What grows, for which learners, and its sizes."""


def play_of(axis: str, name: str, size: int) -> Callable[[], Any]:
    """Return a learner's play of a size, which is timed; of units, computing and storing them."""
    if axis == "units":
        return lambda: store_units(size)
    entry = LEARNERS[name]
    if axis == "features":
        return entry.play(*streams.sparse_data(EXAMPLES // 10, NONZEROS, size), TASKS).mistakes
    if axis == "points":
        learner, *stream = entry.play(*streams.dense_data(EXAMPLES // 100, FEATURES), TASKS)
        etas = np.geomspace(0.001, 1.0, max(1, size // 10)).tolist()
        points = [learner._replace(eta=eta, gamma=0.001 * k) for eta in etas for k in range(10)]
        return lambda: list(play_points(points, *stream))
    n, n_tasks = (size, TASKS) if axis == "examples" else (EXAMPLES, size)
    return entry.play(*streams.dense_data(n, FEATURES), n_tasks).mistakes


def store_units(count: int) -> None:
    """Compute small units, each of which is stored."""
    units = perceptrons(count, n_tasks=2, n_examples=10, n_features=3)
    with tempfile.TemporaryDirectory() as folder:
        run_units(units, Store(Path(folder)), SERIAL, quiet=True)


def measure(axis: str, name: str, size: int) -> dict[str, float | None]:
    """Return the seconds of a play, and this process's peak of memory."""
    play_of(axis, name, AXES[axis][1][0])()  # compiles
    play = Contender(name, 1, play_of(axis, name, size), clock=time.process_time)
    return {"seconds": play.seconds_per_example(SHORTEST), "mib": peak_mib()}


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
    for axis, (names, sizes) in AXES.items():
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
