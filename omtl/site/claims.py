"""The claims ledger: every comparative statement of the papers, and its outcome."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from omtl.evidence.ledger import least_effect
from omtl.site.gather import Sources
from omtl.tables.committed import READINGS

OUTCOMES = ("holds", "undecided", "fails", "not run")
"""Outcomes, in the order in which they are shown."""

MARKS = {"holds": "✓", "undecided": "?", "fails": "✗", "not run": "·"}
MARKS |= {"true": "✓", "false": "✗", "no numbers": "·"}


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
    """A claim: its words, which of them are the paper's, its predicate, its outcomes by reading."""

    id: str
    paper: str
    place: str
    sentence: str
    quote: str
    predicate: str
    decided_by: str
    page: str
    in_print: str
    untrue_in_print: str
    outcomes: dict[str, Outcome]

    @property
    def taken_as(self) -> str:
        """What follows the paper's own words, or the whole sentence where it is ours."""
        return self.sentence.removeprefix(self.quote).strip()


def claims(sources: Sources) -> list[Claim]:
    """Return the ledger."""
    return [_claim(row, sources) for row in sources.claims]


def _claim(row: dict[str, str], sources: Sources) -> Claim:
    name = row["decided_by"]
    kind = "figure" if name in sources.figures else "table"
    outcomes = {}
    for reading in READINGS:
        tests = [
            test
            for test in sources.tests(name)
            if (test["claim"], test["reading"]) == (row["claim"], reading)
        ]
        least = least_effect(tests) if row[f"{reading}_least_effect"] else None
        outcome = row[reading] or OUTCOMES[-1]
        outcomes[reading] = Outcome(
            reading,
            outcome,
            MARKS.get(outcome, "·"),
            row[f"{reading}_corrected"] or "not tested",
            row[f"{reading}_comparisons"],
            least["effect"] if least else "",
            least["comparison"] if least else "",
            [
                Comparison(one["comparison"], one["outcome"], _interval(one), one["p_holm"])
                for one in tests
            ],
        )
    return Claim(
        row["claim"],
        row["paper"],
        row["place"],
        row["sentence"],
        sources.quotes.get((row["paper"], row["claim"]), ""),
        row["predicate"],
        name,
        f"{kind}-{name}.html",
        row["in_print"],
        row["untrue_in_print"],
        outcomes,
    )


def _interval(test: dict[str, str]) -> str:
    return f"[{test['low']}, {test['high']}]" if int(test["n_repeats"]) else "(not run)"


def tallied(ledger: list[Claim], reading: str) -> dict[str, int]:
    """Return how many claims came out how."""
    tally = Counter(claim.outcomes[reading].outcome for claim in ledger)
    return {outcome: tally[outcome] for outcome in OUTCOMES if tally[outcome]}
