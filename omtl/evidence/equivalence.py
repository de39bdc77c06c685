"""Practical equivalence of a paper's own algorithms with others: within 5 % or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from omtl.evidence.claims import compare
from omtl.evidence.paired_tests import shown
from omtl.measures.metrics import METRICS
from omtl.tables.scoring import Scored

REGION = 0.05
"""Numbers within this share of each other are practically equivalent."""

EQUIVALENT, BETTER, WORSE, UNDECIDED = "equivalent", "better", "worse", "undecided"

COLUMNS = (
    "table",
    "reading",
    "metric",
    "dataset",
    "task",
    "algorithm",
    "other",
    "ratio",
    "low",
    "high",
    "n_repeats",
    "repeats_are_of",
    "outcome",
)
"""Columns of ``results/statistics/<id>.equivalence.csv``.

`ratio` is the geometric mean over the repeats of the algorithm's number over the other's. It is
`equivalent` where its 95 % interval lies within the region, `better` or `worse` where the interval
lies outside, and `undecided` where it reaches over a border.
"""


def outcome_of(low: float, high: float, lower_is_better: bool) -> str:
    """Return what the interval of a ratio says about the region of practical equivalence."""
    border = 1.0 + REGION
    if 1.0 / border < low and high < border:
        return EQUIVALENT
    if high < 1.0 / border:
        return BETTER if lower_is_better else WORSE
    if low > border:
        return WORSE if lower_is_better else BETTER
    return UNDECIDED


def equivalence_rows(
    table: str, reading: str, proposed: Sequence[str], scored: Sequence[Scored]
) -> pd.DataFrame:
    """Return a row for each of the paper's own algorithms beside each other one, in each place.

    Times are left out, and what was not run.
    """
    run = [s for s in scored if s.values.size and not METRICS[s.cell.metric].timing]
    rows = []
    for own in (s for s in run if s.cell.algorithm in proposed):
        for other in run:
            place = (own.cell.dataset, own.cell.task, own.cell.metric)
            if other is own or place != (other.cell.dataset, other.cell.task, other.cell.metric):
                continue
            names = own.cell.algorithm, other.cell.algorithm
            found = compare("", own.values, other.values, (0.0, np.inf), ratio=True)
            lower = METRICS[own.cell.metric].lower_is_better
            numbers = float(np.exp(found.differences.mean())), found.low, found.high
            rows.append(
                (
                    *(table, reading, own.cell.metric, own.cell.dataset, own.cell.task, *names),
                    *map(shown, numbers),
                    str(own.values.size),
                    own.cell.experiment.repeats_are_of,
                    outcome_of(found.low, found.high, lower),
                )
            )
    return pd.DataFrame(rows, columns=COLUMNS)
