"""The summary of a whole run on one screen: cells by verdict and claims by outcome, per paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.naming import READINGS
from omtl.tables.verdict import VERDICTS

HEADS = ("paper", "reading", "cells", "claims", "figures")


@dataclass
class Account:
    """The results of a run for a paper under a reading.

    Parameters
    ----------
    verdicts, claims : Counter
        Cells by verdict, and claims by outcome.
    drawn, figures : int
        Number of figures drawn, and in total.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)
    drawn: int = 0
    figures: int = 0


@dataclass
class Summary:
    """The accounts of a run by paper and reading, its failures, and what it skipped."""

    accounts: dict[tuple[str, str], Account] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def of(self, paper: str, reading: str) -> Account:
        """Return the account of a paper under a reading."""
        return self.accounts.setdefault((paper, reading), Account())

    def __str__(self) -> str:
        """Return the summary as text: a line for each paper and reading, then what is not in it."""
        rows = [HEADS]
        for (paper, reading), one in sorted(self.accounts.items(), key=_in_order):
            drawn = f"{one.drawn} of {one.figures} drawn" if one.figures else ""
            cells = tally_text(one.verdicts, VERDICTS)
            rows.append(
                (paper, reading, cells, tally_text(one.claims, (HOLDS, FAILS, UNDECIDED)), drawn)
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        lines += [f"left out: {what}" for what in self.left_out]
        return "\n".join([*lines, *(f"failed: {failure}" for failure in self.failures)])


def tally_text(tally: Mapping[str, int], names: Iterable[str]) -> str:
    """Return how many there are, and how many of each kind, as text; empty where there are none."""
    parts = [f"{name} {tally[name]}" for name in names if tally[name]]
    return f"{sum(tally.values())}: {', '.join(parts)}" if parts else ""


def _in_order(item: tuple[tuple[str, str], Account]) -> tuple[str, int, str]:
    (paper, reading), _ = item
    known = list(READINGS)
    return paper, known.index(reading) if reading in known else len(known), reading
