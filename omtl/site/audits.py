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
from omtl.evidence.ledger import least_effect
from omtl.experiment.descriptions import Question
from omtl.experiment.naming import CLOSEST, READINGS, SUPPORT, by_reading
from omtl.experiment.readings import Reading
from omtl.site.sources import Sources, in_yaml
from omtl.site.text import markdown, plain
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


def claims(sources: Sources) -> list[Row]:
    """Return the ledger of claims.

    Each row has the paper's own words (`quote`, and what we take them as), the page that decides
    it, and its `outcomes` by reading: the outcome, the one corrected for many tests, the
    comparisons, their counts, and the one with the least effect.
    """
    quotes = {
        (paper, one.id): plain(one.quote) for paper in sources.papers for one in claims_of(paper)
    }
    ledger = rows_in(sources.results / "claims.csv")
    tests: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for name in dict.fromkeys(row["decided_by"] for row in ledger):
        for test in rows_in(sources.results / "statistics" / f"{name}.claims.csv"):
            tests.setdefault((name, test["claim"], test["reading"]), []).append(test)
    found = []
    for row in ledger:
        name, quote = row["decided_by"], quotes.get((row["paper"], row["claim"]), "")
        outcomes = {}
        for reading in SHOWN_READINGS:
            mine = tests.get((name, row["claim"], reading), [])
            outcomes[reading] = {
                "outcome": row[reading] or OUTCOMES[-1],
                "corrected": row[f"{reading}_corrected"] or "not tested",
                "counts": row[f"{reading}_comparisons"],
                "least": least_effect(mine) if row[f"{reading}_least_effect"] else None,
                "comparisons": mine,
            }
        about = {
            "quote": quote,
            "taken_as": row["sentence"].removeprefix(quote).strip(),
            "page": f"{'figure' if name in sources.figures else 'table'}-{name}.html",
            "outcomes": outcomes,
        }
        found.append(row | about)
    return found


def tallied(ledger: list[Row], reading: str) -> dict[str, int]:
    """Return the number of claims with each outcome."""
    tally = Counter(claim["outcomes"][reading]["outcome"] for claim in ledger)
    return {outcome: tally[outcome] for outcome in OUTCOMES if tally[outcome]}


def bounds(sources: Sources) -> list[Row]:
    """Return the bounds of the papers' theorems, with the measured values and an outcome each.

    `remarks` are the notes of its figure, `width` is the length of the tightness bar.
    """
    found = []
    for row in rows_in(sources.results / "theory.csv"):
        figure, tightness = sources.figures[row["figure"]], float(row["tightness"])
        labels = {panel.label for panel in figure.panels if panel.title == row["dataset"]}
        remarks = [
            drawn["label"]
            for drawn in sources.drawn[row["figure"]]
            if drawn["kind"] == "note"
            and drawn["panel"] in labels
            and (drawn["part"], drawn["reading"]) == (row["part"], row["reading"])
        ]
        says = "respected"
        if int(row["points_above"]):
            says = "exceeded"
        elif row["trivial"] and float(row["bound"]) >= float(row["trivial"]):
            says = "empty"
        width = max(0.0, min(1.0, tightness))
        about = {"paper": figure.paper, "remarks": remarks, "says": says, "width": width}
        found.append(row | about | {"tightness": tightness})
    return found


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


def readings(sources: Sources) -> list[Row]:
    """Return the open questions of all papers, and the searches of their tables.

    `supports` has the number of non-literal answers in the closest reading, by their support in the
    paper's text.
    """
    found = []
    for paper, asked in sources.questions.items():
        if not asked:
            continue
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
        found.append({"paper": paper, **about})
    return found


def _answers(paper: str, reading: str) -> Mapping[str, Any]:
    """Return the answers of a paper's reading; none if it does not exist."""
    try:
        return Reading.of(paper, reading).answers
    except UserError:
        return {}


def _question(name: str, asked: Question, answers: dict[str, Any]) -> Row:
    """Return a question with its options.

    An option's `sets` are the config values that it sets, `support` is what the paper's text makes
    of it, and `taken_by` are the standard readings that give it.
    """
    given = {reading: str(one.get(name, asked.literal)) for reading, one in answers.items()}
    return {
        "name": name,
        **{part: plain(getattr(asked, part)) for part in ("asks", "says", "found")},
        "columns": list(asked.columns),
        "options": [
            {
                "name": str(option),
                "sets": in_yaml(patch),
                "support": asked.support.get(option),
                "taken_by": [reading for reading, one in given.items() if one == str(option)],
            }
            for option, patch in asked.options.items()
        ],
    }


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
    return {"trials": trials, "importance": markdown(text)}
