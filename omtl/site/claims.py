"""The claims ledger: every comparative statement of the papers, and its outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from omtl.evidence.claims import claims_of
from omtl.evidence.ledger import least_effect, tests_of
from omtl.site.gather import Sources
from omtl.site.text import plain
from omtl.tables.published_results import SHOWN_READINGS
from omtl.util.result_files import rows_in

OUTCOMES = ("holds", "undecided", "fails", "not run")
"""Outcomes, in display order."""

MARKS = {"holds": "✓", "undecided": "?", "fails": "✗", "not run": "·"}
MARKS |= {"true": "✓", "false": "✗", "no numbers": "·"}


@dataclass(frozen=True)
class Outcome:
    """What became of a claim under a reading, with the rows of its comparisons."""

    outcome: str
    corrected: str
    counts: str
    least: Mapping[str, str] | None
    comparisons: list[dict[str, str]]


@dataclass(frozen=True)
class Claim:
    """A claim: its row of the ledger, the paper's own words in it, its outcomes by reading."""

    row: dict[str, str]
    quote: str
    page: str
    outcomes: dict[str, Outcome]

    @property
    def taken_as(self) -> str:
        """The text after the quotation, or the whole sentence if it is ours."""
        return self.row["sentence"].removeprefix(self.quote).strip()


def claims(sources: Sources) -> list[Claim]:
    """Return the ledger."""
    quotes = {
        (paper, one.id): plain(one.quote) for paper in sources.papers for one in claims_of(paper)
    }
    found = []
    for row in rows_in(sources.results / "claims.csv"):
        name = row["decided_by"]
        outcomes = {}
        for reading in SHOWN_READINGS:
            tests = tests_of(sources.results, name, row["claim"], reading)
            outcomes[reading] = Outcome(
                row[reading] or OUTCOMES[-1],
                row[f"{reading}_corrected"] or "not tested",
                row[f"{reading}_comparisons"],
                least_effect(tests) if row[f"{reading}_least_effect"] else None,
                tests,
            )
        quote = quotes.get((row["paper"], row["claim"]), "")
        kind = "figure" if name in sources.figures else "table"
        found.append(Claim(row, quote, f"{kind}-{name}.html", outcomes))
    return found


def tallied(ledger: list[Claim], reading: str) -> dict[str, int]:
    """Return the number of claims with each outcome."""
    tally = Counter(claim.outcomes[reading].outcome for claim in ledger)
    return {outcome: tally[outcome] for outcome in OUTCOMES if tally[outcome]}
