"""The readings: each paper's open questions, their answers, and the search's trials."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from omtl.experiment.descriptions import Question
from omtl.experiment.naming import CLOSEST, READINGS, SUPPORT
from omtl.experiment.readings import Reading
from omtl.site.gather import Sources, in_yaml
from omtl.site.text import markdown, plain
from omtl.util.errors import UserError
from omtl.util.result_files import rows_in, text_of


def readings(sources: Sources) -> list[dict[str, Any]]:
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
        found.append(
            {
                "paper": paper,
                "questions": questions,
                "searches": _searches(paper, sources),
                "supports": {support: tally[support] for support in SUPPORT if tally[support]},
            }
        )
    return found


def _answers(paper: str, reading: str) -> Mapping[str, Any]:
    """Return the answers of a paper's reading; none if it does not exist."""
    try:
        return Reading.of(paper, reading).answers
    except UserError:
        return {}


def _question(name: str, asked: Question, answers: dict[str, Any]) -> dict[str, Any]:
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


def _searches(paper: str, sources: Sources) -> list[dict[str, Any]]:
    """Return the records of the searches of a paper's tables."""
    found = []
    for table, description in sources.tables.items():
        folder = sources.results / "readings"
        if description.paper == paper and (tried := rows_in(folder / f"{table}.csv")):
            text = text_of(folder / f"{table}.md")
            text = text.partition("\n")[2] if text.startswith("# ") else text
            found.append({"table": table, "trials": _trials(tried), "importance": markdown(text)})
    return found


def _trials(tried: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return the trials, each a reading of a column, with its answers and whether it is best."""
    least: dict[str, float] = {}
    for row in tried:
        distance = float(row["distance"])
        least[row["column"]] = min(distance, least.get(row["column"], math.inf))
    return [
        row
        | {
            "answers": json.loads(row["answers"]),
            "is_best": float(row["distance"]) == least[row["column"]],
        }
        for row in tried
    ]
