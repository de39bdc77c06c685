"""The pages of the documentation that show the stored runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from omtl.util.paths import ROOT
from scripts.bench.front import machine, targets
from scripts.bench.grids import ALONE
from scripts.bench.measure import read
from scripts.bench.ours import SINGLE
from scripts.bench.shown import cell, duration, figure, grouped, spread, table
from scripts.bench.targets import PUBLIC, Results
from scripts.bench.tried import TEXT, TRIED

DOCS = ROOT / "docs"

RESULTS = (
    "runs",
    "limits",
    "kernels",
    "growth",
    "table_streams",
    "grids",
    "tables",
    "startup",
    "calls",
    "targets",
)
"""The files of a run, in the order in which they are made."""

HEAD = """\
# Performance

These pages are generated from the stored runs in `results/bench/`, which have more digits
(`python -m scripts.bench page`).

```sh
make bench                          # all parts, then these pages
make bench PART=kernels             # one part
```

- [Other libraries](performance/libraries.md): river, scikit-learn, Vowpal Wabbit, NumPy.
- [Every learner](performance/kernels.md): each one compared with a bare loop that does the same
  work.
- [How costs grow](performance/growth.md): with features, nonzeros and tasks.
- [Tables and grids](performance/tables.md): whole tables, grids played together, first calls.
- [The tables' own streams](performance/streams.md): every learner on the tables' data.
- [What we tried](performance/tried.md): optimisations, kept or rejected.

Everything is measured on one core, and every conclusion rests on a ratio of two times in one run.
The contenders of a benchmark take turns on the same stream, ours before each of the others.
`median` is the median over the turns; `low` and `high` are the extremes. Slow contenders get only
the first examples of the stream. Compiling, parsing and preparing are not counted, except where a
line says so. Equal algorithms must make equal mistakes, up to ties and rounding; otherwise the run
fails.
"""


KERNELS_TEXT = """\
`NumPy` is the plain transcription of the paper's equations that the tests compare the learner with
(`omtl/reference/`); where the paper prints a Kronecker product or a full matrix, the transcription
forms it, and the ratio says little. `uncompiled` is the learner's own rules run in Python. The
`limit` is a bare loop that does only the inner products and steps that the learner's equations need
on this stream, over the same rows and as many weight vectors, with sums in any order. The first
number is our time; all others are ratios to it, so a number above 1 is slower.
"""

RIVALS_TEXT = """\
Vowpal Wabbit has no passive-aggressive learner, so PA is compared with its gradient descent on the
hinge loss, which also takes one product and one step. `Python` is `Workspace.learn` on parsed
examples and reading the prediction; `learning alone` is the library's own function without the
Python method around it; `text` also parses a line of text. `native` is its own program, in several
passes over its cache file, minus the time of the first pass; decoding the cache is counted, because
the program cannot avoid it. It decodes in one thread and learns in another: `core` counts the CPU
time of both, `elapsed` the waiting time.
"""

GROWTH_TEXT = """\
Nanoseconds per example; in brackets, the ratio to the bare loop. Each learner takes as many steps
as it needs on this stream, so the rows of a column do not all do the same work.
"""

STREAMS_TEXT = """\
The first repeat of each column: every algorithm at one point of its grid (on one network), and OGD
with one vector for all tasks, which the public libraries offer too.
"""

CALLS_TEXT = """\
Alternating `learn_one` and `predict_one`, compared with river's PA and with Vowpal Wabbit's
`learn`, which also predicts; `fit` and `partial_fit` on arrays, compared with the bare compiled
loop, which is given the norms.
"""

GRIDS_TEXT = """\
All points of a grid whose learners can share state are played together, bit-identical to playing
them one by one (`omtl/kernel/grid_loop.py`). `ours` is the time per example and point for the whole
grid; `point by point` is the ratio for some points drawn from it and played alone.
"""

TABLES_TEXT = """\
The first repeats of each cell, with a few points of each grid, in a fresh process with its own
store; all code was compiled beforehand. One repeat is mostly loading of data and compiled code.
`ratio` is the computing time relative to one job. `busy` is the share of that time in which each
job kept a core busy. `beside` is the time the process needs for everything else: starting,
importing, planning. Threads share the data sets of their process; each process loads its own. `MiB`
is the sum of the processes' peak memory.
"""


def rivals(results: Results) -> list[str]:
    """Return the public implementations beside ours, at each size that they were run at."""
    names = (*PUBLIC, "NumPy, tuned")
    found = ["## Public implementations", "", RIVALS_TEXT]
    for kernel in SINGLE:
        rows = [
            [
                f"{int(nonzeros):,} of {int(d):,}",
                duration(float(here["ours"]["seconds_per_example"])),
                *(cell(here, name) for name in names),
            ]
            for (name, _, _, d, nonzeros), here in grouped(
                [*results["kernels"], *results["growth"]]
            ).items()
            if name == kernel and any(each in here for each in PUBLIC)
        ]
        if rows:
            rows.sort(key=lambda row: [int(part.replace(",", "")) for part in row[0].split(" of ")])
            titles = ("nonzeros of features", "ours", *names)
            found += [f"### {kernel}", "", *table(titles, rows)]
    return found


def kernels(results: Results) -> list[str]:
    """Return every kernel at one size."""
    names = ("limit", "NumPy", "uncompiled", "single-task")
    rows = [
        [
            f"{kernel}, {layout}, d = {d}" + (f", {n_tasks} tasks" if n_tasks != "1" else ""),
            duration(float(here["ours"]["seconds_per_example"])),
            *(cell(here, name) for name in names),
        ]
        for (kernel, layout, n_tasks, d, _), here in grouped(results["kernels"]).items()
    ]
    return ["## Every kernel", "", KERNELS_TEXT, *table(("kernel", "ours", *names), rows)]


def growth(results: Results) -> list[str]:
    """Return how costs grow: a table for each way to grow."""
    found = [GROWTH_TEXT]
    ways = (
        ("dense", "With the number of features, dense rows", "n_features"),
        ("sparse", "With nonzeros and features, sparse rows", "nonzeros of n_features"),
        ("tasks", "With the number of tasks, dense rows (d as under Every kernel)", "n_tasks"),
        ("triplets", "Similarities, with the number of features (triplets)", "n_features"),
    )
    for layout, title, axis in ways:
        costs: dict[str, dict[tuple[int, ...], str]] = {}
        for place, here in grouped(results["growth"]).items():
            if place[1] != layout:
                continue
            line = here["ours"]
            size = tuple(int(line[part]) for part in axis.split(" of "))
            ns = figure(1e9 * float(line["seconds_per_example"]))
            costs.setdefault(line["kernel"], {})[size] = (
                f"{ns} [{figure(1.0 / float(here['limit']['ratio_median']))}]"
            )
        sizes = sorted({size for mine in costs.values() for size in mine})
        rows = [
            [kernel, *(mine.get(size, "–") for size in sizes)] for kernel, mine in costs.items()
        ]
        titles = ("kernel", *(" of ".join(f"{part:,}" for part in size) for size in sizes))
        found += [f"## {title}", "", *table(titles, rows)]
    return found


def limits(results: Results) -> list[str]:
    """Return the machine's limits."""
    rows = [
        [line["what"], f"{int(line['size']):,}", spread(line, "rate"), line["unit"]]
        for line in results["limits"]
    ]
    return ["## The machine's limits", "", *table(("what", "size", "rate", "unit"), rows)]


def table_streams(results: Results) -> list[str]:
    """Return the learners on the tables' own streams."""
    names = ("NumPy", "uncompiled", *PUBLIC)
    found = [STREAMS_TEXT]
    by_layout: dict[str, list[list[str]]] = {}
    for (kernel, layout, *_), here in grouped(results["table_streams"]).items():
        by_layout.setdefault(layout, []).append(
            [
                kernel,
                f"{int(here['ours']['examples']):,}",
                duration(float(here["ours"]["seconds_per_example"])),
                *(cell(here, name) for name in names),
            ]
        )
    for layout, rows in by_layout.items():
        titles = ("learner", "examples", "ours", *names)
        found += [f"## {layout}", "", *table(titles, rows)]
    return found if by_layout else [*found, "No run is stored.", ""]


def grids(results: Results) -> list[str]:
    """Return the grids that are played together."""
    rows = [
        [
            kernel,
            layout,
            f"{int(here['ours']['examples']):,}",
            duration(float(here["ours"]["seconds_per_example"])),
            cell(here, ALONE),
        ]
        for (kernel, layout, *_), here in grouped(results["grids"]).items()
    ]
    titles = ("learner", "stream", "examples by points", "ours", ALONE)
    return ["## Grids as one pass", "", GRIDS_TEXT, *table(titles, rows)]


def tables(results: Results) -> list[str]:
    """Return the whole tables."""
    rows = [
        [
            line["table"],
            line["repeats"],
            line["way"],
            f"{line['units']} ({line['failed']} failed)"
            if line["failed"] != "0"
            else line["units"],
            f"{float(line['seconds']):.1f} s",
            spread(line),
            f"{float(line['busy']):.0%}" if line["busy"] else "–",
            f"{float(line['beside']):.1f} s",
            line["loads"],
            figure(float(line["mebibytes"])),
        ]
        for line in results["tables"]
    ]
    sizes = ("table", "repeats", "way", "units")
    titles = (*sizes, "computing", "ratio", "busy", "beside", "data sets loaded", "MiB")
    return ["## Whole tables", "", TABLES_TEXT, *table(titles, rows)]


def calls(results: Results) -> list[str]:
    """Return what users call, an example or an array at a time."""
    rows = [
        [line["kernel"], line["layout"], line["contender"], spread(line, "ratio")]
        for line in results["calls"]
    ]
    return ["## Calls", "", CALLS_TEXT, *table(("learner", "how", "contender", "times"), rows)]


def startup(results: Results) -> list[str]:
    """Return the starts."""
    rows = [
        [
            line["what"] + (f", {line['kernel']}" if line["kernel"] else ""),
            f"{spread(line, 'seconds')} s",
            f"{figure(float(line['processor_median']))} s",
            line["turns"],
        ]
        for line in results["startup"]
    ]
    return ["## Starting", "", *table(("what", "elapsed", "processor", "turns"), rows)]


def tried(results: Results) -> list[str]:  # noqa: ARG001
    """Return what was tried."""
    return [TEXT, *table(("what", "times faster", "kept"), TRIED)]


PAGES: dict[str, tuple[str, tuple[Callable[[Results], list[str]], ...]]] = {
    "performance.md": (HEAD, (targets, machine)),
    "performance/libraries.md": ("# Other libraries\n", (rivals, calls)),
    "performance/kernels.md": ("# Every learner\n", (kernels, limits)),
    "performance/growth.md": ("# How costs grow\n", (growth,)),
    "performance/tables.md": ("# Tables and grids\n", (grids, tables, startup)),
    "performance/streams.md": ("# The tables' own streams\n", (table_streams,)),
    "performance/tried.md": ("# What we tried\n", (tried,)),
}
"""The pages by file: how each begins, and its parts."""


def pages(folder: Path) -> dict[str, str]:
    """Return the pages of the runs that are stored in a folder, by file."""
    results = {name: read(folder / f"{name}.csv") for name in RESULTS}
    found = {}
    for file, (head, parts) in PAGES.items():
        lines = [line for part in parts for line in part(results)]
        found[file] = "\n".join([head, *lines]).rstrip() + "\n"
    return found
