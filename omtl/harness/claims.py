"""Judging a paper's comparative statements on our numbers: each is a row of ``claims.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import stats

from omtl.harness.table import Scored
from omtl.metrics import METRICS
from omtl.paths import EXPERIMENTS

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"

CONFIDENCE = 0.95
"""Level of the interval of a mean difference over shared repeats."""

COLUMNS = ("paper", "claim", "place", "says", "reading", "outcome", "comparisons")


@dataclass(frozen=True)
class Comparison:
    """One learner's number below another's on a data set, and how sure that is.

    `low` and `high` bound the mean of the paired differences (lower − than) over the repeats.
    """

    dataset: str
    lower: str
    than: str
    outcome: str
    low: float = np.nan
    high: float = np.nan

    def __str__(self) -> str:
        """Return the comparison as text."""
        relation = f"{self.dataset}: {self.lower} < {self.than}"
        if np.isnan(self.low):
            return f"{relation} {self.outcome} (not run)"
        return f"{relation} {self.outcome} [{self.low:.3f}, {self.high:.3f}]"


def claims_of(paper: str) -> list[dict[str, Any]]:
    """Return a paper's claims."""
    path = EXPERIMENTS / paper / "claims.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []


def compare(
    dataset: str, lower: Scored | None, than: Scored | None, names: tuple[str, str]
) -> Comparison:
    """Return whether one cell's number is below another's over the repeats that they share."""
    if lower is None or than is None or not lower.values.size or not than.values.size:
        return Comparison(dataset, *names, UNDECIDED)
    difference = lower.values - than.values
    low, high = _interval(difference)
    outcome = HOLDS if high < 0.0 else FAILS if low > 0.0 else UNDECIDED
    return Comparison(dataset, *names, outcome, low, high)


def _interval(difference: np.ndarray) -> tuple[float, float]:
    """Return the interval of the mean of paired differences (Student's t)."""
    mean = float(difference.mean())
    if difference.size < 2:
        return -np.inf, np.inf
    half = stats.t.ppf((1.0 + CONFIDENCE) / 2.0, difference.size - 1) * stats.sem(difference)
    return mean - float(half), mean + float(half)


def judge_claim(claim: Mapping[str, Any], scored: Sequence[Scored]) -> list[Comparison]:
    """Return the outcome of each of a claim's comparisons; a part may name its tasks."""
    by_place = {
        (s.cell.dataset, s.cell.task, s.cell.algorithm): s
        for s in scored
        if s.cell.metric == claim.get("metric", "error") and METRICS[s.cell.metric].lower_is_better
    }
    return [
        compare(
            part["dataset"] if task == "all" else f"{part['dataset']} {task}",
            by_place.get((part["dataset"], task, lower)),
            by_place.get((part["dataset"], task, than)),
            (lower, than),
        )
        for part in claim["all"]
        for task in part.get("tasks", ["all"])
        for lower in part["lower"]
        for than in part["than"]
    ]


def outcome_of(comparisons: Sequence[Comparison]) -> str:
    """Return a claim's outcome: it fails with any of its comparisons, and holds with all."""
    outcomes = {comparison.outcome for comparison in comparisons}
    return FAILS if FAILS in outcomes else UNDECIDED if UNDECIDED in outcomes else HOLDS


def ledger(paper: str, table: str, reading: str, scored: Sequence[Scored]) -> pd.DataFrame:
    """Return the rows of the claims ledger that a table's cells decide."""
    rows = []
    for claim in claims_of(paper):
        if claim["table"] == table:
            parts = judge_claim(claim, scored)
            text = "; ".join(str(part) for part in parts)
            says = " ".join(claim["says"].split())
            rows.append(
                (paper, claim["id"], claim["place"], says, reading, outcome_of(parts), text)
            )
    return pd.DataFrame(rows, columns=COLUMNS)
