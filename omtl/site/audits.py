"""What audits the numbers: claims, theorems, readings, proofreading and further evidence.

Each function returns the rows of files in ``results/`` with what a page shows besides.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pandas as pd

from omtl.evidence.claims import claims_of
from omtl.evidence.ledger import rows_of_claims
from omtl.evidence.ranks import RANKS
from omtl.experiment.readings import CLOSEST, READINGS, SUPPORT, Question, Reading, by_reading
from omtl.site.sources import Sources
from omtl.site.text import markdown_html, plain
from omtl.tables.proofread import by_row
from omtl.tables.published_results import SHOWN_READINGS
from omtl.util.errors import UserError
from omtl.util.result_files import read_csv, rows_in, text_of

OUTCOMES = ("holds", "undecided", "fails", "not run")
"""Outcomes of claims, in display order."""

OUTCOME_MARKS = {"holds": "✓", "undecided": "?", "fails": "✗", "not run": "·"}
OUTCOME_MARKS |= {"true": "✓", "false": "✗", "no numbers": "·"}
OUTCOME_MARKS |= {"respected": "✓", "exceeded": "✗", "empty": "·"}

Row = dict[str, Any]


def claims_content(sources: Sources) -> list[Row]:
    """Return the ledger of claims.

    Each row has the paper's own words (`quote`, and what we take them as), and by reading the
    `tests` of its comparisons; an empty outcome is "not run".
    """
    quotes = {
        (paper, one.id): plain(one.quote) for paper in sources.readmes for one in claims_of(paper)
    }
    ledger: list[Row] = [*rows_in(sources.results / "claims.csv")]
    tests, nothing = rows_of_claims(sources.results / "statistics"), pd.DataFrame()
    for row in ledger:
        name, quote = row["decided_by"], quotes.get((row["paper"], row["claim"]), "")
        row |= {"quote": quote, "taken_as": row["sentence"].removeprefix(quote).strip()}
        row["tests"] = {
            reading: tests.get((name, row["claim"], reading), nothing).to_dict("records")
            for reading in SHOWN_READINGS
        }
        row |= {reading: row[reading] or OUTCOMES[-1] for reading in SHOWN_READINGS}
    return ledger


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
    kinds: dict[tuple[str, str, str], list[Mapping[str, str]]] = {}
    for row in rows_in(sources.results / "proofread.csv"):
        kinds.setdefault((row["table"], row["check"], row["of"]), []).append(row)
    return {
        "findings": [
            {"table": table, "check": check, "of": of, "says": says}
            for (table, check, of), found in kinds.items()
            for says in by_row(found)
        ],
        "checks": rows_in(sources.results / "proofread.checks.csv"),
    }


def evidence(sources: Sources) -> Row:
    """Return all other evidence: recomputed cells, ranks with their diagrams, margins, searches."""
    results, ranks = sources.results, []
    for table in sources.tables:
        rows = pd.DataFrame(rows_in(results / "statistics" / f"{table}.csv"), columns=RANKS)
        for (reading, _), each in rows.groupby(["reading", "metric"], sort=False):
            picture = results / "statistics" / f"{by_reading(table, str(reading))}.svg"
            best_first = each.sort_values("average_rank", key=pd.to_numeric, kind="stable")
            ranks.append((best_first.to_dict("records"), picture if picture.exists() else None))
    verified = rows_in(results / "verify.csv")
    searches = sorted((results / "search").glob("*.csv"))
    return {
        "verified": verified,
        "recomputed": Counter(row["result"] for row in verified),
        "ranks": ranks,
        "hindsight": rows_in(results / "hindsight.csv"),
        "searches": {path.stem: rows_in(path) for path in searches if "." not in path.stem},
    }


def readings(sources: Sources) -> list[Row]:
    """Return the open questions of all papers, and the searches of their tables.

    `answers` are those of the standard readings, and `supports` has the number of non-literal ones
    in the closest reading, by their support in the paper's text.
    """
    found = []
    for paper, questions in sources.questions.items():
        answers = {reading: _answers(paper, reading, questions) for reading in READINGS}
        tally = Counter(one.support.get(answers[CLOSEST][n]) for n, one in questions.items())
        of_paper = [name for name, table in sources.tables.items() if table.paper == paper]
        about = {
            "questions": questions,
            "answers": answers,
            "searches": [one for name in of_paper if (one := _search(sources, name))["trials"]],
            "supports": {support: tally[support] for support in SUPPORT if tally[support]},
        }
        found += [{"paper": paper, **about}] if questions else []
    return found


def _answers(paper: str, reading: str, questions: Mapping[str, Question]) -> dict[str, str]:
    """Return a paper's answers in a reading: the literal ones where it gives none."""
    given: Mapping[str, Any] = {}
    with suppress(UserError):  # not each paper has each reading
        given = Reading.of(paper, reading).answers
    return {name: str(given.get(name, one.literal)) for name, one in questions.items()}


def _search(sources: Sources, table: str) -> Row:
    """Return the trials of a search, each a reading of a column, and what its report says."""
    path = sources.results / "readings" / f"{table}.csv"
    trials: list[Row] = []
    if path.exists():
        rows = read_csv(path)
        distance = rows["distance"].astype(float)
        best = distance == distance.groupby(rows["column"]).transform("min")
        rows = rows.assign(is_best=best, answers=rows["answers"].map(json.loads))
        trials = rows.to_dict("records")  # type: ignore[assignment]
    _, _, report = text_of(path.with_suffix(".md")).partition("\n")  # without its title
    return {"table": table, "trials": trials, "importance": markdown_html(report)}
