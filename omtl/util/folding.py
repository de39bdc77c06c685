"""Folded rows of a CSV file: adjacent rows that differ in few columns become one row of lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import pandas as pd

APART = " "
"""Separates the values of a folded field."""


def fold(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return rows of text, with adjacent rows merged if they differ only in `columns`."""
    same = [name for name in rows.columns if name not in columns]
    folded = []
    for _, each in groupby(rows.to_dict("records"), key=lambda row: [row[name] for name in same]):
        run = list(each)
        folded.append(run[0] | {name: APART.join(row[name] for row in run) for name in columns})
    return pd.DataFrame(folded, columns=rows.columns)


def unfold(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows before folding."""
    return [
        {**row, **dict(zip(columns, values, strict=True))}
        for row in rows
        for values in zip(*(row[name].split(APART) for name in columns), strict=True)
    ]
