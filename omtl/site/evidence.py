"""The evidence behind the numbers: recomputed cells, ranks, the cost of searches, speed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from omtl.experiment.naming import by_reading
from omtl.site.gather import Sources
from omtl.site.text import markdown
from omtl.tables.committed import rows, text_of


@dataclass(frozen=True)
class Ranks:
    """The average ranks of a table's algorithms under a reading, the best first."""

    rows: list[dict[str, str]]
    picture: Path | None


@dataclass(frozen=True)
class Evidence:
    """All available evidence."""

    verified: list[dict[str, str]]
    outcomes: dict[str, int]
    ranks: list[Ranks]
    hindsight: list[dict[str, str]]
    searches: dict[str, list[dict[str, str]]]
    bench: list[tuple[str, Markup]]


def evidence(sources: Sources) -> Evidence:
    """Return the evidence behind the numbers."""
    results = sources.results
    verified = rows(results / "verify.csv")
    searches = {
        path.stem: rows(path)
        for path in sorted((results / "search").glob("*.csv"))
        if "." not in path.stem
    }
    bench = [
        (path.stem, markdown(text_of(path))) for path in sorted((results / "bench").glob("*.md"))
    ]
    return Evidence(
        verified,
        dict(Counter(row["result"] for row in verified)),
        [ranks for table in sources.tables for ranks in _ranks(table, results / "statistics")],
        rows(results / "hindsight.csv"),
        searches,
        bench,
    )


def _ranks(table: str, folder: Path) -> list[Ranks]:
    by_metric: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows(folder / f"{table}.csv"):
        by_metric.setdefault((row["reading"], row["metric"]), []).append(row)
    found = []
    for (reading, _), mine in by_metric.items():
        picture = folder / f"{by_reading(table, reading)}.svg"
        mine.sort(key=lambda row: float(row["average_rank"]))
        found.append(Ranks(mine, picture if picture.exists() else None))
    return found
