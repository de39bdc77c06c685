"""What sharing between tasks gains or costs, from learners that differ only in what they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from omtl.evidence.battles import numbers
from omtl.evidence.comparisons import beside

COLUMNS = ("family", "dataset", "beside", "ratio", "low", "high", "outcome")
"""A row for each family, data set and what the sharing learner stands beside.

`ratio` is the geometric mean over the repeats of its mistakes over the other's, with an interval of
95 %; `outcome` is of the region of practical equivalence (`omtl.evidence.comparisons.REGION`).
"""

RIVALS = ("alone", "pooled")


def sharing(cells: pd.DataFrame, families: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Return the gain from sharing in each family on each data set.

    Parameters
    ----------
    cells : DataFrame
        Rows of `omtl.evidence.board.CELLS`.
    families : mapping
        Names of the ``alone``, ``pooled`` and ``shared`` learners, by family.
    """
    learners, values = numbers(cells)
    at = {name: i for i, name in enumerate(learners)}
    rows: list[dict[str, Any]] = []
    for family, members in families.items():
        for dataset, each in values.items():
            for rival in RIVALS:
                if {members["shared"], members.get(rival)} <= at.keys():
                    mine, other = (each[at[members[kind]]] for kind in ("shared", rival))
                    row = {"family": family, "dataset": dataset, "beside": rival}
                    rows.append(row | beside(mine, other, lower_is_better=True))
    return pd.DataFrame(rows, columns=COLUMNS)


def count_sharing(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often sharing is better, equivalent, undecided and worse, by family and rival."""
    order = ["better", "equivalent", "undecided", "worse"]
    table = pd.crosstab([rows["family"], rows["beside"]], rows["outcome"])
    return table.reindex(columns=order, fill_value=0).reset_index()
