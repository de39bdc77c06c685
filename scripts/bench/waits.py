"""What a person waits for: whole commands, and handing out and storing many small units."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from omtl.compute import engine
from omtl.compute.store import Store
from omtl.experiment.specs import ParallelSpec
from omtl.experiment.unit import Experiment, Unit
from omtl.protocols.setting import Setting
from omtl.util.paths import ROOT
from scripts.bench.turns import Effort

TABLE = ["table", "dom-table1", "--repeats", "2"]

COMMANDS: dict[str, list[str]] = {
    "omtl --help": ["--help"],
    "omtl list": ["list"],
    "omtl explain dom-table1 'PA on Synthetic'": ["explain", "dom-table1", "PA on Synthetic"],
    "omtl table dom-table1 --repeats 2, everything stored": TABLE,
}
"""Commands that are timed in turns, in a home where everything is stored."""


FIRST = "omtl table dom-table1 --repeats 2, nothing stored or compiled"


def seconds_of(arguments: list[str], home: str) -> dict[str, float]:
    """Return the elapsed and the processor's seconds of a command.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMTL_HOME": home}
    environment["NUMBA_CACHE_DIR"] = home  # no compiled code of the user's
    before, used = time.perf_counter(), sum(os.times()[2:4])  # by children
    command = [sys.executable, "-m", "omtl", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"omtl {' '.join(arguments)}: {done.stderr.strip()}")
    elapsed = time.perf_counter() - before
    return {"seconds": elapsed, "cpu_seconds": sum(os.times()[2:4]) - used}


def waits(effort: Effort) -> list[dict[Any, Any]]:
    """Return the medians of commands, the first table from an empty home included."""
    commands = [(FIRST, TABLE), *(list(COMMANDS.items()) * effort.turns)]
    with tempfile.TemporaryDirectory() as home:
        times = pd.DataFrame(
            {"command": name, **seconds_of(arguments, home)} for name, arguments in commands
        )
    summary = times.groupby("command", sort=False).agg(
        turns=("seconds", "size"),
        seconds=("seconds", "median"),
        cpu_seconds=("cpu_seconds", "median"),
        longest=("seconds", "max"),
    )
    return summary.reset_index().to_dict("records")


WORKERS = 2
UNITS, SECONDS = 2000, 0.1
"""How many units are handed out, and how long each waits."""

PLAIN = {"threads": "threading", "processes": "loky", "dask": "loky", "ray": "loky"}
"""The engines, each with the backend of plain joblib that it is compared with."""


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Wait: as a protocol, this module learns nothing."""
    time.sleep(setting.protocol["seconds"])
    return {"diverged": np.zeros(len(list(learners)), int)}


WAITS = {"protocol.*.module": __name__, "protocol.*.seconds": SECONDS}
"""What makes units wait instead of learning."""


def perceptrons(count: int, more: dict[str, Any] | None = None, **options: int) -> list[Unit]:
    """Return units of a random walk with these options, which differ in their repeat."""
    experiment = Experiment.compose("pm", "random_walk", "rounds")
    patch = {f"dataset.*.options.{name}": value for name, value in options.items()}
    return experiment.patched(patch | (more or {})).repeats(0, count)


def seconds_of_engine(name: str, units: list[Unit]) -> float:
    """Return how long an engine takes; its workers have started before."""
    parallel = replace(ParallelSpec.named(name), jobs=WORKERS)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        engine.run_units(units[:WORKERS], store, parallel, quiet=True)
        began = time.perf_counter()
        outcome = engine.run_units(units[WORKERS:], store, parallel, quiet=True)
        seconds = time.perf_counter() - began
    if outcome.computed != len(units) - WORKERS:
        raise RuntimeError(f"{name}: {next(iter(outcome.failed.values())).reason}")
    return seconds


def seconds_of_joblib(backend: str, count: int) -> float:
    """Return how long plain joblib takes for as many waits."""
    with joblib.Parallel(WORKERS, backend) as pool:
        pool(joblib.delayed(time.sleep)(0.0) for _ in range(WORKERS))
        began = time.perf_counter()
        pool(joblib.delayed(time.sleep)(SECONDS) for _ in range(count))
        return time.perf_counter() - began


def scheduling(effort: Effort) -> Iterator[dict[str, Any]]:
    """Yield the seconds of each engine, and of plain joblib for as many waits."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    count = UNITS if effort.seconds else WORKERS
    for name, backend in PLAIN.items():
        plain = seconds_of_joblib(backend, count)
        units = perceptrons(count + WORKERS, WAITS, n_tasks=2, n_examples=10, n_features=3)
        ours = seconds_of_engine(name, units)
        times = {"seconds": round(ours, 1), "joblib_seconds": round(plain, 1)}
        yield {"engine": name, "units": count, **times, "ratio": ours / plain}
