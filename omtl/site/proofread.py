"""The findings in the papers' printed tables."""

from __future__ import annotations

from dataclasses import dataclass

from omtl.site.gather import Sources, rows
from omtl.tables.proofread import Finding, by_row


@dataclass(frozen=True)
class Found:
    """A finding: a sentence about cells of a row."""

    table: str
    check: str
    of: str
    says: str


@dataclass(frozen=True)
class Proofread:
    """The findings, and the extent of each check."""

    findings: list[Found]
    checks: list[dict[str, str]]


def proofread(sources: Sources) -> Proofread:
    """Return the findings."""
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for row in rows(sources.results / "proofread.csv"):
        kinds.setdefault((row["table"], row["check"], row["of"]), []).append(row)
    return Proofread(
        [Found(*kind, text) for kind, findings in kinds.items() for text in by_row(findings)],
        rows(sources.results / "proofread.checks.csv"),
    )
