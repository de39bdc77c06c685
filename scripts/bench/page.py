"""The pages of the documentation that show the stored runs: ``pages/``, filled with numbers."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from omtl.util.paths import ROOT
from scripts import records
from scripts.bench.grids import ALONE
from scripts.bench.ours import SINGLE
from scripts.bench.targets import IN_NUMPY, OF_PARSED, PUBLIC, Line, Results, place_of, size_of

DOCS = ROOT / "docs"

TEMPLATES = Path(__file__).with_name("pages")

PAGES = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.md"))

RESULTS = (
    *("runs", "limits", "kernels", "growth", "table_streams"),
    *("grids", "tables", "startup", "calls", "targets"),
)
"""The files of a run, in the order in which they are made."""

BUSY = 0.7
"""Load average above which other work is likely to have troubled a run on one core."""

WAYS_TO_GROW = (
    ("dense", "With the number of features, dense rows", "n_features"),
    ("sparse", "With nonzeros and features, sparse rows", "nonzeros of n_features"),
    ("tasks", "With the number of tasks, dense rows (d as under Every kernel)", "n_tasks"),
    ("triplets", "Similarities, with the number of features (triplets)", "n_features"),
)
"""Layouts of the part ``growth``, with their titles and what grows."""

Rows = list[list[str]]


# Numbers and lines as the pages show them


def figure(value: float) -> str:
    """Return a number with about three digits."""
    if value == 0.0 or value != value:
        return f"{value:g}"
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{figure(seconds / size)} {unit}"
    return f"{figure(seconds / 1e-9)} ns"


def spread(line: Line, kind: str = "ratio") -> str:
    """Return a median with its extremes."""
    parts = ("median", "min", "max")
    median, least, most = (figure(float(line[f"{kind}_{part}"])) for part in parts)
    return f"{median} ({least} to {most})"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, numbers to the right, or a sentence where it has no row."""
    lines = records.table(titles, rows)
    return "\n".join(lines) if len(lines) > 2 else "No run is stored."


def grouped(lines: Sequence[Line]) -> dict[tuple[str, ...], dict[str, Line]]:
    """Return the lines of each benchmark by contender."""
    found: dict[tuple[str, ...], dict[str, Line]] = {}
    for line in lines:
        found.setdefault(place_of(line), {})[line["contender"]] = line
    return found


def cells(contenders: dict[str, Line], *names: str) -> list[str]:
    """Return our time, and the ratio of each contender, where it was run, to it."""
    ours = duration(float(contenders["ours"]["seconds_per_example"]))
    return [ours, *(spread(contenders[n]) if n in contenders else "–" for n in names)]


# The rows of each table


def targets(results: Results) -> Rows:
    """Return how each target is met."""
    lines, rows = results["targets"], []
    for name in dict.fromkeys(line["target"] for line in lines):
        mine = [line for line in lines if line["target"] == name]
        n_met = sum(line["met"] == "yes" for line in mine)
        at_least = mine[0]["wanted"].startswith("at least")
        worst = (min if at_least else max)(mine, key=lambda line: float(line["median"]))
        middle = figure(statistics.median(float(line["median"]) for line in mine))
        verdict = "met" if n_met == len(mine) else "**not met**"
        shown = f"{figure(float(worst['median']))} ({worst['subject']})"
        rows.append([name, mine[0]["wanted"], middle, shown, f"{verdict}: {n_met} of {len(mine)}"])
    return rows


def missed(results: Results) -> Rows:
    """Return the numbers that miss their target, with how much faster a bare loop would be."""
    limits = {}
    for here in grouped(results["kernels"]).values():
        for target, name in ((IN_NUMPY, "NumPy"), (OF_PARSED, "Vowpal Wabbit, Python")):
            if "limit" in here and name in here:
                slow, least = (float(here[way]["ratio_median"]) for way in (name, "limit"))
                subject = f"{here['ours']['kernel']}, {size_of(here['ours'])}"
                limits[target, subject] = figure(slow / least)
    rows = []
    for line in results["targets"]:
        if line["met"] == "no":
            median, low, high = (figure(float(line[name])) for name in ("median", "low", "high"))
            limit = limits.get((line["target"], line["subject"]), "–")
            measured = f"{median} ({low} to {high})"
            rows.append([line["target"], line["subject"], line["wanted"], measured, limit])
    return rows


def rivals(results: Results) -> dict[str, Rows]:
    """Return the public implementations beside ours, at each size that they were run at."""
    found: dict[str, Rows] = {name: [] for name in SINGLE}
    lines = [*results["kernels"], *results["growth"]]
    by_size = sorted(lines, key=lambda line: (int(line["nonzeros"]), int(line["n_features"])))
    for (name, _, _, d, n), here in grouped(by_size).items():
        if name in SINGLE and any(each in here for each in PUBLIC):
            row = [f"{int(n):,} of {int(d):,}", *cells(here, *PUBLIC, "NumPy, tuned")]
            found[name].append(row)
    return {name: rows for name, rows in found.items() if rows}


def kernels(results: Results) -> Rows:
    """Return every kernel at one size."""
    names = ("limit", "NumPy", "uncompiled", "single-task")
    return [
        [
            f"{kernel}, {layout}, d = {d}" + (f", {n_tasks} tasks" if n_tasks != "1" else ""),
            *cells(here, *names),
        ]
        for (kernel, layout, n_tasks, d, _), here in grouped(results["kernels"]).items()
    ]


def limits(results: Results) -> Rows:
    """Return what the machine does."""
    return [
        [line["what"], f"{int(line['size']):,}", spread(line, "rate"), line["unit"]]
        for line in results["limits"]
    ]


def calls(results: Results) -> Rows:
    """Return what users call, beside what others call."""
    return [
        [line["kernel"], line["layout"], line["contender"], spread(line)]
        for line in results["calls"]
    ]


def growth(results: Results) -> dict[str, tuple[tuple[str, ...], Rows]]:
    """Return how costs grow: by title the sizes, and a row for each kernel."""
    found = {}
    for layout, title, axis in WAYS_TO_GROW:
        costs: dict[str, dict[tuple[int, ...], str]] = {}
        mine = [line for line in results["growth"] if line["layout"] == layout]
        for here in grouped(mine).values():
            line = here["ours"]
            size = tuple(int(line[part]) for part in axis.split(" of "))
            ns = figure(1e9 * float(line["seconds_per_example"]))
            limit = figure(1.0 / float(here["limit"]["ratio_median"]))
            costs.setdefault(line["kernel"], {})[size] = f"{ns} [{limit}]"
        sizes = sorted({size for by in costs.values() for size in by})
        rows = [[name, *(by.get(size, "–") for size in sizes)] for name, by in costs.items()]
        found[title] = tuple(" of ".join(f"{n:,}" for n in size) for size in sizes), rows
    return found


def streams(results: Results) -> dict[str, Rows]:
    """Return the learners on the tables' own streams, by stream."""
    found: dict[str, Rows] = {}
    for (kernel, layout, *_), here in grouped(results["table_streams"]).items():
        row = [kernel, f"{int(here['ours']['examples']):,}"]
        found.setdefault(layout, []).append([*row, *cells(here, "NumPy", "uncompiled", *PUBLIC)])
    return found


def grids(results: Results) -> Rows:
    """Return the grids that are played together."""
    return [
        [kernel, layout, f"{int(here['ours']['examples']):,}", *cells(here, ALONE)]
        for (kernel, layout, *_), here in grouped(results["grids"]).items()
    ]


def tables(results: Results) -> Rows:
    """Return the whole tables."""
    return [
        [
            *(line["table"], line["repeats"], line["way"]),
            line["units"] + (f" ({line['failed']} failed)" if line["failed"] != "0" else ""),
            *(f"{float(line['seconds']):.1f} s", spread(line)),
            f"{float(line['busy']):.0%}" if line["busy"] else "–",
            *(f"{float(line['beside']):.1f} s", line["loads"], figure(float(line["mebibytes"]))),
        ]
        for line in results["tables"]
    ]


def startup(results: Results) -> Rows:
    """Return the starts."""
    return [
        [
            line["what"] + (f", {line['kernel']}" if line["kernel"] else ""),
            f"{spread(line, 'seconds')} s",
            f"{figure(float(line['processor_median']))} s",
            line["turns"],
        ]
        for line in results["startup"]
    ]


def machine(results: Results) -> dict[str, Any]:
    """Return where and how the runs were made."""
    runs = results["runs"]
    return {
        "runs": [
            [
                *(run["part"], run["effort"], run["started"], f"{float(run['seconds']):.0f}"),
                *(f"{run['load_before']} to {run['load_after']}", run["commit"]),
            ]
            for run in runs
        ],
        "hosts": dict.fromkeys(
            f"{run['processor']}, {run['cores']} cores, Python {run['python']}, {run['packages']}."
            for run in runs
        ),
        "busy": ", ".join(run["part"] for run in runs if float(run["load_before"]) > BUSY),
        "quick": any(run["effort"] != "full" for run in runs),
    }


def pages(folder: Path) -> dict[str, str]:
    """Return the pages of the runs that are stored in a folder, by file."""
    results = {name: records.read_csv(folder / f"{name}.csv") for name in RESULTS}
    parts = (targets, missed, rivals, kernels, limits, calls)
    parts += (growth, streams, grids, tables, startup)
    shown = machine(results) | {part.__name__: part(results) for part in parts}
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), trim_blocks=True, undefined=StrictUndefined
    )
    return {
        name: made.get_template(name).render(shown, table=table, public=PUBLIC).rstrip() + "\n"
        for name in PAGES
    }
