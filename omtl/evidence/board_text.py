"""What the board says: three lines on each learner, from paired tests, and notes on its order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from omtl.evidence.battles import agreement_of_halves, numbers
from omtl.evidence.comparisons import LEVEL, p_of
from omtl.measures.correction import holm
from omtl.measures.metrics import METRICS
from omtl.util.seeds import generator

NAMED = 4
"""Maximum number of data sets or rivals named in a line."""

MOST = 0.5
"""Share of the other learners to beat on a data set for it to be named."""

FIRST, HALVES = 10, 200
"""Learners that count in how alike halves of the data order them, and how often they are drawn."""


def decided(values: np.ndarray) -> np.ndarray:
    """Return which learners are better than which, by paired tests.

    Parameters
    ----------
    values : ndarray of shape (n_learners, n_repeats)
        Numbers of which the lower is the better; NaN where a learner has none.

    Returns
    -------
    ndarray of shape (n_learners, n_learners)
        1 if the row's learner is better than the column's, -1 if it is worse, 0 if the paired t
        test, with Holm's correction over all comparisons of the row's learner, does not decide.
    """
    difference = values[:, None, :] - values[None, :, :]
    mean, p = difference.mean(axis=2), p_of(difference)
    found = np.zeros(mean.shape, dtype=int)
    for i in range(len(values)):
        others = np.flatnonzero(~np.isnan(mean[i]) & (np.arange(len(values)) != i))
        sure = others[holm(p[i, others]) < LEVEL]
        found[i, sure] = -np.sign(mean[i, sure]).astype(int)
    return found


def lines(found: pd.DataFrame, metric: str, names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return three sentences about each learner: where it wins, where it loses, and against which.

    Parameters
    ----------
    found : DataFrame
        Rows of `omtl.evidence.board.CELLS`.
    metric : str
    names : mapping
        The display names of data sets.
    """
    learners, values = numbers(found)
    labels = found.drop_duplicates("algorithm").set_index("algorithm")["label"]
    sign = METRICS[metric].sign
    on = {names.get(data, data): decided(sign * each) for data, each in values.items()}
    called = [labels[name] for name in learners]
    of_learners = {}
    for i, learner in enumerate(learners):
        wins, losses = ({data: each[i] == side for data, each in on.items()} for side in (1, -1))
        of_learners[learner] = [
            _where("Better than most others", wins, len(learners) - 1),
            _where("Worse than most others", losses, len(learners) - 1),
            f"Most often better than {_most_often(called, wins)}; "
            f"most often worse than {_most_often(called, losses)}.",
        ]
    return of_learners


def _where(what: str, found: Mapping[str, np.ndarray], rivals: int) -> str:
    """Return on which data sets most rivals are among those that are found."""
    counts = {data: int(each.sum()) for data, each in found.items()}
    best = sorted(
        (data for data in counts if counts[data] > MOST * rivals), key=lambda d: -counts[d]
    )
    if not best:
        return f"{what} on no data set."
    shown = ", ".join(f"{data} ({counts[data]} of {rivals})" for data in best[:NAMED])
    more = f" and {len(best) - NAMED} more" if len(best) > NAMED else ""
    return f"{what} on {len(best)} of {len(counts)} data sets: {shown}{more}."


def _most_often(labels: Sequence[str], found: Mapping[str, np.ndarray]) -> str:
    """Return the two rivals that are found on most data sets."""
    counts = np.sum([*found.values()], axis=0)
    if not counts.any():
        return "none"
    order = np.argsort(-counts, kind="stable")[:2]
    return ", ".join(f"{labels[j]} (on {counts[j]} of {len(found)})" for j in order if counts[j])


def order_notes(
    found: pd.DataFrame, ranked: pd.DataFrame, config: Mapping[str, Any], seed: int = 0
) -> list[str]:
    """Return how far the order depends on the data sets, and whose learners are on top.

    Parameters
    ----------
    found : DataFrame
        Rows of `CELLS`.
    ranked : DataFrame
        Their `ranking`.
    config : mapping
        The board's; its ``own`` names the learners of this project's own making.
    seed : int
        Seed of the halves.
    """
    notes = []
    values = [METRICS[config["metric"]].sign * one for one in numbers(found)[1].values()]
    agreement = agreement_of_halves(values, FIRST, HALVES, generator(seed, of="halves"))
    if len(ranked) > FIRST and not np.isnan(agreement):
        notes.append(
            f"Between random halves of the data sets, Kendall's τ of the first {FIRST} learners is "
            f"{agreement:.2f} on average."
        )
    if "real" in ranked and len(ranked) > FIRST:
        alike = ranked["real"].corr(ranked["synthetic"], method="spearman")
        notes.append(
            f"Ratings on real and on synthetic data have a rank correlation of {alike:.2f}."
        )
    own = ranked[ranked["algorithm"].isin(config.get("own", {}))]
    first = own[own.index < FIRST]
    if len(first):
        notes.append(
            f"{len(own)} of the {len(ranked)} learners are this project's own, {len(first)} of "
            f"them among the first {FIRST}: {', '.join(first['label'])}."
        )
    return notes
