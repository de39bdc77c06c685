"""The placebo test of a search of readings: what its recorded trials find of placebos.

For each column of a table, the search is modelled as choosing the closest recorded trial, and its
result as the number of cells within 10% of the printed numbers. The same choice among the same
trials is made for placebos: the printed numbers permuted between the algorithms, and each printed
number moved by exp(N(0, 0.2²)) - 1 of its metric's scale, which multiplies most of them by
exp(N(0, 0.2²)). A reading that captures how the authors worked beats both. It
also holds on data that did not choose it: the trial that is closest on one half of the algorithms
is scored on the other half.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omtl.experiment.descriptions import describe, published
from omtl.experiment.readings import SEARCHED, questions
from omtl.measures.metrics import METRICS, Scale
from omtl.tables.verdict import NEAR_WITHIN, shares_of_scale
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS
from omtl.util.result_files import read_csv, rows_in, write_csv
from omtl.util.seeds import generator

FARTHEST = 0.25
"""Maximum distance of a cell, as a share of the metric's scale."""

PLACEBOS = 1000
"""Number of placebos of each kind."""

AT_ONCE = 1_000_000
"""Number of distances from placebos that are in memory at once, about."""

PERTURBED = 0.2
"""Standard deviation of the logarithm by which printed numbers are perturbed on their scale."""

SPLITS = 200
"""Number of splits of the algorithms into halves."""

WHOLE = "(all)"
"""The row for all columns of a table together."""

HALVES = ("searched_half", "held_out_half", "held_out_literal")
"""Shares of cells within 10%: on the half of the algorithms that the trial was chosen by, on the
other half, and of the literal trial there."""


def placebo_test(table: str, record: pd.DataFrame, cells: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return how many printed numbers a search finds, and how many of placebos.

    These are the rows of ``results/readings/<table>.placebo.csv``: `trials` may be chosen from
    under the reading, `cells` are compared. `literal` and `found` are how many cells are within
    10% of print in the literal trial and in the closest one, `permuted` and `perturbed` how many
    the closest trial has of a placebo on average, each with the share of placebos (the real numbers
    counted among them) of which it has as many as of the printed ones. The last are `HALVES`.

    Parameters
    ----------
    table : str
        The table's id.
    record, cells : DataFrame
        The trials of its search, and our number for each cell of each.
    seed : int
    """
    asked, printed = questions(describe("table", table).paper), pd.DataFrame(published(table))
    rows = []
    for reading in SEARCHED:

        def may_take(answers: str, reading: str = reading) -> bool:
            given = json.loads(answers).items()
            return all(
                str(answer) in asked[q].offered(reading) for q, answer in given if q in asked
            )

        found: dict[str, dict[str, Any]] = {}
        for column in dict.fromkeys(record["column"]):
            allowed = (record["column"] == column) & record["answers"].map(may_take)
            trials = np.flatnonzero(allowed).tolist()
            there = printed[printed["dataset"] == column]
            numbers, targets, scales = _matrices(cells, there, trials)
            rng = generator(seed, of="luck", table=table, column=column, reading=reading)
            found[column] = {"trials": len(trials), "cells": targets.size}
            found[column] |= _within_reach(numbers, targets, scales, rng)
        groups = {column: [one] for column, one in found.items()}
        groups |= {WHOLE: list(found.values())} if len(found) > 1 else {}
        rows += [
            {"table": table, "reading": reading, "column": name, **_together(group)}
            for name, group in groups.items()
        ]
    return pd.DataFrame(rows)


def _matrices(
    cells: pd.DataFrame, printed: pd.DataFrame, trials: list[int]
) -> tuple[np.ndarray, np.ndarray, list[Scale]]:
    """Return our numbers, trials × algorithms × numbers of each, the printed ones, the scales."""
    here = cells[cells["trial"].isin(trials)]
    wide = here.pivot(index="trial", columns=["algorithm", "task", "metric"], values="ours")
    wide = wide.reindex(trials)
    theirs = printed.set_index(["algorithm", "task", "metric"])
    algorithms = list(dict.fromkeys(wide.columns.get_level_values("algorithm")))
    places = list(dict.fromkeys(place[1:] for place in wide.columns.to_list()))
    every = pd.MultiIndex.from_tuples([(a, *place) for a in algorithms for place in places])
    shape = (len(algorithms), len(places))
    ours = wide.reindex(columns=every).to_numpy(dtype=float).reshape(len(trials), *shape)
    known = theirs["mean"].astype(float).reindex(every).to_numpy().reshape(shape)
    compared = every.isin(wide.columns).reshape(shape)
    scales = [METRICS[place[-1]].scale for place in places]
    return ours, np.where(compared, known, np.nan), scales


def _sizes(targets: np.ndarray, scales: list[Scale]) -> np.ndarray:
    """Return what the distances from targets, [placebos ×] algorithms × numbers, are shares of."""
    each = [scale(targets[..., number]) for number, scale in enumerate(scales)]
    return np.abs(np.stack(each, axis=-1))


def gaps(ours: np.ndarray, targets: np.ndarray, scales: list[Scale]) -> np.ndarray:
    """Return each cell's distance as a share of its scale; NaN without a target."""
    gaps = np.abs(shares_of_scale(ours - targets, _sizes(targets, scales)))
    return np.where(np.isnan(targets), np.nan, np.where(np.isnan(gaps), FARTHEST, gaps))


def _closest(gaps: np.ndarray) -> Any:
    """Return the trial that a search would choose, or that of each placebo."""
    return np.argmin(np.nanmean(np.minimum(gaps, FARTHEST), axis=(-2, -1)), axis=-1)


def _within_of_closest(ours: np.ndarray, placebos: np.ndarray, scales: list[Scale]) -> np.ndarray:
    """Return how many cells of the trial that is closest to each placebo are within its reach."""
    counts = []
    for some in np.array_split(placebos, 1 + placebos.shape[0] * ours.size // AT_ONCE):
        its = gaps(ours, some[:, np.newaxis], scales)
        closest = its[np.arange(len(some)), _closest(its)]
        counts.append((closest <= NEAR_WITHIN).sum(axis=(-2, -1)))
    return np.concatenate(counts)


def _within_reach(
    ours: np.ndarray, targets: np.ndarray, scales: list[Scale], rng: np.random.Generator
) -> dict[str, Any]:
    """Return how many cells of a column are within reach.

    Those of the literal trial, which is the first, and of the closest one; of the closest to each
    placebo of both kinds; and their shares over the splits, in the order of `HALVES`.
    """
    distances = gaps(ours, targets, scales)
    within = distances <= NEAR_WITHIN
    n_algorithms = len(targets)

    order = [rng.permutation(n_algorithms) for _ in range(PLACEBOS)]
    factors = np.exp(rng.normal(0.0, PERTURBED, (PLACEBOS, *targets.shape)))
    perturbed = targets + _sizes(targets, scales) * (factors - 1.0)
    compared = ~np.isnan(targets)

    def share(trial: int, algorithms: np.ndarray) -> float:
        return within[trial, algorithms].sum() / max(1, compared[algorithms].sum())

    splits = []
    for _ in range(SPLITS):
        mine, other = np.split(rng.permutation(n_algorithms), [max(1, n_algorithms // 2)])
        chosen = _closest(distances[:, mine])
        splits.append((share(chosen, mine), share(chosen, other), share(0, other)))
    return {
        "literal": int(within[0].sum()),
        "found": int(within[_closest(distances)].sum()),
        "permuted": _within_of_closest(ours, targets[order], scales),
        "perturbed": _within_of_closest(ours, perturbed, scales),
        "shares": np.mean(splits, axis=0),
    }


def _together(group: list[dict[str, Any]]) -> dict[str, str]:
    """Return what is within reach of one column, or of several together, as text."""
    total = {name: sum(one[name] for one in group) for name in group[0] if name != "shares"}
    row = {name: str(total[name]) for name in ("trials", "cells", "literal", "found")}
    for name in ("permuted", "perturbed"):
        counts = total[name]
        p = (1 + int((counts >= total["found"]).sum())) / (1 + counts.size)
        row |= {name: f"{counts.mean():.2f}", f"{name}_p": f"{p:.4f}"}
    weights = [one["cells"] for one in group]
    halves = np.average([one["shares"] for one in group], axis=0, weights=weights)
    return row | {name: f"{share:.3f}" for name, share in zip(HALVES, halves, strict=True)}


def write_placebo_test(table: str, seed: int = 0) -> Path:
    """Write the placebo test of a table's recorded search; return the path.

    Raises
    ------
    UserError
        If no search of the table is recorded with our number for each cell.
    """
    folder = RESULTS / "readings"
    paths = [folder / f"{table}.csv", folder / f"{table}.cells.csv"]
    if not all(path.exists() for path in paths):
        raise UserError(
            f"no search of {table} is recorded with its cells; run: omtl audit readings {table}"
        )
    cells = pd.read_csv(paths[1], dtype={"task": str})
    path = folder / f"{table}.placebo.csv"
    write_csv(path, placebo_test(table, read_csv(paths[0]), cells, seed))
    return path


def recorded_placebos(
    table: str, reading: str, results: Path = RESULTS
) -> Mapping[str, str] | None:
    """Return the row of a whole table in the placebo test of a reading; None without any."""
    rows = rows_in(results / "readings" / f"{table}.placebo.csv")
    return next((row for row in reversed(rows) if row["reading"] == reading), None)
