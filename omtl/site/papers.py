"""The papers: the page of each, and its line on the scoreboard."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from omtl.site.claims import Claim, tallied
from omtl.site.figures import FigurePage
from omtl.site.gather import Sources
from omtl.site.openness import Badge, badges
from omtl.site.tables import TablePage
from omtl.site.text import inline, markdown, sections
from omtl.tables.committed import READINGS


@dataclass(frozen=True)
class Paper:
    """A paper: its authors, what was reproduced, and how."""

    id: str
    name: str
    title: str
    citation: Markup
    lead: Markup
    parts: list[tuple[str, Markup]]
    tables: list[TablePage]
    figures: list[FigurePage]
    claims: list[Claim]
    badges: list[Badge]

    def tally(self, reading: str) -> dict[str, int]:
        """Return the number of its claims with each outcome."""
        return tallied(self.claims, reading)


def papers(
    sources: Sources, tables: list[TablePage], figures: list[FigurePage], ledger: list[Claim]
) -> list[Paper]:
    """Return all papers."""
    found = []
    for paper, readme in sources.readmes.items():
        parts = sections(readme)
        head, _, rest = parts.pop("").strip().partition("\n")
        name, _, title = head.removeprefix("# ").partition(": ")
        citation, _, lead = rest.strip().partition("\n\n")
        found.append(
            Paper(
                paper,
                name,
                title,
                inline(citation),
                markdown(lead),
                [(heading, markdown(text)) for heading, text in parts.items()],
                [table for table in tables if table.paper == paper],
                [figure for figure in figures if figure.paper == paper],
                [claim for claim in ledger if claim.row["paper"] == paper],
                badges(
                    paper,
                    [one for one in sources.tables.values() if one.paper == paper],
                    sources.questions[paper],
                ),
            )
        )
    return found


def totals(tables: list[TablePage]) -> dict[str, dict[str, int]]:
    """Return the number of published cells with each verdict, by reading."""
    found: dict[str, Any] = {}
    for reading in READINGS:
        tally: Counter[str] = Counter()
        for table in tables:
            tally.update(table.counts.get(reading, {}))
        found[reading] = dict(tally)
    return found
