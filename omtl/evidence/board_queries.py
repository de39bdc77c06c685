"""Queries on the board's cells: what sharing gains, learners' summaries and memory, the order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from omtl.evidence.battles import agreement_of_halves, numbers
from omtl.evidence.board import BoardPlan
from omtl.evidence.comparisons import LEVEL, beside, p_of
from omtl.experiment.playing import new_learner, setting_of
from omtl.experiment.unit import Unit
from omtl.measures.correction import holm
from omtl.measures.metrics import METRICS
from omtl.util.seeds import generator

SHARING = ("family", "dataset", "beside", "ratio", "low", "high", "outcome")
"""A row for each family, data set and what the sharing learner stands beside.

`ratio` is the geometric mean over the repeats of its mistakes over the other's, with an interval of
95 %; `outcome` is of the region of practical equivalence (`omtl.evidence.comparisons.REGION`).
"""

BESIDE = ("alone", "pooled")


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
            for other in BESIDE:
                if {members["shared"], members.get(other)} <= at.keys():
                    mine, theirs = (each[at[members[kind]]] for kind in ("shared", other))
                    row = {"family": family, "dataset": dataset, "beside": other}
                    rows.append(row | beside(mine, theirs, lower_is_better=True))
    return pd.DataFrame(rows, columns=SHARING)


def count_sharing(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often sharing is better, equivalent, undecided and worse, by family."""
    order = ["better", "equivalent", "undecided", "worse"]
    table = pd.crosstab([rows["family"], rows["beside"]], rows["outcome"])
    return table.reindex(columns=order, fill_value=0).reset_index()


NAMED = 4
"""Maximum number of data sets or learners named in a line."""

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


def summary_lines(
    found: pd.DataFrame, metric: str, names: Mapping[str, str]
) -> dict[str, list[str]]:
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


def _where(what: str, found: Mapping[str, np.ndarray], others: int) -> str:
    """Return on which data sets most others are among those that are found."""
    counts = {data: int(each.sum()) for data, each in found.items()}
    best = sorted(
        (data for data in counts if counts[data] > MOST * others), key=lambda d: -counts[d]
    )
    if not best:
        return f"{what} on no data set."
    shown = ", ".join(f"{data} ({counts[data]} of {others})" for data in best[:NAMED])
    more = f" and {len(best) - NAMED} more" if len(best) > NAMED else ""
    return f"{what} on {len(best)} of {len(counts)} data sets: {shown}{more}."


def _most_often(labels: Sequence[str], found: Mapping[str, np.ndarray]) -> str:
    """Return the two learners that are found on most data sets."""
    counts = np.sum([*found.values()], axis=0)
    if not counts.any():
        return "none"
    order = np.argsort(-counts, kind="stable")[:2]
    return ", ".join(f"{labels[j]} (on {counts[j]} of {len(found)})" for j in order if counts[j])


def state_bytes(board: BoardPlan, found: pd.DataFrame) -> list[int | None]:
    """Return the size in bytes of the state of each cell that has numbers."""
    cells = zip(found["dataset"], found["algorithm"], found["values"], strict=True)
    return [
        _bytes_of_unit(board.units[str(dataset), str(name)][0]) if values else None
        for dataset, name, values in cells
    ]


def _bytes_of_unit(unit: Unit) -> int:
    """Return the size in bytes of the state of the first point of a unit's grid."""
    setting = setting_of(unit)
    shape = replace(setting, protocol={"stream": "rounds", **setting.protocol}).played()[2]
    learner = new_learner(unit.algorithm, unit.algorithm.points[0])
    make = getattr(learner, "in_common", None)
    return bytes_of(learner.new_state(shape, *(() if make is None else (make(shape),))))


def bytes_of(state: Any) -> int:
    """Return the size in bytes of all arrays of a state."""
    if isinstance(state, np.ndarray):
        return state.nbytes
    if isinstance(state, Mapping):
        return sum(map(bytes_of, state.values()))
    if isinstance(state, list | tuple):
        return sum(map(bytes_of, state))
    return sum(map(bytes_of, vars(state).values())) if hasattr(state, "__dict__") else 0


FIRST, HALVES = 10, 200
"""Learners that count in how alike halves of the data order them, and how often they are drawn."""


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
    if len(ranked) > FIRST and ranked["real"].notna().all():
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
