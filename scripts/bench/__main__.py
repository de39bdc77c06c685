"""``python -m scripts.bench [PART ...]``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

import scripts.bench
from omtl.experiment.host import host
from omtl.util.paths import RESULTS, ROOT
from omtl.util.result_files import write_all
from scripts.bench import (
    calls,
    grids,
    growth,
    kernels,
    limits,
    page,
    startup,
    table_streams,
    tables,
    targets,
)
from scripts.bench.effort import FULL, QUICK, Effort
from scripts.bench.measure import Row, agrees, in_words, measure_all
from scripts.records import put, read_csv, write_csv

STORED = RESULTS / "bench"
PACKAGES = ("numpy", "numba", "river", "scikit-learn", "vowpalwabbit", "joblib")


class Run(NamedTuple):
    """When, where and how a part was run; load averages of one minute."""

    part: str
    effort: str
    started: str
    seconds: float
    load_before: float
    load_after: float
    commit: str
    processor: str
    cores: int
    python: str
    packages: str


class Part(NamedTuple):
    """A part of the benchmarks: what measures it, and the fields of its rows."""

    measure: Callable[[Effort, Path], Sequence[Any]]
    fields: tuple[str, ...] = Row._fields


PARTS: dict[str, Part] = {
    "limits": Part(limits.measure, limits.LimitRow._fields),
    "kernels": Part(partial(measure_all, kernels.benchmarks)),
    "calls": Part(partial(measure_all, calls.benchmarks)),
    "growth": Part(partial(measure_all, growth.benchmarks)),
    "table_streams": Part(partial(measure_all, table_streams.benchmarks)),
    "grids": Part(partial(measure_all, grids.benchmarks)),
    "tables": Part(tables.measure, tables.TableRow._fields),
    "startup": Part(startup.measure, startup.StartRow._fields),
}


def commit() -> str:
    """Return the commit that is checked out, with a + where files differ from it."""
    answers = [
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "omtl"])
    ]
    return answers[0].stdout.strip() + ("+" if answers[1].stdout.strip() else "") or "unknown"


def run_part(name: str, effort: Effort, stored: Path) -> list[Any]:
    """Measure a part, write its rows and those of its run; return the rows."""
    before, began = os.getloadavg()[0], time.perf_counter()
    started = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        rows = list(PARTS[name].measure(effort, Path(folder)))
    write_csv(stored / f"{name}.csv", PARTS[name].fields, map(in_words, rows))
    here = host()
    run = Run(
        name,
        "quick" if effort == QUICK else "full",
        started,
        round(time.perf_counter() - began, 1),
        round(before, 2),
        round(os.getloadavg()[0], 2),
        commit(),
        here["cpu"] or here["machine"],
        here["cores"],
        here["python"],
        ", ".join(f"{each} {version(each)}" for each in PACKAGES),
    )
    put(stored / "runs.csv", Run._fields, in_words(run), PARTS)
    return rows


def conclude(stored: Path, shown: Path) -> list[targets.TargetRow]:
    """Judge the targets by what is stored; write them, and the pages into a folder."""
    rows = targets.judged({name: read_csv(stored / f"{name}.csv") for name in PARTS})
    write_csv(stored / "targets.csv", targets.TargetRow._fields, map(in_words, rows))
    write_all(shown, page.pages(stored))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts, write results and pages; return 1 if equal algorithms differ in mistakes."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench",
        description=(scripts.bench.__doc__ or "").partition("\n")[0],
        epilog="Without a part all are run. A part that is done is stored, and stays when a later "
        "one is stopped: go on by naming those that are left.",
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; or page: from what is stored"
    )
    parser.add_argument("--quick", action="store_true", help="a tiny run, to see that it works")
    parser.add_argument("--folder", type=Path, help="where files go; default: results/bench")
    options = parser.parse_args(arguments)
    unknown = [part for part in options.parts if part not in (*PARTS, "page")]
    if unknown:
        parser.error(f"no part {unknown[0]!r}; choose from {', '.join((*PARTS, 'page'))}")
    if options.quick and options.folder is None:
        parser.error("a quick run's times mean nothing: name a --folder of its own")
    stored = options.folder or STORED
    apart: list[Row] = []
    for name in options.parts or PARTS:
        if name != "page":
            rows = run_part(name, QUICK if options.quick else FULL, stored)
            apart += [row for row in rows if isinstance(row, Row) and not agrees(row)]
    judged = conclude(stored, page.DOCS if options.folder is None else options.folder)
    for row in judged:
        if row.met == "no":
            print(f"not met: {row.target}, {row.subject}: {row.median:.3g} ({row.wanted})")
    print(f"{sum(row.met == 'yes' for row in judged)} of {len(judged)} numbers keep their target")
    for other in apart:
        print(
            f"{other.kernel}, {other.layout}: {other.contender} made {other.mistakes} mistakes "
            f"where ours made {other.mistakes_of_ours}, so it is not the same algorithm",
            file=sys.stderr,
        )
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
