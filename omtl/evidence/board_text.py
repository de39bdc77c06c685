"""The board's three-line summary of a learner, from significant paired tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from omtl.evidence.board import numbers
from omtl.evidence.comparisons import LEVEL, p_of
from omtl.measures.correction import holm
from omtl.measures.metrics import METRICS

NAMED = 4
"""Maximum number of data sets or rivals named in a line."""

MOST = 0.5
"""Share of the other learners to beat on a data set for it to be named."""


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
    sign = 1.0 if METRICS[metric].lower_is_better else -1.0
    on = {names.get(data, data): decided(sign * each) for data, each in values.items()}
    told = {}
    for i, learner in enumerate(learners):
        rivals = len(learners) - 1
        wins = {data: int((each[i] == 1).sum()) for data, each in on.items()}
        losses = {data: int((each[i] == -1).sum()) for data, each in on.items()}
        beaten = np.sum([each[i] == 1 for each in on.values()], axis=0)
        lost = np.sum([each[i] == -1 for each in on.values()], axis=0)
        told[learner] = [
            _where("Better than most others", wins, rivals),
            _where("Worse than most others", losses, rivals),
            _against([labels[name] for name in learners], beaten, lost, len(on)),
        ]
    return told


def _where(what: str, counts: Mapping[str, int], rivals: int) -> str:
    best = sorted(
        (data for data in counts if counts[data] > MOST * rivals), key=lambda d: -counts[d]
    )
    if not best:
        return f"{what} on no data set."
    shown = ", ".join(f"{data} ({counts[data]} of {rivals})" for data in best[:NAMED])
    more = f" and {len(best) - NAMED} more" if len(best) > NAMED else ""
    return f"{what} on {len(best)} of {len(counts)} data sets: {shown}{more}."


def _against(labels: Sequence[str], beaten: np.ndarray, lost: np.ndarray, n: int) -> str:
    def most(counts: np.ndarray) -> str:
        if not counts.any():
            return "none"
        order = np.argsort(-counts, kind="stable")[:2]
        return ", ".join(f"{labels[j]} (on {counts[j]} of {n})" for j in order if counts[j])

    return f"Most often better than {most(beaten)}; most often worse than {most(lost)}."
