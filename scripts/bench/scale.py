"""How the time and the memory of whole plays grow with the problem, and where memory ends.

Each play has a process of its own, with limits of memory and of time. A size is left out once the
one before it took longer than `LONGEST` seconds, or did not end within the limits.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from omtl.compute.engine import run_units
from omtl.compute.own_process import peak_mib
from omtl.compute.store import Store
from omtl.experiment.config import load_option
from omtl.figures.pictures import render
from omtl.kernel.grids import play_points
from omtl.util.paths import RESULTS, ROOT
from scripts.bench import streams
from scripts.bench.ours import LEARNERS
from scripts.bench.turns import Effort
from scripts.bench.waits import perceptrons

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEARNER_NAMES = ("PA", "ROM-PGD", "OSMTL-e", "DOM-I, ring")
"""A task alone, two vectors a task, every pair of tasks, and a network."""

MOST_GIB, MOST_SECONDS = 12, 240
SHORTEST, LONGEST = 1.0, 60.0

EXAMPLES, TASKS, FEATURES, NONZEROS = 100_000, 9, 20, 100
"""The size of a problem in what does not grow."""

PICTURE = ROOT / "docs" / "growth.svg"


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


def measure(axis: str, name: str, size: int, answers: Connection) -> None:
    """Send the seconds of a play and the peak of memory, or that there is not enough."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_GIB * 2**30,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS,) * 2)
    play = AXES[axis].play
    play(name, AXES[axis].sizes[0])()  # compiles
    try:
        call, count, began = play(name, size), 0, time.process_time()
        while count < 1 or time.process_time() - began < SHORTEST:  # the clock's steps are coarse
            call()
            count += 1
        answers.send({"seconds": (time.process_time() - began) / count, "mib": peak_mib()})
    except MemoryError:
        answers.send({"ended": f"more than {MOST_GIB} GiB"})


def measured(axis: str, name: str, size: int) -> dict[str, Any]:
    """Return the seconds and MiB of a play in a process of its own, or what ended it."""
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(axis, name, size, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:  # the system has ended it
        return {"ended": f"more than {MOST_SECONDS} s"}
    finally:
        process.join()


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
    """Return a row for each axis and learner: the exponents of time and memory, and where it ends.

    They are the slopes between the two largest sizes; memory is taken to grow on in a line.
    """
    rows, gib = [], MOST_GIB
    for (axis, name), part in frame.groupby(["axis", "learner"], sort=False):
        known, last = part.dropna(subset="seconds"), part.iloc[-1]
        largest, before = known.iloc[-1], known.iloc[-2 if len(known) > 1 else -1]
        row: dict[str, Any] = {"what grows": axis, "learner": name, "up to": largest["size"]}
        row |= {"seconds": f"{largest['seconds']:.2g}", "MiB": f"{largest['mib']:.0f}"}
        growth = np.log(largest["size"] / before["size"])
        for what, of in (("time", "seconds"), ("memory", "mib")):
            row[what] = f"{np.log(largest[of] / before[of]) / growth:.2f}" if growth else ""
        more = largest["mib"] - before["mib"]
        if more > largest["mib"] / 10:
            each = more / (largest["size"] - before["size"])
            row["end"] = (
                f"{gib} GiB at {largest['size'] + (1024 * gib - largest['mib']) / each:.1g}"
            )
        if last["ended"]:
            row["end"] = f"{last['ended']} at {last['size']}"
        rows.append(row)
    return pd.DataFrame(rows)


def draw(frame: pd.DataFrame) -> Figure:
    """Return the picture: time above, memory below, a column for what grows."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(13.0, 5.2), layout="constrained")
    names = [*dict.fromkeys(frame["learner"])]
    panels = drawn.subplots(2, len(AXES), sharey="row", sharex="col")
    for column, axis in enumerate(AXES):
        part = frame[frame["axis"] == axis]
        for row, (what, label) in enumerate((("seconds", "seconds"), ("mib", "MiB"))):
            ax = panels[row, column]
            for name, line in part.groupby("learner", sort=False):
                colour = f"C{names.index(name)}"
                ax.loglog(line["size"], line[what], colour, marker="o", markersize=3, label=name)
            if not column:
                ax.set_ylabel(label)
        panels[0, column].legend(fontsize=7)
        panels[1, column].set_xlabel(axis)
    return drawn


if __name__ == "__main__":
    PICTURE.write_bytes(
        render(lambda: draw(pd.read_csv(RESULTS / "bench" / "scale.csv")), "growth")["svg"]
    )
    print(PICTURE.relative_to(ROOT))
