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
    """The average ranks of a table's algorithms under a reading."""

    table: str
    reading: str
    metric: str
    n_datasets: str
    friedman: str
    p: str
    critical_difference: str
    picture: Path | None
    rows: list[dict[str, str]]


@dataclass(frozen=True)
class Evidence:
    """All of it, as far as it is there."""

    verified: list[dict[str, str]]
    outcomes: dict[str, int]
    ranks: list[Ranks]
    hindsight: list[dict[str, str]]
    searches: dict[str, list[dict[str, str]]]
    bench: list[tuple[str, Markup]]


def evidence(sources: Sources) -> Evidence:
    """Return what the numbers rest on."""
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
    found = []
    each = rows(folder / f"{table}.csv")
    for reading, metric in dict.fromkeys((row["reading"], row["metric"]) for row in each):
        mine = [row for row in each if (row["reading"], row["metric"]) == (reading, metric)]
        mine.sort(key=lambda row: float(row["average_rank"]))
        name = by_reading(table, reading)
        picture = folder / f"{name}.svg"
        one = mine[0]
        found.append(
            Ranks(
                table,
                reading,
                metric,
                one["n_datasets"],
                one["friedman"],
                one["friedman_p"],
                one["critical_difference"],
                picture if picture.exists() else None,
                mine,
            )
        )
    return found
