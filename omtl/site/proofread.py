"""The findings in the papers' printed tables."""

from __future__ import annotations

from typing import Any

from omtl.site.gather import Sources
from omtl.tables.committed import rows
from omtl.tables.proofread import Finding, by_row


def proofread(sources: Sources) -> dict[str, Any]:
    """Return the findings, each a sentence about cells of a row, and the extent of each check."""
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for row in rows(sources.results / "proofread.csv"):
        kinds.setdefault((row["table"], row["check"], row["of"]), []).append(row)
    return {
        "findings": [(*kind, says) for kind, found in kinds.items() for says in by_row(found)],
        "checks": rows(sources.results / "proofread.checks.csv"),
    }
