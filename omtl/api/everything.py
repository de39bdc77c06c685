"""Reproducing everything: all tables and figures under the standard readings, the ledgers.

Tables are played, scored and shown one after another. What else is made of the stored units under
a reading, each from the store alone, is made side by side when all are there.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from omtl.api import figures, tables
from omtl.compute.engine import Failure
from omtl.compute.independent_jobs import Job, attempt, run_jobs
from omtl.evidence import ledger, statistics
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.evidence.hindsight_gap import compares, write_hindsight_gap
from omtl.experiment.descriptions import BLIND, OF_TABLES, READINGS
from omtl.experiment.selection import NO_HINDSIGHT
from omtl.figures.numbers import play_figure
from omtl.tables import plan
from omtl.tables.proofread import write_findings
from omtl.tables.request import Request, rule_without_hindsight
from omtl.tables.verdict import OURS, VERDICTS
from omtl.util.paths import results_to_read
from omtl.util.views import View

HEADS = ("paper", "reading", "cells", "claims", "figures")

FIGURES, DRAWN = "figures", "drawn"
"""What is counted of a paper besides verdicts of cells and outcomes of claims."""


def tally_text(tally: Mapping[str, int], words: Iterable[str]) -> str:
    """Return how many there are, and how many of each kind, as text; empty where there are none."""
    found = {word: tally[word] for word in words if tally[word]}
    parts = ", ".join(f"{word} {count}" for word, count in found.items())
    return f"{sum(found.values())}: {parts}" if found else ""


def reproduce_everything(request: Request) -> Summary:
    """Reproduce all tables and figures under each standard reading.

    Tables for which the blind reading was searched are made under that one too.

    Tables that are chosen in hindsight are also made by the rule without hindsight, and
    compared with it; the counts are of those by the papers' rules. What is `too_slow` by
    its table's description is left out unless `request.slow`.

    What fails is told on standard error and in the summary; the rest goes on.
    """
    every = Summary(request)
    for reading in OF_TABLES:  # one after another: their rows share files
        under = replace(request, reading=reading)
        later = every.tables(under)
        every.figures(under, later) if reading in READINGS else every.apart(later)
    if request.selection is None and request.seed == 0:
        every.here("hindsight", write_hindsight_gap, request)
    every.here("proofread", write_findings)
    every.here("claims", ledger.write_ledgers)
    return every


def reproduce_table(name: str, request: Request) -> tables.Table:
    """Reproduce a table, print it beside the published one, and write its files."""
    made = tables.played_table(name, request)
    made.show(full=True)
    made.write()
    return made


def compute_figure(name: str, request: Request) -> str:
    """Compute the units that a figure lacks; return its name."""
    play_figure(figures.planned_figure(name, request), request)
    return name


class DrawnFigure(NamedTuple):
    """What is counted of a figure that another process has drawn."""

    outcomes: list[str]
    is_broken: bool


def reproduce_figure(name: str, request: Request) -> DrawnFigure:
    """Reproduce a figure, and write its files."""
    made = figures.measured_figure(figures.planned_figure(name, request), request)
    made.write()
    return DrawnFigure([*made.claims["outcome"]], made.is_broken)


@dataclass
class Summary:
    """What is asked for, and how much of it was made.

    Parameters
    ----------
    request : Request
    counts : dict of (str, str) to Counter
        How often each word occurred, by paper and reading.
    failures, left_out : list of str
        What failed, and what was skipped, each with the reason.
    """

    request: Request
    counts: dict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    failures: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the summary as text: a line for each paper and reading, then what is not in it."""
        rows = []
        for (paper, reading), counts in sorted(self.counts.items(), key=lambda item: item[0][0]):
            made = f"{counts[DRAWN]} of {counts[FIGURES]} drawn" if counts[FIGURES] else ""
            cells = tally_text(counts, VERDICTS)
            claims = tally_text(counts, (HOLDS, FAILS, UNDECIDED))
            rows.append((paper, reading, cells, claims, made))
        lines = [f"left out: {what}" for what in self.left_out]
        lines += [f"failed: {failure}" for failure in self.failures]
        return "\n".join([View(HEADS, rows).text(), *lines])

    def noted(self, what: str, end: Any) -> Any:
        """Return what a job returned; None if it failed, after telling why."""
        if isinstance(end, Failure):
            print(f"omtl: {what}: {end.reason}", file=sys.stderr)
            self.failures.append(f"{what}: {end.reason}")
            return None
        if getattr(end, "is_broken", False):
            self.failures.append(f"{what}: units failed; its notes give the reasons")
        return end

    def here(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns; None if it fails."""
        return self.noted(what, attempt(partial(function, *arguments)))

    def apart(self, jobs: Mapping[str, Job]) -> dict[str, Any]:
        """Return what jobs side by side return, by what they are called."""
        ends = run_jobs([*jobs.values()], self.request.parallel)
        return {what: self.noted(what, end) for what, end in zip(jobs, ends, strict=True)}

    def statistics_of(self, name: str, under: Request) -> dict[str, Job]:
        """Return the job that makes the statistics of a table or figure."""
        make = partial(statistics.reproduce_statistics, name, under)
        return {f"statistics of {name}, {under.reading}": make}

    def tables(self, under: Request) -> dict[str, Job]:
        """Make all tables; return the jobs that need their units alone."""
        reading = under.reading
        later: dict[str, Job] = {}
        for name in plan.descriptions("table"):
            description = plan.describe("table", name)
            searched = results_to_read("readings") / "readings" / f"{name}.{BLIND}.csv"
            if reading == BLIND and not searched.is_file():
                continue
            counts = self.counts[description.paper, reading]
            what = f"{name}, {reading}"
            slow = [s for s in description.too_slow if reading in s.readings and not under.slow]
            self.left_out += [f"{', '.join(filter(None, (what, s.where)))}: {s.why}" for s in slow]
            if any(not s.where for s in slow):
                continue
            done = self.here(what, reproduce_table, name, under)
            if done is None:
                continue
            counts.update(done.cells["verdict"][done.cells["kind"] != OURS])
            counts.update(done.claims["outcome"])
            if done.cells["n_repeats"].any():
                later |= self.statistics_of(name, under)
            own = description.selection
            if (
                under.selection is None
                and compares(description)
                and rule_without_hindsight(own) != own
            ):
                fair = replace(under, selection=NO_HINDSIGHT)
                self.here(f"{what}, {NO_HINDSIGHT}", reproduce_table, name, fair)
        return later

    def figures(self, under: Request, later: Mapping[str, Job]) -> None:
        """Make all figures and what else is left, then the statistics of figures with claims."""
        jobs: dict[str, Job] = {}
        names: dict[str, str] = {}
        for name in plan.descriptions("figure"):
            self._counts(name, under)[FIGURES] += 1
            what = f"{name}, {under.reading}"
            if self.here(what, compute_figure, name, under):
                jobs[what], names[what] = partial(reproduce_figure, name, under), name
        made = self.apart({**jobs, **later})
        of_claims: dict[str, Job] = {}
        for what, name in names.items():
            if (drawn := made[what]) is not None:
                self._counts(name, under).update([DRAWN, *drawn.outcomes])
                of_claims |= self.statistics_of(name, under) if drawn.outcomes else {}
        self.apart(of_claims)

    def _counts(self, figure: str, under: Request) -> Counter[str]:
        return self.counts[plan.describe("figure", figure).paper, under.reading]
