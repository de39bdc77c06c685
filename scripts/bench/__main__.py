"""``python -m scripts.bench [PART ...]``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
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
from scripts.bench.turns import QUICK, Effort

PARTS: dict[str, Callable[[Effort], Iterable[dict[Any, Any]]]] = {
    "waits": waits.waits,
    "learners": learners.learners,
    "estimators": estimators.estimators,
    "growth": learners.growth,
    "similarities": learners.similarities,
    "grids": learners.grids,
    "scheduling": waits.scheduling,
    "scale": scale.scale,
}
ALL = "all"


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row per learner and size, and the ratio of each contender as a column."""
    if "mib" in frame:
        return scale.exponents(frame)
    if "contender" not in frame:
        return frame
    place = ["learner", "layout", "n_tasks", "n_features"]
    wide = frame.pivot_table(index=place, columns="contender", values="ratio", sort=False)
    return wide[frame["contender"].unique()].reset_index()


def run_part(name: str, effort: Effort, folder: Path) -> None:
    """Measure a part; write its rows, to four significant digits, and print them as a table."""
    load, here = os.getloadavg()[0], host()
    with threadpool_limits(1):
        frame = pd.DataFrame(PARTS[name](effort))
    for column in frame.select_dtypes("float"):
        frame[column] = [float(f"{value:.4g}") for value in frame[column]]
    write_csv(folder / f"{name}.csv", frame)
    shown = table(frame).astype(object).fillna("").astype(str)
    print(
        name,
        f"{datetime.now(UTC):%Y-%m-%d}, {here['cpu'] or here['machine']}, {here['cores']} cores, "
        f"Python {here['python']}, load average {load:.1f} before:",
        "",
        *markdown_table([*shown.columns], shown.to_numpy().tolist()),
        sep="\n",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.bench", description="Benchmarks, as ratios of times in one run."
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, ALL], default=ALL)
    parser.add_argument("--quick", action="store_true", help="a tiny run, to see that it works")
    parser.add_argument("--folder", type=Path, help="where files go; default: results/bench")
    parser.add_argument("--only", default="", help='learners, such as "PA;DOM-I, ring"')
    options = parser.parse_args(arguments)
    if options.folder is None and (options.quick or options.only):
        parser.error("results/bench has full runs of all learners: name a --folder for this one")
    effort = QUICK if options.quick else Effort()
    if options.only:
        effort = replace(effort, learners=tuple(options.only.split(";")))
    for name in PARTS if ALL in options.parts else options.parts:
        run_part(name, effort, options.folder or RESULTS / "bench")
    return 0


if __name__ == "__main__":
    sys.exit(main())
