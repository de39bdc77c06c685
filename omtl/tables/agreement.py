"""How far a table agrees with print: floor and ceiling, the rows' order, rows and columns apart.

The floor is how many cells come within 10% of placebos, the printed rows permuted: those that the
closest trial of a search finds, if one is recorded by the rule of the run, or else those of our own
numbers. The ceiling is how many come within 10% of a print by us: one of our own draws of synthetic
data, or the mean of as many of our own repeats as the paper has. No reading can be expected to do
better.

A row whose cells all match can still lie below the printed numbers in nearly every cell, which no
verdict on a single cell shows: so whole rows and columns are tested, and the printed ± too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy  # which loads `scipy.special` when it is used: that takes a quarter of a second

from omtl.measures.correction import holm
from omtl.measures.metrics import METRICS
from omtl.tables.cells import ALL_TASKS, as_text, description_of, each_cell, first_cell
from omtl.tables.placebo_test import PLACEBOS, gaps, recorded_placebos
from omtl.tables.verdict import JUDGED, NEAR_WITHIN, shares_of_scale
from omtl.util.seeds import generator

OF_A_RUN = ["table", "reading", "selection"]
"""Columns that name the run of a table."""

BETWEEN = (5, 95)
"""Percentiles of the interval of the ceiling."""

AGREEMENT = (
    *("cells", "within", "floor", "floor_cells", "ceiling", "ceiling_low", "ceiling_high"),
    *("reached", "pairs", "in_order", "close_pairs", "close_in_order"),
)
"""Columns of ``results/reproduced/<id>.agreement.csv``, after those that name the run.

Of `cells` compared, ours have `within` 10% of print, placebos `floor` of `floor_cells`, and a
perfect reading `ceiling`, on average and between the percentiles `BETWEEN`; `reached` is the part
of the way from floor to ceiling, in shares of cells (NaN where there is no way). Of `pairs` of rows
of a column that are printed apart, `in_order` stand in the printed order, and of those printed
within 10% of each other, `close_pairs`, `close_in_order`.
"""

ABOVE, BELOW, LEVEL = "above", "below", "level"
"""Where the cells of a row or column lie: above or below the printed numbers, or undecided."""

LEVEL_OF_TEST = 0.05

FEWEST_CELLS = 3
"""Minimum number of judged cells for testing a row or column."""

F_LEVEL = 0.01
"""Level of the F test that a deviation is what the printed ± stands for."""

TRENDS = (
    *("part", "name", "metric", "cells", "above", "below", "mean_share", "low", "high"),
    *("p_sign", "p_t", "p_holm", "verdict", "spread_ratio", "spreads_differ"),
)
"""Columns of `trends`, and of ``results/reproduced/<id>.trends.csv`` after those of the run.

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


def agreement(cells: pd.DataFrame) -> dict[str, float] | None:
    """Return how far a table's compared cells agree with print (`AGREEMENT`); None without any.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.verdict.judged`.
    """
    judged = judged_cells(cells)
    if judged.empty:
        return None
    asked, n = first_cell(cells), len(judged)
    within = int((judged["share"].abs() <= NEAR_WITHIN).sum())
    floor, floor_cells = _floor(judged, asked)
    perfect = _ceiling(judged, asked)
    least, most = floor / floor_cells, float(perfect.mean()) / n
    reached = (within / n - least) / (most - least) if most > least else np.nan
    of_cells = (n, within, floor, floor_cells, perfect.mean(), *np.percentile(perfect, BETWEEN))
    return dict(zip(AGREEMENT, (*of_cells, reached, *_order(judged)), strict=True))


def agreement_sentence(found: Mapping[str, float]) -> str:
    """Return floor, ours, ceiling and order in one line."""
    way = "" if np.isnan(found["reached"]) else ", {reached:.0%} of the way".format(**found)
    return (
        "floor {floor:.1f} of {floor_cells} (rows permuted), ours {within} of {cells}, "
        "ceiling {ceiling:.1f} [{ceiling_low:.0f}, {ceiling_high:.0f}] (a perfect reading){way}; "
        "{in_order} of {pairs} pairs of rows in the printed order, "
        "{close_in_order} of {close_pairs} of those printed within {close:.0%} of each other"
    ).format(**found, way=way, close=NEAR_WITHIN)


def agreement_rows(cells: pd.DataFrame, found: Mapping[str, float] | None) -> pd.DataFrame:
    """Return the row of ``results/reproduced/<id>.agreement.csv``, if cells are compared."""
    rows = cells[OF_A_RUN].head(1 if found else 0).assign(**(found or {}))
    forms = dict.fromkeys(AGREEMENT, ".0f") | dict.fromkeys(("floor", "ceiling", "reached"), ".3f")
    return as_text(rows.reindex(columns=[*OF_A_RUN, *AGREEMENT]), forms)


def _floor(judged: pd.DataFrame, asked: Any) -> tuple[float, int]:
    """Return how many cells come within 10% of permuted rows on average, and of how many."""
    is_own_rule = asked.selection == description_of(judged).selection
    if is_own_rule and (recorded := recorded_placebos(asked.table, asked.reading)):
        return float(recorded["permuted"]), int(recorded["cells"])
    counts = np.zeros(PLACEBOS)
    for column, part in judged.groupby("dataset", sort=False):
        rng = generator(asked.seed, of="floor", table=asked.table, column=str(column))
        numbers = part.assign(printed=part["published_mean"].astype(float)).pivot(
            index="algorithm", columns=["metric", "task"], values=["printed", "ours_mean"]
        )
        targets, ours = numbers["printed"].to_numpy(), numbers["ours_mean"].to_numpy()
        scales = [METRICS[metric].scale for metric, _ in numbers["printed"].columns.to_list()]
        placebos = targets[[rng.permutation(len(targets)) for _ in range(PLACEBOS)]]
        counts += (gaps(ours, placebos, scales) <= NEAR_WITHIN).sum(axis=(1, 2))
    return float(counts.mean()), len(judged)


def _ceiling(judged: pd.DataFrame, asked: Any) -> np.ndarray:
    """Return how many cells come within 10% of a print by us, in each of `PLACEBOS` prints.

    All cells of a data set are of the same draw, or of the same repeats.
    """
    counts = np.zeros(PLACEBOS)
    for (column, n_repeats), part in judged.groupby(["dataset", "n_repeats"], sort=False):
        rng = generator(asked.seed, of="ceiling", table=asked.table, column=str(column))
        cells = list(each_cell(part))
        size = 1 if cells[0].n_draws > 1 else cells[0].published_repeats
        taken = rng.integers(0, int(n_repeats), (PLACEBOS, size))  # type: ignore[call-overload]
        for cell in cells:
            printed = cell.values[taken].mean(axis=1)
            scale = METRICS[cell.metric].scale(printed)
            counts += np.abs(shares_of_scale(cell.ours_mean - printed, scale)) <= NEAR_WITHIN
    return counts


def _order(judged: pd.DataFrame) -> tuple[int, ...]:
    """Return the pairs of rows printed apart, those in the printed order, and so the close ones."""
    counts = np.zeros(4, dtype=int)
    for _, part in judged.groupby(["dataset", "task", "metric"], sort=False):
        printed, ours = part["published_mean"].to_numpy(dtype=float), part["ours_mean"].to_numpy()
        one, other = np.triu_indices(len(part), k=1)
        apart = printed[one] - printed[other]
        in_order = apart * (ours[one] - ours[other]) > 0.0
        reach = NEAR_WITHIN * np.minimum(np.abs(printed[one]), np.abs(printed[other]))
        close = (apart != 0.0) & (np.abs(apart) <= reach)
        each = (apart != 0.0, in_order, close, close & in_order)
        counts += [np.count_nonzero(which) for which in each]
    return tuple(counts.tolist())


def trends(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the tests of all rows and columns of a table with enough judged cells (`TRENDS`)."""
    judged = judged_cells(cells)
    whole = judged["task"] == ALL_TASKS
    columns = judged["dataset"].where(whole, judged["dataset"] + ", " + judged["task"])
    found = [
        {"part": part, "name": name, "metric": metric, **_test(group)}
        for part, names in (("row", judged["algorithm"]), ("column", columns))
        for (name, metric), group in judged.groupby([names, "metric"], sort=False)
        if len(group) >= FEWEST_CELLS
    ]
    tested = pd.DataFrame(found, columns=TRENDS)
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
    half = float(scipy.special.stdtrit(n - 1, 1.0 - LEVEL_OF_TEST / 2.0) * error)
    p_t = 2.0 * scipy.special.stdtr(n - 1, -abs(mean) / error) if error else float(mean == 0.0)
    differ = group["spread_p"].dropna() < F_LEVEL
    return {
        **{"cells": n, "above": above, "below": below, "mean_share": mean},
        **{"low": mean - half, "high": mean + half},
        "p_sign": min(1.0, 2.0 * scipy.special.bdtr(min(above, below), above + below, 0.5)),
        "p_t": p_t,
        "spread_ratio": group["spread_ratio"].round(4).median(),  # as the CSV has it
        "spreads_differ": str(differ.sum()) if differ.size else "",
    }


def trend_sentences(cells: pd.DataFrame) -> list[str]:
    """Return a sentence for each row and column that lies off print, and one on the ±'s."""
    found = []
    tested, several = trends(cells), cells["metric"].nunique() > 1
    for trend in tested[tested["verdict"] != LEVEL].to_dict("records"):
        side, metric = trend["verdict"], f" ({trend['metric']})" if several else ""
        found.append(
            f"{trend['part']} {trend['name']}{metric} lies {side} print: {trend[side]} of "
            f"{trend['cells']} cells, {100 * trend['mean_share']:+.1f}% on average "
            f"(p = {trend['p_holm']:.2g})"
        )
    spreads = judged_cells(cells)[["spread_ratio", "spread_p"]].dropna()
    if len(spreads):
        found.append(
            "our deviation over shuffles of the same data is, in the median, "
            f"{spreads['spread_ratio'].median():.2f} times the printed ±; in "
            f"{(spreads['spread_p'] < F_LEVEL).sum()} of {len(spreads)} "
            f"cells it is not what the ± stands for (F test at {100 * F_LEVEL:g}%)"
        )
    return found


def trend_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``results/reproduced/<id>.trends.csv``, as text."""
    forms = dict.fromkeys(("mean_share", "low", "high", "spread_ratio"), ".4f")
    forms |= dict.fromkeys(("p_sign", "p_t", "p_holm"), ".4g")
    rows = trends(cells).assign(**cells[OF_A_RUN].iloc[0])
    return as_text(rows[[*OF_A_RUN, *TRENDS]], forms)
