"""Playing only as many repeats as a table's verdicts need (``--repeats auto``)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.engine import Outcome
from omtl.compute.store import CachedStore
from omtl.measures.sequential import reach_of_rest
from omtl.tables.cells import each_cell
from omtl.tables.play import play_cells
from omtl.tables.request import Request
from omtl.tables.scoring import printed_of, scored, std_of
from omtl.tables.verdict import JUDGED, MISSING, VALUE, PrintedNumber, difference

ERROR = 0.01
"""Allowed probability that a cell's verdict would be another one with all repeats."""

FIRST = 3
"""Number of plays before anything is decided."""

GROWTH = 1.5
"""How many times as many repeats are played before it is looked at again."""

SETTLED, ALL_PLAYED = "settled", "all played"
NOT_PLAYED, WITH_THE_OTHERS = "not played", "with the others"
"""Why a cell was played no further (column ``stopped``)."""


def play_until_settled(cells: pd.DataFrame, request: Request) -> tuple[pd.DataFrame, Outcome]:
    """Play the cells of a table in batches of repeats, each until its verdict is settled.

    Cells of one algorithm on one data set share their units, so they stop together. Cells that are
    not compared with print, such as our baselines, are played until the last one that is stops; if
    none is, as in a table of times, all repeats are played. The cells that take part, the order of
    the repeats and the bound are fixed beforehand, so that the same seed gives the same numbers
    whatever is stored already.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.cells.planned`, with all repeats that may be played.
    request : Request

    Returns
    -------
    cells : DataFrame
        The judged cells. ``asked_repeats`` is how many repeats each was played for, and ``stopped``
        says why no more.
    outcome : Outcome
    """
    outcome, done, left, load = Outcome(), [], cells, CachedStore(request.store)
    is_compared = cells["kind"] == VALUE
    for count in _counts(cells):
        part = left.assign(asked_repeats=left["asked_repeats"].clip(upper=count))
        outcome.add(play_cells(part, request))
        judged = scored(part, load, outcome.failed)
        total = left["asked_repeats"].to_numpy()
        why = [_why_to_stop(c, n) for c, n in zip(each_cell(judged), total, strict=True)]
        judged = judged.assign(stopped=why)
        together = [judged["dataset"], judged["algorithm"]]
        stops = judged["stopped"].ne("").groupby(together).transform("all")
        if is_compared.any() and stops[is_compared[stops.index]].all():
            judged["stopped"] = judged["stopped"].replace("", WITH_THE_OTHERS)
            stops[:] = True
        done.append(judged[stops])
        left = left[~stops]
        if left.empty:
            break
    return pd.concat(done).loc[cells.index], outcome


def _counts(cells: pd.DataFrame) -> Iterator[int]:
    """Yield after how many of the paper's repeats it is looked, in growing steps."""
    most = int(cells["asked_repeats"].max())
    plays = max(1, *(experiment.plays for experiment in cells["experiment"]))
    count = math.ceil(FIRST / plays)
    while count < most:
        yield count
        count = math.ceil(GROWTH * count)
    yield most


def _why_to_stop(cell: Any, total: int) -> str:
    """Return why a cell needs no more repeats, of `total` in all; empty if it does."""
    if cell.asked_repeats >= total:
        return ALL_PLAYED
    if cell.verdict == MISSING:
        return NOT_PLAYED
    if cell.verdict not in JUDGED:
        return ""
    if not math.isfinite(cell.delta):
        return SETTLED  # off, however often it diverges
    in_all = cell.n_repeats * total // cell.asked_repeats
    settled = is_settled(printed_of(cell), cell.values, in_all, cell.experiment.drawn)
    return SETTLED if settled else ""


def is_settled(printed: PrintedNumber, numbers: np.ndarray, total: int, drawn: bool) -> bool:
    """Return whether no mean that all plays can still have would get another verdict than now.

    Parameters
    ----------
    printed : PrintedNumber
    numbers : ndarray of shape (n_plays,)
        Ours so far.
    total : int
        The number of plays that there may be.
    drawn : bool
        Whether each has its own draw of the data.
    """
    mean, std = float(numbers.mean()), std_of(numbers)
    reach = reach_of_rest(std, numbers.size, total, ERROR)
    if not math.isfinite(reach):
        return False
    now = difference(printed, mean, std, numbers.size, drawn)
    sign, away = math.copysign(1.0, now.delta), abs(now.delta)

    def verdict_at(away: float) -> str:
        return difference(printed, float(printed.mean) + sign * away, std, total, drawn).word

    return now.word == verdict_at(max(0.0, away - reach)) == verdict_at(away + reach)
