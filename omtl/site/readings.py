"""The readings: each paper's open questions, their answers, and the search's trials."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from omtl.experiment.config import named_reading, support_of
from omtl.experiment.naming import CLOSEST, READINGS, SUPPORT
from omtl.site.gather import Sources, yaml_value
from omtl.site.text import markdown, plain
from omtl.tables.committed import rows, text_of
from omtl.tables.verdict import JUDGED
from omtl.util.errors import UserError


@dataclass(frozen=True)
class Option:
    """An answer to a question.

    `sets` are the config values that it sets, `support` is what the paper's text makes of it, and
    `taken_by` are the standard readings that give it.
    """

    name: str
    sets: list[tuple[str, str]]
    support: str
    taken_by: list[str]


@dataclass(frozen=True)
class Question:
    """An open question of a paper."""

    name: str
    asks: str
    says: str
    found: str
    columns: list[str]
    options: list[Option]


@dataclass(frozen=True)
class Trial:
    """A trial of the search: a reading of a column."""

    column: str
    answers: list[tuple[str, str]]
    distance: str
    standard_error: str
    verdicts: list[str]
    is_best: bool


@dataclass(frozen=True)
class Searched:
    """The record of the search of a table's readings."""

    table: str
    trials: list[Trial]
    importance: Markup
    command: str


@dataclass(frozen=True)
class PaperReadings:
    """A paper's questions, and the searches of its tables."""

    paper: str
    questions: list[Question]
    searches: list[Searched]

    @property
    def n_departures(self) -> int:
        """Number of questions with a non-literal answer in the closest reading."""
        return sum(CLOSEST in o.taken_by for q in self.questions for o in q.options if o.support)

    @property
    def supports(self) -> dict[str, int]:
        """Number of these answers with each kind of support."""
        tally = Counter(
            o.support for q in self.questions for o in q.options if CLOSEST in o.taken_by
        )
        return {support: tally[support] for support in SUPPORT if tally[support]}


def readings(sources: Sources) -> list[PaperReadings]:
    """Return the open questions of all papers."""
    return [_of_paper(paper, asked, sources) for paper, asked in sources.questions.items() if asked]


def _of_paper(paper: str, asked: dict[str, Any], sources: Sources) -> PaperReadings:
    answers = {reading: _answers(paper, reading) for reading in READINGS}
    questions = []
    for name, question in asked.items():
        literal = str(question["literal"])
        options = [
            Option(
                str(option),
                [(key, yaml_value(value)) for key, value in patch.items()],
                support_of(question, option) or "",
                [r for r, given in answers.items() if str(given.get(name, literal)) == str(option)],
            )
            for option, patch in question["options"].items()
        ]
        questions.append(
            Question(
                name,
                plain(question["asks"]),
                plain(question["says"]),
                plain(question.get("found", "")),
                question["columns"],
                options,
            )
        )
    searches = []
    for table in (t for t, d in sources.tables.items() if d.paper == paper):
        folder = sources.results / "readings"
        tried = rows(folder / f"{table}.csv")
        if tried:
            told = text_of(folder / f"{table}.md")
            told = told.partition("\n")[2] if told.startswith("# ") else told
            command = f"make readings TABLE={table}"
            searches.append(Searched(table, _trials(tried), markdown(told), command))
    return PaperReadings(paper, questions, searches)


def _answers(paper: str, reading: str) -> dict[str, Any]:
    """Return the answers of a paper's reading; none if it does not exist."""
    try:
        return named_reading(paper, reading)["answers"]
    except UserError:
        return {}


def _trials(tried: list[dict[str, str]]) -> list[Trial]:
    least = {
        column: min(float(row["distance"]) for row in tried if row["column"] == column)
        for column in {row["column"] for row in tried}
    }
    return [
        Trial(
            row["column"],
            [(name, str(answer)) for name, answer in json.loads(row["answers"]).items()],
            row["distance"],
            row["standard_error"],
            [row.get(word, "") for word in JUDGED],
            float(row["distance"]) == least[row["column"]],
        )
        for row in tried
    ]
