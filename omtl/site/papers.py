"""The papers: the page of each, and its line on the scoreboard."""

from __future__ import annotations

from collections import Counter
from typing import Any

from omtl.site.claims import Claim, tallied
from omtl.site.gather import Sources
from omtl.site.openness import badges
from omtl.site.tables import TablePage
from omtl.site.text import inline, markdown, sections
from omtl.tables.published_results import SHOWN_READINGS


def papers(
    sources: Sources, tables: list[TablePage], figures: list[dict[str, Any]], ledger: list[Claim]
) -> list[dict[str, Any]]:
    """Return all papers: the authors of each, what was reproduced, and how."""
    found = []
    for paper, readme in sources.readmes.items():
        parts = sections(readme)
        head, _, rest = parts.pop("").strip().partition("\n")
        name, _, title = head.removeprefix("# ").partition(": ")
        citation, _, lead = rest.strip().partition("\n\n")
        claims = [claim for claim in ledger if claim.row["paper"] == paper]
        described = [table for table in sources.tables.values() if table.paper == paper]
        found.append(
            {
                "id": paper,
                "name": name,
                "title": title,
                "citation": inline(citation),
                "lead": markdown(lead),
                "parts": [(heading, markdown(text)) for heading, text in parts.items()],
                "tables": [table for table in tables if table.paper == paper],
                "figures": [figure for figure in figures if figure["paper"] == paper],
                "claims": claims,
                "tally": {reading: tallied(claims, reading) for reading in SHOWN_READINGS},
                "badges": badges(paper, described, sources.questions[paper]),
            }
        )
    return found


def totals(tables: list[TablePage]) -> dict[str, Counter[str]]:
    """Return the number of published cells with each verdict, by reading."""
    found: dict[str, Counter[str]] = {reading: Counter() for reading in SHOWN_READINGS}
    for reading, tally in found.items():
        for table in tables:
            tally.update(table.counts.get(reading, {}))
    return found
