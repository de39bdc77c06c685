"""The findings in the papers' printed tables."""

from __future__ import annotations

from typing import Any

from omtl.site.gather import Sources
from omtl.tables.proofread import Finding, by_row
from omtl.util.result_files import rows_in


def proofread(sources: Sources) -> dict[str, Any]:
    """Return the findings, each a sentence about cells of a row, and the extent of each check."""
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for row in rows_in(sources.results / "proofread.csv"):
        kinds.setdefault((row["table"], row["check"], row["of"]), []).append(row)
    return {
        "findings": [(*kind, says) for kind, found in kinds.items() for says in by_row(found)],
        "checks": rows_in(sources.results / "proofread.checks.csv"),
    }
