"""The first page of the benchmarks: what met its target, and where and when all of it was run."""

from __future__ import annotations

import statistics

from scripts.bench.shown import figure, grouped, table
from scripts.bench.targets import IN_NUMPY, OF_PARSED, Results, size_of

MISSED_TEXT = """\
`the limit itself` is what a bare loop of the learner's products and steps would measure in place of
the learner ([every learner](performance/kernels.md#every-kernel)). Where it misses the target, no
code that does this work can meet the target on this machine.
"""

BUSY = 0.7
"""Load average above which other work is likely to have troubled a run on one core."""


def targets(results: Results) -> list[str]:
    """Return the targets, and the numbers that miss them."""
    lines = results["targets"]
    rows, missed = [], []
    for name in dict.fromkeys(line["target"] for line in lines):
        mine = [line for line in lines if line["target"] == name]
        kept = [line for line in mine if line["met"] == "yes"]
        at_least = mine[0]["wanted"].startswith("at least")
        worst = (min if at_least else max)(mine, key=lambda line: float(line["median"]))
        middle = statistics.median(float(line["median"]) for line in mine)
        verdict = "met" if len(kept) == len(mine) else "**not met**"
        rows.append(
            [
                name,
                mine[0]["wanted"],
                figure(middle),
                f"{figure(float(worst['median']))} ({worst['subject']})",
                f"{verdict}: {len(kept)} of {len(mine)}",
            ]
        )
        missed += [line for line in mine if line["met"] == "no"]
    titles = ("target", "wanted", "middle", "worst", "verdict")
    found = ["## Targets", "", *table(titles, rows)]
    if missed:
        bare = bare_loops(results)
        cells = [
            [
                line["target"],
                line["subject"],
                line["wanted"],
                f"{figure(float(line['median']))} "
                f"({figure(float(line['low']))} to {figure(float(line['high']))})",
                bare.get((line["target"], line["subject"]), "–"),
            ]
            for line in missed
        ]
        titles = ("target", "of", "wanted", "measured", "the limit itself")
        found += ["### Not met", "", MISSED_TEXT, *table(titles, cells)]
    return found


def bare_loops(results: Results) -> dict[tuple[str, str], str]:
    """Return how much faster than the targets' contenders a bare loop of the same work is."""
    found = {}
    for here in grouped(results["kernels"]).values():
        for target, name in ((IN_NUMPY, "NumPy"), (OF_PARSED, "Vowpal Wabbit, Python")):
            if "limit" in here and name in here:
                slow, least = (float(here[way]["ratio_median"]) for way in (name, "limit"))
                subject = f"{here['ours']['kernel']}, {size_of(here['ours'])}"
                found[target, subject] = figure(slow / least)
    return found


def machine(results: Results) -> list[str]:
    """Return where and how the runs were made."""
    rows = [
        [
            run["part"],
            run["effort"],
            run["started"],
            f"{float(run['seconds']):.0f}",
            f"{run['load_before']} to {run['load_after']}",
            run["commit"],
        ]
        for run in results["runs"]
    ]
    titles = ("part", "effort", "started (UTC)", "seconds", "load average", "commit")
    hosts = dict.fromkeys(
        f"{run['processor']}, {run['cores']} cores, Python {run['python']}, {run['packages']}."
        for run in results["runs"]
    )
    notes = []
    busy = [run["part"] for run in results["runs"] if float(run["load_before"]) > BUSY]
    if busy:
        notes = [
            f"The machine was busy with other work when these parts began: {', '.join(busy)}. "
            "Their times are too long, and their ratios vary more.",
            "",
        ]
    if any(run["effort"] != "full" for run in results["runs"]):
        notes += ["Parts of quick effort only show that all works; their times mean nothing.", ""]
    return [
        "## The machine",
        "",
        *(line for host in hosts for line in (host, "")),
        *notes,
        *table(titles, rows),
    ]
