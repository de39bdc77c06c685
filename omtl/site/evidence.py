"""The evidence behind the numbers: recomputed cells, ranks, the cost of searches, speed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omtl.experiment.naming import by_reading
from omtl.site.gather import Sources
from omtl.site.text import markdown
from omtl.util.result_files import rows_in, text_of


def evidence(sources: Sources) -> dict[str, Any]:
    """Return all available evidence."""
    results = sources.results
    verified = rows_in(results / "verify.csv")
    searches = sorted((results / "search").glob("*.csv"))
    reports = sorted((results / "bench").glob("*.md"))
    return {
        "verified": verified,
        "outcomes": Counter(row["result"] for row in verified),
        "ranks": [ranks for table in sources.tables for ranks in _ranks(table, results)],
        "hindsight": rows_in(results / "hindsight.csv"),
        "searches": {path.stem: rows_in(path) for path in searches if "." not in path.stem},
        "bench": [(path.stem, markdown(text_of(path))) for path in reports],
    }


def _ranks(table: str, results: Path) -> Iterator[tuple[list[dict[str, str]], Path | None]]:
    """Yield a table's average ranks by reading and metric, the best first, with their diagram."""
    folder = results / "statistics"
    by_metric: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows_in(folder / f"{table}.csv"):
        by_metric.setdefault((row["reading"], row["metric"]), []).append(row)
    for (reading, _), mine in by_metric.items():
        picture = folder / f"{by_reading(table, reading)}.svg"
        mine.sort(key=lambda row: float(row["average_rank"]))
        yield mine, picture if picture.exists() else None
