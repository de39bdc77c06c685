"""How far a table agrees with print: what luck gets, what a perfect reading gets, the rows' order.

The floor is how many cells come within 10 % of placebos, the printed rows permuted: those that the
closest trial of a search finds, if one is recorded, or else those of our own numbers. The ceiling
is how many come within 10 % of a print by us: one of our own draws of synthetic data, or the mean
of as many of our own repeats as the paper has. No reading can be expected to do better.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from omtl.measures.metrics import METRICS
from omtl.tables.cells import each_cell, first_cell
from omtl.tables.placebo_test import PLACEBOS, gaps, luck_under
from omtl.tables.trends import judged_cells
from omtl.tables.verdict import CLOSE
from omtl.util.seeds import generator

BETWEEN = (5, 95)
"""Percentiles of the interval of the ceiling."""

COLUMNS = (
    *("cells", "within", "floor", "floor_cells", "ceiling", "ceiling_low", "ceiling_high"),
    *("reached", "pairs", "in_order", "close_pairs", "close_in_order"),
)
"""Columns of ``results/reproduced/<id>.agreement.csv``, after those that name the run.

Of `cells` compared, ours have `within` 10 % of print, placebos `floor` of `floor_cells`, and a
perfect reading `ceiling`, on average and between the percentiles `BETWEEN`; `reached` is the part
of the way from floor to ceiling, in shares of cells. Of `pairs` of rows of a column that are
printed apart, `in_order` stand in the printed order, and of those printed within 10 % of each
other, `close_pairs`, `close_in_order`.
"""


class Agreement(NamedTuple):
    """The numbers of `COLUMNS`."""

    cells: int
    within: int
    floor: float
    floor_cells: int
    ceiling: float
    ceiling_low: float
    ceiling_high: float
    pairs: int
    in_order: int
    close_pairs: int
    close_in_order: int

    @property
    def reached(self) -> float:
        """The part of the way from floor to ceiling; NaN where there is no way."""
        floor, ceiling = self.floor / self.floor_cells, self.ceiling / self.cells
        ours = self.within / self.cells
        return (ours - floor) / (ceiling - floor) if ceiling > floor else float("nan")

    @property
    def row(self) -> dict[str, str]:
        """The row of the CSV, as text."""
        digits = {"floor": 3, "ceiling": 3, "reached": 3}
        return {
            name: f"{getattr(self, name):.{digits.get(name, 0)}f}".replace("nan", "")
            for name in COLUMNS
        }

    @property
    def line(self) -> str:
        """Floor, ours, ceiling and order in one line."""
        way = "" if np.isnan(self.reached) else f", {self.reached:.0%} of the way"
        return (
            f"floor {self.floor:.1f} of {self.floor_cells} (rows permuted), ours {self.within} of "
            f"{self.cells}, ceiling {self.ceiling:.1f} [{self.ceiling_low:.0f}, "
            f"{self.ceiling_high:.0f}] (a perfect reading){way}; {self.in_order} of {self.pairs} "
            f"pairs of rows in the printed order, {self.close_in_order} of {self.close_pairs} of "
            f"those printed within {CLOSE:.0%} of each other"
        )


def agreement(cells: pd.DataFrame) -> Agreement | None:
    """Return how far a table's compared cells agree with print; None if none is compared.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.scoring.judged`.
    """
    judged = judged_cells(cells)
    if judged.empty:
        return None
    asked = first_cell(cells)
    floor, floor_cells = _floor(judged, asked)
    perfect = _ceiling(judged, asked)
    low, high = np.percentile(perfect, BETWEEN).tolist()
    within = int((judged["share"].abs() <= CLOSE).sum())
    bounds = (floor, floor_cells, float(perfect.mean()), low, high)
    return Agreement(len(judged), within, *bounds, *_order(judged))


def agreement_rows(cells: pd.DataFrame, found: Agreement | None) -> pd.DataFrame:
    """Return the row of ``results/reproduced/<id>.agreement.csv``, if cells are compared."""
    asked = first_cell(cells)
    of = {"table": asked.table, "reading": asked.reading, "selection": asked.selection}
    return pd.DataFrame([] if found is None else [of | found.row], columns=[*of, *COLUMNS])


def _floor(judged: pd.DataFrame, asked: Any) -> tuple[float, int]:
    """Return how many cells come within 10 % of permuted rows on average, and of how many."""
    recorded = luck_under(asked.table, asked.reading)
    if recorded is not None:
        return float(recorded["permuted"]), int(recorded["cells"])
    counts = np.zeros(PLACEBOS)
    for column, part in judged.groupby("dataset", sort=False):
        rng = generator(asked.seed, of="floor", table=asked.table, column=str(column))
        numbers = part.assign(printed=part["published_mean"].astype(float)).pivot(
            index="algorithm", columns=["metric", "task"], values=["printed", "ours_mean"]
        )
        targets, ours = numbers["printed"].to_numpy(), numbers["ours_mean"].to_numpy()
        scales = [METRICS[metric].scale for metric, _ in numbers["printed"].columns.to_list()]
        for n in range(PLACEBOS):
            placebo = targets[rng.permutation(len(targets))]
            counts[n] += (gaps(ours, placebo, scales) <= CLOSE).sum()
    return float(counts.mean()), len(judged)


def _ceiling(judged: pd.DataFrame, asked: Any) -> np.ndarray:
    """Return how many cells come within 10 % of a print by us, in each of `PLACEBOS` prints.

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
            share = (cell.ours_mean - printed) / METRICS[cell.metric].scale(printed)
            counts += np.abs(share) <= CLOSE
    return counts


def _order(judged: pd.DataFrame) -> tuple[int, int, int, int]:
    """Return the pairs of rows printed apart, those in the printed order, and so the close ones."""
    found = np.zeros(4, dtype=int)
    printed = judged["published_mean"].astype(float)
    for _, part in judged.assign(mean=printed).groupby(["dataset", "task", "metric"], sort=False):
        for one, other in combinations(zip(part["mean"], part["ours_mean"], strict=True), 2):
            apart = one[0] - other[0]
            if not apart:
                continue
            right = apart * (one[1] - other[1]) > 0.0
            close = abs(apart) <= CLOSE * min(abs(one[0]), abs(other[0]))
            found += (1, right, close, close and right)
    pairs, in_order, close, close_in_order = found.tolist()
    return pairs, in_order, close, close_in_order
