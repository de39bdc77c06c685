"""Judging a paper's comparative statements on our numbers: each is a row of ``claims.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import stats

from omtl.harness.table import Scored
from omtl.paths import EXPERIMENTS

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"

CONFIDENCE = 0.95
"""Level of the interval of a mean difference over shared repeats."""

COLUMNS = ("paper", "claim", "place", "says", "reading", "outcome", "comparisons")


@dataclass(frozen=True)
class Comparison:
    """What a claim says of two learners on a data set, and how sure it is on our numbers.

    `low` and `high` bound the mean over the repeats of the paired difference, or the ratio, that
    `relation` names.
    """

    relation: str
    outcome: str
    low: float = np.nan
    high: float = np.nan

    def __str__(self) -> str:
        """Return the comparison as text."""
        if np.isnan(self.low):
            return f"{self.relation} {self.outcome} (not run)"
        return f"{self.relation} {self.outcome} [{self.low:.3f}, {self.high:.3f}]"


def claims_of(paper: str) -> list[dict[str, Any]]:
    """Return a paper's claims."""
    path = EXPERIMENTS / paper / "claims.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []


def compare(
    relation: str,
    one: Scored | None,
    other: Scored | None,
    bounds: tuple[float, float],
    ratio: bool,
) -> Comparison:
    """Return whether the mean difference, or ratio, of two cells lies between bounds.

    Both cells have the same repeats: the differences are paired. A ratio is the geometric mean of
    those of the repeats.
    """
    if one is None or other is None or not one.values.size or not other.values.size:
        return Comparison(relation, UNDECIDED)
    if ratio:
        low, high = np.exp(_interval(np.log(one.values / other.values)))
    else:
        low, high = _interval(one.values - other.values)
    least, most = bounds
    if least < low and high < most:
        return Comparison(relation, HOLDS, low, high)
    outside = high < least or low > most
    return Comparison(relation, FAILS if outside else UNDECIDED, low, high)


def _interval(difference: np.ndarray) -> tuple[float, float]:
    """Return the interval of the mean of paired differences (Student's t)."""
    mean = float(difference.mean())
    if difference.size < 2:
        return -np.inf, np.inf
    half = stats.t.ppf((1.0 + CONFIDENCE) / 2.0, difference.size - 1) * stats.sem(difference)
    return mean - float(half), mean + float(half)


def _told(part: Mapping[str, Any]) -> tuple[str, str, tuple[float, float]]:
    """Return which rows a part of a claim compares, its sign, and between what bounds they lie."""
    by = float(part.get("by", 0.0))
    if "lower" in part:
        return "lower", "<", (-np.inf, -by)
    if "higher" in part:
        return "higher", ">", (by, np.inf)
    return "ratio", "/", (float(part.get("at_least", 0.0)), float(part.get("at_most", np.inf)))


def judge_claim(claim: Mapping[str, Any], scored: Sequence[Scored]) -> list[Comparison]:
    """Return the outcome of each of a claim's comparisons.

    A part compares each of its rows `lower`, `higher` (by at least `by`) or `ratio` (`at_least`,
    `at_most`) with each of `than`, on its `dataset`, for each of its `tasks`.
    """
    by_place = {(s.cell.dataset, s.cell.task, s.cell.metric, s.cell.algorithm): s for s in scored}
    found = []
    for part in claim["all"]:
        rows, sign, bounds = _told(part)
        metric = part.get("metric", claim.get("metric", "error"))
        for task, one, other in product(part.get("tasks", ["all"]), part[rows], part["than"]):
            place = part["dataset"] if task == "all" else f"{part['dataset']} {task}"
            of, than = (
                by_place.get((part["dataset"], task, metric, name)) for name in (one, other)
            )
            relation = f"{place}: {one} {sign} {other}"
            if rows == "ratio":
                relation += f" in [{bounds[0]:g}, {bounds[1]:g}]"
            elif "by" in part:
                relation += f" by {part['by']:g}"
            found.append(compare(relation, of, than, bounds, ratio=rows == "ratio"))
    return found


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
