"""Searching the readings of a table: which answers bring our numbers closest to the published.

The search goes column by column, as most questions can move one column only. From the literal
answers it changes one answer at a time, keeps the change that brings the column closest, and goes
on until none does. Every reading that was tried is recorded. Units are stored, so a search that was
stopped goes on, and an answer that changes one learner computes only that learner.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from omtl.config import named_reading, questions
from omtl.harness.fanout import run
from omtl.harness.plan import plan_table
from omtl.harness.store import Store
from omtl.harness.table import score_table
from omtl.harness.verdict import MATCH, NEAR, OFF

FARTHEST = 0.25
"""A cell farther off than this share of the published number counts as this far."""

LEAST_GAIN = 0.001
"""An answer is changed only if the column's mean distance falls by more than this share."""


@dataclass(frozen=True)
class Trial:
    """A reading of one column, and how far our numbers are from the published."""

    column: str
    answers: dict[str, str]
    distance: float
    verdicts: Counter

    def row(self) -> dict[str, Any]:
        """Return the trial as a row of the record."""
        return {
            "column": self.column,
            "answers": json.dumps(self.answers, sort_keys=True),
            "distance": f"{self.distance:.5f}",
            **{verdict: self.verdicts[verdict] for verdict in (MATCH, NEAR, OFF)},
        }


def search(
    table: str,
    store: Store,
    parallel: dict[str, Any],
    seed: int,
    n_repeats: int,
    report: Callable[[str], None],
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
    """
    plan = plan_table(table, named_reading(table.split("-")[0], "as_written"))
    paper = plan.description["paper"]
    asked = questions(paper)
    trials: list[Trial] = []

    def attempt(column: str, answers: dict[str, str]) -> Trial:
        found = next((t for t in trials if (t.column, t.answers) == (column, answers)), None)
        if found is None:
            found = _try(table, paper, column, answers, store, parallel, seed, n_repeats)
            trials.append(found)
            report(f"{column}: {found.distance:.4f} {dict(found.verdicts)} {answers}")
        return found

    best = [_climb(column["published"], asked, attempt) for column in plan.description["columns"]]
    record = pd.DataFrame([trial.row() for trial in trials])
    return _joined(asked, best), record


def _climb(
    column: str, asked: dict[str, Any], attempt: Callable[[str, dict[str, str]], Trial]
) -> Trial:
    """Change one answer at a time while that brings the column closer."""
    here = attempt(column, {})
    while True:
        ahead = min(
            (attempt(column, answers) for answers in _neighbours(column, asked, here.answers)),
            key=lambda trial: trial.distance,
        )
        if ahead.distance > here.distance * (1.0 - LEAST_GAIN):
            return here
        here = ahead


def _neighbours(
    column: str, asked: dict[str, Any], answers: dict[str, str]
) -> Iterator[dict[str, str]]:
    """Yield the answers that differ in one question that can move the column."""
    for name, question in asked.items():
        if column not in question["columns"]:
            continue
        for option in question["options"]:
            if option == answers.get(name, question["literal"]):
                continue
            others = {k: v for k, v in answers.items() if k != name}
            yield others if option == question["literal"] else {**others, name: option}


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
    plan = replace(
        plan,
        cells=[cell for cell in plan.cells if cell.dataset == column],
        description={**plan.description, "draws": {"count": 0, "repeats": 0}},
    )
    outcome = run(plan.units(seed, n_repeats), store, parallel)
    scored = score_table(plan, store, seed, n_repeats, outcome.failed)
    gaps = [
        abs(s.mean - float(s.cell.mean)) / abs(float(s.cell.mean))
        for s in scored
        if s.mean is not None
    ]
    distance = float(np.mean(np.minimum(gaps, FARTHEST))) if gaps else FARTHEST
    return Trial(column, answers, distance, Counter(s.verdict for s in scored))


def _joined(asked: dict[str, Any], best: list[Trial]) -> dict[str, str]:
    """Return one answer to each question: that of the columns where it gains the most."""
    votes: dict[str, Counter] = {name: Counter() for name in asked}
    for trial in best:
        for name, question in asked.items():
            if trial.column in question["columns"]:
                votes[name][trial.answers.get(name, question["literal"])] += 1
    return {
        name: tally.most_common(1)[0][0]
        for name, tally in votes.items()
        if tally and tally.most_common(1)[0][0] != asked[name]["literal"]
    }
