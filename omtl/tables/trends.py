"""Whether a whole row or column of a table lies above or below the printed numbers.

A row whose cells all match can still lie below the printed numbers in nearly every cell, which no
verdict on a single cell shows. The printed ± is compared too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from omtl.measures.correction import holm
from omtl.tables.cells import ALL_TASKS, first_cell
from omtl.tables.verdict import JUDGED

ABOVE, BELOW, LEVEL = "above", "below", "level"
"""Where the cells of a row or column lie: above or below the printed numbers, or undecided."""

LEVEL_OF_TEST = 0.05

FEWEST = 3
"""Minimum number of judged cells for testing a row or column."""

F_LEVEL = 0.01
"""Level of the F test that a deviation is what the printed ± stands for."""

TESTED = (
    *("part", "name", "metric", "cells", "above", "below", "mean_share", "low", "high"),
    *("p_sign", "p_t", "p_holm", "verdict", "spread_ratio", "spreads_differ"),
)
"""Columns of `trends`, and of ``results/reproduced/<id>.trends.csv``.

`part` is ``row`` (an algorithm) or ``column`` (a data set, with its task). `above` and `below`
count its judged cells whose mean is above and below the printed one; `mean_share` is the mean of
their differences as shares of the printed numbers, with its interval by Student's t, and `p_t` the
test that it is 0, corrected over all rows and columns of the table in `p_holm`; `p_sign` is the
sign test. `spread_ratio` is the median of our deviation over the printed ±, and `spreads_differ`
counts the cells whose deviations differ by an F test at 1%.
"""


def judged_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells with a verdict by a finite difference from print."""
    is_judged = cells["verdict"].isin(JUDGED) & (cells["diverged"] == 0)
    return cells[is_judged & np.isfinite(cells["share"].astype(float))]


def trends(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the tests of all rows and columns of a table with enough judged cells (`TESTED`)."""
    judged = judged_cells(cells)
    whole = judged["task"] == ALL_TASKS
    columns = judged["dataset"].where(whole, judged["dataset"] + ", " + judged["task"])
    found = [
        {"part": part, "name": name, "metric": metric, **_test(group)}
        for part, names in (("row", judged["algorithm"]), ("column", columns))
        for (name, metric), group in judged.groupby([names, "metric"], sort=False)
        if len(group) >= FEWEST
    ]
    tested = pd.DataFrame(found, columns=TESTED)
    tested["p_holm"] = holm(tested["p_t"].tolist())
    decided = tested["p_holm"] <= LEVEL_OF_TEST
    above = np.where(tested["mean_share"] > 0.0, ABOVE, BELOW)
    return tested.assign(verdict=np.where(decided, above, LEVEL))


def _test(group: pd.DataFrame) -> dict[str, Any]:
    """Return the tests of the differences and spreads of a row or column."""
    shares = group["share"].to_numpy(dtype=float)
    mean, n = float(shares.mean()), shares.size
    error = float(shares.std(ddof=1) / np.sqrt(n))
    above, below = int((shares > 0.0).sum()), int((shares < 0.0).sum())
    half = float(special.stdtrit(n - 1, 1.0 - LEVEL_OF_TEST / 2.0) * error)
    differ = group["spread_p"].dropna() < F_LEVEL
    return {
        **{"cells": n, "above": above, "below": below, "mean_share": mean},
        **{"low": mean - half, "high": mean + half},
        "p_sign": min(1.0, 2.0 * special.bdtr(min(above, below), above + below, 0.5)),
        "p_t": 2.0 * special.stdtr(n - 1, -abs(mean) / error) if error else float(mean == 0.0),
        "spread_ratio": group["spread_ratio"].round(4).median(),  # as the CSV has it
        "spreads_differ": str(differ.sum()) if differ.size else "",
    }


def trend_sentences(cells: pd.DataFrame) -> list[str]:
    """Return a sentence for each row and column that lies off print, and one on the ±'s."""
    found = []
    tested = trends(cells)
    for trend in tested[tested["verdict"] != LEVEL].to_dict("records"):
        side = trend["verdict"]
        found.append(
            f"{trend['part']} {trend['name']} lies {side} print: {trend[side]} of "
            f"{trend['cells']} cells, {100 * trend['mean_share']:+.1f} % on average "
            f"(p = {trend['p_holm']:.2g})"
        )
    spreads = judged_cells(cells)[["spread_ratio", "spread_p"]].dropna()
    if len(spreads):
        found.append(
            "our deviation over shuffles of the same data is, in the median, "
            f"{spreads['spread_ratio'].median():.2f} times the printed ±; in "
            f"{(spreads['spread_p'] < F_LEVEL).sum()} of {len(spreads)} "
            f"cells it is not what the ± stands for (F test at {100 * F_LEVEL:g} %)"
        )
    return found


def trend_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``results/reproduced/<id>.trends.csv``, as text."""
    forms = dict.fromkeys(("mean_share", "low", "high", "spread_ratio"), "{:.4f}")
    forms |= dict.fromkeys(("p_sign", "p_t", "p_holm"), "{:.4g}")
    found = trends(cells)
    texts = {
        name: ["" if pd.isna(value) else form.format(value) for value in found[name].astype(float)]
        for name, form in forms.items()
    }
    first = first_cell(cells)
    rows = found.assign(
        table=first.table, reading=first.reading, selection=first.selection, **texts
    )
    return rows[["table", "reading", "selection", *TESTED]].astype(str)
