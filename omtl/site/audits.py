"""What audits the numbers: claims, theorems, readings, proofreading and further evidence.

Each function returns the rows of files in ``results/`` with what a page shows besides.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from omtl.evidence.claims import claims_of
from omtl.experiment.descriptions import CLOSEST, READINGS, SUPPORT, Question, by_reading
from omtl.experiment.readings import Reading
from omtl.site.sources import Sources, in_yaml
from omtl.site.text import markdown_html, plain
from omtl.tables.proofread import Finding, by_row
from omtl.tables.published_results import SHOWN_READINGS
from omtl.util.errors import UserError
from omtl.util.result_files import rows_in, text_of

OUTCOMES = ("holds", "undecided", "fails", "not run")
"""Outcomes of claims, in display order."""

OUTCOME_MARKS = {"holds": "✓", "undecided": "?", "fails": "✗", "not run": "·"}
OUTCOME_MARKS |= {"true": "✓", "false": "✗", "no numbers": "·"}
OUTCOME_MARKS |= {"respected": "✓", "exceeded": "✗", "empty": "·"}

Row = dict[str, Any]


def claims_content(sources: Sources) -> list[Row]:
    """Return the ledger of claims.

    Each row has the paper's own words (`quote`, and what we take them as), the kind of page that
    decides it, and by reading the `tests` of its comparisons; an empty outcome is "not run".
    """
    quotes = {
        (paper, one.id): plain(one.quote) for paper in sources.papers for one in claims_of(paper)
    }
    ledger: list[Row] = [*rows_in(sources.results / "claims.csv")]
    tests: dict[tuple[str, str, str], list[Row]] = {}
    for name in dict.fromkeys(row["decided_by"] for row in ledger):
        for test in rows_in(sources.results / "statistics" / f"{name}.claims.csv"):
            tests.setdefault((name, test["claim"], test["reading"]), []).append(test)
    for row in ledger:
        name, quote = row["decided_by"], quotes.get((row["paper"], row["claim"]), "")
        row["quote"], row["taken_as"] = quote, row["sentence"].removeprefix(quote).strip()
        row["kind"] = "figure" if name in sources.figures else "table"
        row["tests"] = {r: tests.get((name, row["claim"], r), []) for r in SHOWN_READINGS}
        row |= {reading: row[reading] or OUTCOMES[-1] for reading in SHOWN_READINGS}
    return ledger


def tallied(ledger: list[Row], reading: str) -> dict[str, int]:
    """Return the number of claims with each outcome."""
    tally = Counter(claim[reading] for claim in ledger)
    return {outcome: tally[outcome] for outcome in OUTCOMES if tally[outcome]}


def bounds(sources: Sources) -> list[Row]:
    """Return the bounds of the papers' theorems, with the measured values and what these say."""

    def says(row: Row) -> str:
        if int(row["points_above"]):
            return "exceeded"
        trivial = row["trivial"]
        return "empty" if trivial and float(row["bound"]) >= float(trivial) else "respected"

    return [
        {**row, "paper": sources.figures[row["figure"]].paper, "says": says(row)}
        for row in rows_in(sources.results / "theory.csv")
    ]


def proofread(sources: Sources) -> Row:
    """Return the findings, each a sentence about cells of a row, and the extent of each check."""
    kinds: dict[tuple[str, str, str], list[Finding]] = {}
    for row in rows_in(sources.results / "proofread.csv"):
        kinds.setdefault((row["table"], row["check"], row["of"]), []).append(row)
    return {
        "findings": [
            dict(zip(("table", "check", "of", "says"), (*kind, says), strict=True))
            for kind, found in kinds.items()
            for says in by_row(found)
        ],
        "checks": rows_in(sources.results / "proofread.checks.csv"),
    }


def evidence(sources: Sources) -> Row:
    """Return all other evidence: recomputed cells, ranks, margins, cost of searches, speed."""
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
        "bench": [(path.stem, markdown_html(text_of(path))) for path in reports],
    }


def _ranks(table: str, results: Path) -> Iterator[tuple[list[Row], Path | None]]:
    """Yield a table's average ranks by reading and metric, the best first, with their diagram."""
    folder = results / "statistics"
    rows = rows_in(folder / f"{table}.csv")
    for reading, metric in dict.fromkeys((row["reading"], row["metric"]) for row in rows):
        mine = [row for row in rows if (row["reading"], row["metric"]) == (reading, metric)]
        picture = folder / f"{by_reading(table, reading)}.svg"
        in_order = sorted(mine, key=lambda row: float(row["average_rank"]))
        yield [*in_order], picture if picture.exists() else None


def readings(sources: Sources) -> list[Row]:
    """Return the open questions of all papers, and the searches of their tables.

    `supports` has the number of non-literal answers in the closest reading, by their support in the
    paper's text.
    """
    found = []
    for paper, asked in sources.questions.items():
        answers = {reading: _answers(paper, reading) for reading in READINGS}
        questions = [_question(name, one, answers) for name, one in asked.items()]
        options = [option for question in questions for option in question["options"]]
        tally = Counter(one["support"] for one in options if CLOSEST in one["taken_by"])
        searches = [
            {"table": name, **_search(sources.results / "readings", name)}
            for name, table in sources.tables.items()
            if table.paper == paper and (sources.results / "readings" / f"{name}.csv").exists()
        ]
        supports = {support: tally[support] for support in SUPPORT if tally[support]}
        about = {"questions": questions, "searches": searches, "supports": supports}
        found += [{"paper": paper, **about}] if questions else []
    return found


def _answers(paper: str, reading: str) -> Mapping[str, Any]:
    """Return the answers of a paper's reading; none if it does not exist."""
    try:
        return Reading.of(paper, reading).answers
    except UserError:
        return {}


def _question(name: str, asked: Question, answers: dict[str, Mapping[str, Any]]) -> Row:
    """Return a question with its options.

    An option's `sets` are the config values that it sets, `support` is what the paper's text makes
    of it, and `taken_by` are the standard readings that give it.
    """
    given = {reading: str(one.get(name, asked.literal)) for reading, one in answers.items()}
    options = [
        {
            "name": str(option),
            "sets": in_yaml(patch),
            "support": asked.support.get(option),
            "taken_by": [reading for reading, one in given.items() if one == str(option)],
        }
        for option, patch in asked.options.items()
    ]
    return {"name": name, "asked": asked, "options": options}


def _search(folder: Path, table: str) -> Row:
    """Return the trials of a search, each a reading of a column, and what its report says."""
    trials: list[Row] = [
        row | {"answers": json.loads(row["answers"])} for row in rows_in(folder / f"{table}.csv")
    ]
    least: dict[str, float] = {}
    for row in trials:
        least[row["column"]] = min(float(row["distance"]), least.get(row["column"], math.inf))
    for row in trials:
        row["is_best"] = float(row["distance"]) == least[row["column"]]
    text = text_of(folder / f"{table}.md")
    text = text.partition("\n")[2] if text.startswith("# ") else text
    return {"trials": trials, "importance": markdown_html(text)}
