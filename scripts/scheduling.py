"""What handing out and storing many small units costs, beside plain joblib.

    python -m scripts.scheduling --units 10000 --seconds 0.1

gives units that only wait to two workers of each engine, and as many waits to plain joblib, and
prints a Markdown table. By default it hands out 600 units; all 10,000 take an hour.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from omtl.compute import engine
from omtl.compute.store import Store
from omtl.experiment.config import load_option, resolve_jobs
from omtl.experiment.experiment import Experiment, Names
from omtl.experiment.readings import NO_READING
from omtl.experiment.unit import Unit
from omtl.protocols.setting import Setting
from omtl.util.paths import ROOT
from omtl.util.result_files import markdown_table

WORKERS = 2
PLAIN = {"threads": "threading", "processes": "loky", "dask": "loky", "ray": "loky"}
"""The engines, each with the backend of plain joblib that it is compared with."""


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Wait: as a protocol, this module learns nothing."""
    time.sleep(setting.protocol["seconds"])
    return {"diverged": np.zeros(len(list(learners)), int)}


def waiting_units(count: int, seconds: float) -> list[Unit]:
    """Return units that only wait, for so many seconds each."""
    names = Names("pm", "random_walk", "rounds")
    experiment = Experiment.compose(names, NO_READING)
    small = {"n_tasks": 2, "n_examples": 10, "n_features": 3}
    patch = {f"dataset.*.options.{name}": value for name, value in small.items()}
    patch |= {"protocol.*.module": "scripts.scheduling", "protocol.*.seconds": seconds}
    return experiment.patched(patch).repeats(0, count)


def seconds_of(name: str, units: list[Unit]) -> float:
    """Return how long an engine takes; its workers have started before."""
    parallel = resolve_jobs(load_option("parallel", name), WORKERS)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        engine.run(units[:WORKERS], store, parallel, quiet=True)
        began = time.perf_counter()
        outcome = engine.run(units[WORKERS:], store, parallel, quiet=True)
        seconds = time.perf_counter() - began
    if outcome.computed != len(units) - WORKERS:
        raise RuntimeError(f"{name}: {next(iter(outcome.failed.values())).reason}")
    return seconds


def seconds_of_joblib(backend: str, count: int, seconds: float) -> float:
    """Return how long plain joblib takes for as many waits."""
    with joblib.Parallel(WORKERS, backend) as pool:
        pool(joblib.delayed(time.sleep)(0.0) for _ in range(WORKERS))
        began = time.perf_counter()
        pool(joblib.delayed(time.sleep)(seconds) for _ in range(count))
        return time.perf_counter() - began


def main() -> int:
    """Measure the engines and print the table."""
    top = argparse.ArgumentParser(description="What handing out and storing small units costs.")
    top.add_argument("engines", nargs="*", help=f"{', '.join(PLAIN)}; default: all")
    top.add_argument("--units", type=int, default=600, help="default: 600")
    top.add_argument("--seconds", type=float, default=0.1, help="of each unit; default: 0.1")
    given = top.parse_args()
    if unknown := set(given.engines) - PLAIN.keys():
        top.error(f"no engine {min(unknown)!r}; choose from {', '.join(PLAIN)}")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    rows = []
    for name in given.engines or PLAIN:
        plain = seconds_of_joblib(PLAIN[name], given.units, given.seconds)
        ours = seconds_of(name, waiting_units(given.units + WORKERS, given.seconds))
        rows.append([name, f"{ours:.1f}", f"{plain:.1f}", f"{ours / plain:.2f}"])
    heads = [f"{given.units:,} units of {given.seconds:g} s", "ours, s", "joblib, s", "ratio"]
    print(*markdown_table(heads, rows), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
