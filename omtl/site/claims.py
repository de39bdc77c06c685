"""The claims ledger: every comparative statement of the papers, and what became of it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from omtl.evidence.ledger import COMPARISON, FOLDERS
from omtl.site.gather import Sources
from omtl.tables.committed import READINGS

OUTCOMES = ("holds", "undecided", "fails", "not run")
"""Outcomes, in the order in which they are shown."""

MARKS = {"holds": "✓", "undecided": "?", "fails": "✗", "not run": "·"}
MARKS |= {"true": "✓", "false": "✗", "no numbers": "·"}

EFFECT = re.compile(r"(\S+) \((.*)\)")
"""The least effect of a claim with its comparison."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of a claim: its outcome, interval, and corrected p-value if there is one."""

    relation: str
    outcome: str
    interval: str
    p_holm: str


@dataclass(frozen=True)
class Outcome:
    """What became of a claim under a reading."""

    reading: str
    outcome: str
    mark: str
    corrected: str
    counts: str
    effect: str
    of: str
    comparisons: list[Comparison]


@dataclass(frozen=True)
class Claim:
    """A claim: what the paper says, what must be so, and what became of it by reading."""

    id: str
    paper: str
    place: str
    sentence: str
    predicate: str
    decided_by: str
    page: str
    in_print: str
    untrue_in_print: str
    outcomes: dict[str, Outcome]


def claims(sources: Sources) -> list[Claim]:
    """Return the ledger."""
    return [_claim(row, sources) for row in sources.claims]


def _claim(row: dict[str, str], sources: Sources) -> Claim:
    name = row["decided_by"]
    kind = "figure" if name in sources.figures else "table"
    assert kind in FOLDERS
    found = sources.outcomes(name, kind)
    tests = sources.tests(name)
    outcomes = {}
    for reading in READINGS:
        texts = [
            one["comparisons"]
            for one in found
            if (one["claim"], one["reading"]) == (row["claim"], reading)
        ]
        corrected = {
            test["comparison"]: test["p_holm"]
            for test in tests
            if (test["claim"], test["reading"]) == (row["claim"], reading)
        }
        parts = [part for text in texts for part in COMPARISON.findall(text)]
        effect = EFFECT.fullmatch(row[f"{reading}_least_effect"])
        outcome = row[reading] or OUTCOMES[-1]
        outcomes[reading] = Outcome(
            reading,
            outcome,
            MARKS.get(outcome, "·"),
            row[f"{reading}_corrected"] or "not tested",
            row[f"{reading}_comparisons"],
            effect.group(1) if effect else "",
            effect.group(2) if effect else "",
            [
                Comparison(relation, result, interval, corrected.get(relation, ""))
                for relation, result, interval in parts
            ],
        )
    return Claim(
        row["claim"],
        row["paper"],
        row["place"],
        row["sentence"],
        row["predicate"],
        name,
        f"{kind}-{name}.html",
        row["in_print"],
        row["untrue_in_print"],
        outcomes,
    )


def tallied(ledger: list[Claim], reading: str) -> dict[str, int]:
    """Return how many claims came out how."""
    tally = Counter(claim.outcomes[reading].outcome for claim in ledger)
    return {outcome: tally[outcome] for outcome in OUTCOMES if tally[outcome]}
