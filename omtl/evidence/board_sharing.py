"""What sharing between tasks gains and where it harms: learners that differ in that alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from omtl.evidence.board import numbers
from omtl.evidence.claims import compare
from omtl.evidence.equivalence import outcome_of

COLUMNS = ("family", "dataset", "beside", "ratio", "low", "high", "outcome")
"""A row for each family, data set and what the sharing learner stands beside.

`ratio` is the geometric mean over the repeats of its mistakes over the other's, with an interval of
95 %; `outcome` is of the region of practical equivalence (`omtl.evidence.equivalence`).
"""

BESIDE = ("alone", "pooled")


def sharing(found: pd.DataFrame, families: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Return what sharing gains in each family on each data set.

    Parameters
    ----------
    found : DataFrame
        Rows of `omtl.evidence.board.CELLS`.
    families : mapping
        Names of learners that are ``alone``, ``pooled`` and ``shared``, by family.
    """
    learners, values = numbers(found)
    at = {name: i for i, name in enumerate(learners)}
    rows: list[dict[str, Any]] = []
    for family, members in families.items():
        for dataset, each in values.items():
            for beside in BESIDE:
                if {members["shared"], members.get(beside)} <= at.keys():
                    mine, other = (each[at[members[kind]]] for kind in ("shared", beside))
                    row = {"family": family, "dataset": dataset, "beside": beside}
                    rows.append(row | _ratio(mine, other))
    return pd.DataFrame(rows, columns=COLUMNS)


def _ratio(mine: np.ndarray, other: np.ndarray) -> dict[str, Any]:
    if not (np.all(mine > 0.0) and np.all(other > 0.0)):  # none where one has no numbers
        return {"ratio": np.nan, "low": np.nan, "high": np.nan, "outcome": "undecided"}
    found = compare("", mine, other, (0.0, np.inf), ratio=True)
    ratio = float(np.exp(found.differences.mean()))
    outcome = outcome_of(found.low, found.high, lower_is_better=True)
    return {"ratio": ratio, "low": found.low, "high": found.high, "outcome": outcome}


def counted(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often sharing is better, equivalent, undecided and worse, by family and rival."""
    order = ["better", "equivalent", "undecided", "worse"]
    table = pd.crosstab([rows["family"], rows["beside"]], rows["outcome"])
    return table.reindex(columns=order, fill_value=0).reset_index()
