"""``python -m scripts.bench [PART ...]``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

from omtl.util.host import host
from omtl.util.paths import RESULTS
from omtl.util.result_files import markdown_table, write_csv
from scripts.bench import estimators, learners, scale, waits
from scripts.bench.turns import QUICK, Effort, as_frame

PARTS: dict[str, Callable[[Effort], Iterator[dict[str, Any]]]] = {
    "waits": waits.waits,
    "learners": learners.learners,
    "estimators": estimators.estimators,
    "growth": learners.growth,
    "similarities": learners.similarities,
    "grids": learners.grids,
    "scheduling": waits.scheduling,
    "scale": scale.scale,
}


def ratios(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row per learner and size, and the ratio of each contender as a column.

    Where there is only the limit to compare with, the sizes are columns, and the ratio is how many
    times as long as the limit ours takes.
    """
    if "mib" in frame:
        return scale.exponents(frame)
    if "contender" not in frame:
        return frame
    if set(frame["contender"]) == {"ours", "limit"}:
        limits = frame[frame["contender"] == "limit"]
        size = [
            f"{row.layout}: "
            + (f"{row.n_tasks} tasks" if row.layout == "tasks" else f"{row.n_features}")
            for row in limits.itertuples()
        ]
        limits = limits.assign(size=size, times=(1.0 / limits["ratio"]).round(2))
        return limits.pivot(index="learner", columns="size", values="times")[
            [*dict.fromkeys(size)]
        ].reset_index()
    place = ["learner", "layout", "n_tasks", "n_features"]
    wide = frame.pivot_table(index=place, columns="contender", values="ratio", sort=False)
    return wide[[*dict.fromkeys(frame["contender"])]].reset_index()


def run_part(name: str, effort: Effort, folder: Path | None) -> None:
    """Measure a part; write its rows, by default to ``results/bench``, and print its ratios."""
    load, here = os.getloadavg()[0], host()
    with threadpool_limits(1):
        frame = as_frame(PARTS[name](effort))
    write_csv((folder or RESULTS / "bench") / f"{name}.csv", frame)
    machine = f"{here['cpu'] or here['machine']}, {here['cores']} cores, Python {here['python']}"
    shown = ratios(frame).astype(object).fillna("")
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {machine}, load average {load:.1f} before:",
        "",
        *markdown_table([*shown.columns], shown.astype(str).to_numpy().tolist()),
    ]
    print(name, *lines, sep="\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench", description="Benchmarks, as ratios of times in one run."
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="a tiny run, to see that it works")
    parser.add_argument("--folder", type=Path, help="where files go; default: results/bench")
    parser.add_argument("--only", default="", help='learners, such as "PA;DOM-I, ring"')
    options = parser.parse_args(arguments)
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}; choose from {', '.join(PARTS)}")
    if options.quick and options.folder is None:
        parser.error("the times of a quick run mean nothing: name a --folder for them")
    effort = QUICK if options.quick else Effort()
    if options.only:
        if options.folder is None:
            parser.error("results/bench has all learners: name a --folder for some")
        effort = replace(effort, learners=tuple(options.only.split(";")))
    for name in options.parts or PARTS:
        run_part(name, effort, options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
