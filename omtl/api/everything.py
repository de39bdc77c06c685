"""Reproducing everything: all tables and figures under the standard readings, the ledgers."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from omtl.api import figures, tables
from omtl.evidence import ledger, statistics
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.evidence.hindsight_gap import compares, write_hindsight_gap
from omtl.experiment.descriptions import describe, descriptions
from omtl.experiment.readings import BLIND, OF_TABLES, READINGS
from omtl.experiment.selection import NO_HINDSIGHT
from omtl.tables.proofread import write_findings
from omtl.tables.request import Request, rule_without_hindsight
from omtl.tables.verdict import OURS, VERDICTS
from omtl.util.errors import UserError, WriteError
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
    for reading in OF_TABLES:
        under = replace(request, reading=reading)
        for name in descriptions("table"):
            every.add_table(name, under)
        for name in descriptions("figure") if reading in READINGS else ():
            every.add_figure(name, under)
    if request.selection is None and request.seed == 0:
        every.made("hindsight", write_hindsight_gap, request)
    every.made("proofread", write_findings)
    every.made("claims", ledger.write_ledgers)
    return every


def reproduce_table(name: str, request: Request) -> tables.Table:
    """Reproduce a table, print it beside the published one, and write its files."""
    made = tables.played_table(name, request)
    made.show(full=True)
    made.write()
    return made


def reproduce_figure(name: str, request: Request) -> figures.Figure:
    """Reproduce a figure, and write its files."""
    made = figures.played_figure(name, request)
    made.write()
    return made


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

    def made(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns; None if it fails, after telling why.

        Raises
        ------
        WriteError
            If a file cannot be written, as the others could not be either.
        """
        try:
            end = function(*arguments)
        except WriteError:
            raise
        except Exception as fault:  # one failure must not affect what else is made
            kind = "" if isinstance(fault, UserError) else f"{type(fault).__name__}: "
            print(f"omtl: {what}: {kind}{fault}", file=sys.stderr)
            self.failures.append(f"{what}: {kind}{fault}")
            return None
        if getattr(end, "is_broken", False):
            self.failures.append(f"{what}: units failed; its notes give the reasons")
        return end

    def add_table(self, name: str, under: Request) -> None:
        """Make a table and its statistics; by the rule without hindsight, too, if it differs."""
        description, reading = describe("table", name), under.reading
        searched = results_to_read("readings") / "readings" / f"{name}.{BLIND}.csv"
        if reading == BLIND and not searched.is_file():
            return
        counts, what = self.counts[description.paper, reading], f"{name}, {reading}"
        slow = [s for s in description.too_slow if reading in s.readings and not under.slow]
        self.left_out += [f"{', '.join(filter(None, (what, s.where)))}: {s.why}" for s in slow]
        if any(not s.where for s in slow):
            return
        done = self.made(what, reproduce_table, name, under)
        if done is None:
            return
        counts.update(done.cells["verdict"][done.cells["kind"] != OURS])
        counts.update(done.claims["outcome"])
        if done.cells["n_repeats"].any():
            self.made(f"statistics of {what}", statistics.reproduce_statistics, name, under)
        own = description.selection
        if under.selection is None and compares(description) and rule_without_hindsight(own) != own:
            fair = replace(under, selection=NO_HINDSIGHT)
            self.made(f"{what}, {NO_HINDSIGHT}", reproduce_table, name, fair)

    def add_figure(self, name: str, under: Request) -> None:
        """Make a figure, and the statistics of its claims if it has any."""
        what = f"{name}, {under.reading}"
        counts = self.counts[describe("figure", name).paper, under.reading]
        counts[FIGURES] += 1
        done = self.made(what, reproduce_figure, name, under)
        if done is not None:
            counts.update([DRAWN, *done.claims["outcome"]])
            if len(done.claims):
                self.made(f"statistics of {what}", statistics.reproduce_statistics, name, under)
