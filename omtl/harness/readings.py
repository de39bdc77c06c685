"""Searching the readings of a table: which answers bring our numbers closest to the published.

From the literal answers, the search goes through the questions, gives each the answer that brings
the columns that it can move closest, and begins again until a whole round changes nothing. Every
reading of a column that was tried is recorded. Units are stored, so a search that was stopped goes
on, and an answer that changes one learner computes only that learner.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from omtl.config import load_option, named_reading, options, questions
from omtl.errors import UserError
from omtl.files import write_whole
from omtl.harness.importance import page
from omtl.harness.plan import describe, plan_table
from omtl.harness.proofread import suspect_means
from omtl.harness.search import play
from omtl.harness.store import Store
from omtl.harness.table import score_table
from omtl.harness.verdict import MATCH, NEAR, OFF
from omtl.paths import CONF, RESULTS
from omtl.seeds import generator

FARTHEST = 0.25
"""A cell farther off than this share of the published number counts as this far."""

CERTAINTY = 2.0
"""An answer is changed only if the distance falls by so many standard errors over the repeats."""


@dataclass(frozen=True)
class Trial:
    """A reading of one column, and how far our numbers are from the published.

    `distances` has one number a repeat: the mean over the column's cells of the distance as a share
    of the published number.
    """

    column: str
    answers: dict[str, str]
    distances: np.ndarray
    verdicts: Counter

    def row(self) -> dict[str, Any]:
        """Return the trial as a row of the record."""
        return {
            "column": self.column,
            "answers": json.dumps(self.answers, sort_keys=True),
            "distance": f"{self.distances.mean():.5f}",
            "standard_error": f"{standard_error(self.distances):.5f}",
            **{verdict: self.verdicts[verdict] for verdict in (MATCH, NEAR, OFF)},
        }


def search(
    table: str,
    store: Store,
    parallel: dict[str, Any],
    seed: int,
    n_repeats: int,
    report: Callable[[str], None],
    draws: int = 0,
) -> tuple[dict[str, str], pd.DataFrame]:
    """Return the answers that bring a table closest, and the record of all trials.

    Parameters
    ----------
    table : str
        The table's id.
    store, parallel, seed, n_repeats
        Where units are, how they are computed, and which repeats are looked at.
    report : callable
        Called with a line of text on each trial.
    draws : int
        How many readings, drawn at random, are tried besides: they change nothing in the answers,
        but tell how much each choice matters away from the path of the search.
    """
    paper = describe("table", table)["paper"]
    plan = plan_table(table, named_reading(paper, "as_written"))
    # Stand-in data are not to be brought close to what other data gave.
    columns = [
        column["published"]
        for column in plan.description["columns"]
        if column.get("kind") != "substitute"
    ]
    asked = {
        name: {**question, "columns": moved}
        for name, question in questions(paper).items()
        if (moved := [column for column in question["columns"] if column in columns])
    }
    trials: dict[tuple[str, str], Trial] = {}

    def distances(answers: dict[str, str], moved: list[str]) -> np.ndarray:
        return np.mean([attempt(column, answers).distances for column in moved], axis=0)

    def attempt(column: str, answers: dict[str, str]) -> Trial:
        relevant = {q: a for q, a in answers.items() if column in asked[q]["columns"]}
        key = column, json.dumps(relevant, sort_keys=True)
        if key not in trials:
            trials[key] = _try(table, paper, column, relevant, store, parallel, seed, n_repeats)
            shown = trials[key]
            report(f"{column}: {shown.distances.mean():.4f} {dict(shown.verdicts)} {relevant}")
        return trials[key]

    answers = {name: question["literal"] for name, question in asked.items()}
    for column in columns:
        attempt(column, _departures(asked, answers))
    changed = True
    while changed:
        changed = False
        for name, question in asked.items():
            moved = question["columns"]
            here = distances(_departures(asked, answers), moved)
            gains = {
                option: here - distances(_departures(asked, answers | {name: option}), moved)
                for option in question["options"]
            }
            best = max(gains, key=lambda option: gains[option].mean())
            if gains[best].mean() > CERTAINTY * standard_error(gains[best]):
                answers[name] = best
                changed = True
    rng = generator(seed, of="readings", table=table)
    for _ in range(draws):
        drawn = {name: str(rng.choice(list(q["options"]))) for name, q in asked.items()}
        for column in columns:
            attempt(column, _departures(asked, drawn))
    record = pd.DataFrame([trial.row() for trial in trials.values()])
    return _departures(asked, answers), record


def answers_of_other_tables(paper: str, table: str) -> dict[str, str]:
    """Return the answers of a paper's ``as_published`` that cannot move a table's columns."""
    columns = {column["published"] for column in describe("table", table)["columns"]}
    known = options("reading")
    if f"{paper}/as_published" not in known:
        return {}
    asked = questions(paper)
    return {
        name: answer
        for name, answer in load_option("reading", f"{paper}/as_published")["answers"].items()
        if columns.isdisjoint(asked[name]["columns"])
    }


def write_found(table: str, answers: Mapping[str, str], record: pd.DataFrame) -> list[Path]:
    """Write a search's record, its page, and its answers as the paper's reading."""
    paper = describe("table", table)["paper"]
    csv, config_path = (
        RESULTS / "readings" / f"{table}.csv",
        CONF / "reading" / paper / "as_published.yaml",
    )
    write_whole(csv, record.to_csv(index=False, lineterminator="\n"))
    found = {**answers, **answers_of_other_tables(paper, table)}
    config = yaml.safe_dump(
        {"name": "as_published", "paper": paper, "answers": found}, sort_keys=False
    )
    head = (
        "# @package reading\n"
        "# Found by `make readings` on the paper's tables; every reading that was tried is in\n"
        f"# results/readings/{paper}-*.csv.\n"
    )
    write_whole(config_path, head + config)
    return [csv, config_path, write_page(table)]


def write_page(table: str) -> Path:
    """Write the page of a recorded search; return its path.

    Raises
    ------
    UserError
        If no search of the table is recorded.
    """
    paper = describe("table", table)["paper"]
    csv = RESULTS / "readings" / f"{table}.csv"
    if not csv.exists():
        raise UserError(f"no search of {table} is recorded; run it by: omtl readings {table}")
    record = pd.read_csv(csv, dtype=str, keep_default_na=False)
    chosen = named_reading(paper, "as_published")["answers"]
    path = csv.with_suffix(".md")
    write_whole(path, page(table, record, questions(paper), chosen))
    return path


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean of one number a repeat; 0 for a single repeat."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


def _departures(asked: dict[str, Any], answers: dict[str, str]) -> dict[str, str]:
    """Return the answers that are not the literal ones."""
    return {name: a for name, a in answers.items() if a != asked[name]["literal"]}


def _try(
    table: str,
    paper: str,
    column: str,
    answers: dict[str, str],
    store: Store,
    parallel: dict[str, Any],
    seed: int,
    n_repeats: int,
) -> Trial:
    reading = {"name": "trial", "paper": paper, "answers": answers}
    plan = plan_table(table, reading)
    suspect = suspect_means(table)  # nothing is brought close to what may be a slip of the print
    halving = load_option("search", "halving")  # large grids in full would make trials too dear
    plan = replace(
        plan,
        cells=[
            replace(cell, search=cell.search or halving)
            for cell in plan.cells
            if cell.dataset == column and not cell.is_ours and cell.place not in suspect
        ],
        description={**plan.description, "draws": {"count": 0, "repeats": 0}},
    )
    outcome = play(plan, store, parallel, seed, n_repeats, plan.description["selection"])
    scored = score_table(plan, store, seed, n_repeats, outcome.failed)
    gaps = [
        np.abs(s.values - float(s.cell.mean)) / abs(float(s.cell.mean))
        for s in scored
        if s.values.size
    ]
    if not gaps:
        raise UserError(f"{table}: no cell of {column} could be run: {scored[0].why}")
    distances = np.mean(np.minimum(gaps, FARTHEST), axis=0)
    return Trial(column, answers, distances, Counter(s.verdict for s in scored))
