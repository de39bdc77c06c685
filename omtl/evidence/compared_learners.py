"""A learner compared with others on the same streams: played and tested.

A comparison is a frame with a row for each learner on a data set (`COLUMNS`). Those of several data
sets are one below the other, told apart by the column ``dataset``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.engine import run_units, why_lacking
from omtl.compute.store import Store
from omtl.evidence.comparisons import (
    ABOVE,
    BELOW,
    BETTER,
    EQUIVALENT,
    LEVEL,
    UNDECIDED,
    WORSE,
    beside,
    compare_pairs,
    interval_of,
)
from omtl.experiment.composition import ComposedRun
from omtl.experiment.playing import lacking_methods, learner_class, protocol_module
from omtl.experiment.selection import as_played, select
from omtl.experiment.specs import AlgorithmSpec, ProtocolSpec, SelectionSpec, network_label
from omtl.experiment.unit import CONDITIONAL, ONE_DATA_SET, Experiment, Result
from omtl.measures.correction import holm
from omtl.measures.metrics import METRICS, Metric
from omtl.protocols.record_schema import measured_arrays
from omtl.tables.scoring import check_is_measured, diverged_in, numbers_at, why_unkept
from omtl.tables.verdict import std_of
from omtl.util.errors import UserError

WORDS = {BETTER: "win", EQUIVALENT: "tie", WORSE: "loss", UNDECIDED: "undecided"}
"""What practical equivalence says of a learner beside another."""

PLACES = 100
"""Places at which curves of repeats are compared whose checkpoints differ."""

COLUMNS = (
    *("algorithm", "label", "metric", "n_repeats", "mean", "std", "low", "high"),
    *("difference", "difference_low", "difference_high", "p_holm", "significance"),
    *("ratio", "ratio_low", "ratio_high", "outcome", "why"),
)
"""Columns of a comparison that are written: a row for each learner, the best mean first.

`low` and `high` are the interval of the mean, NaN if it is unbounded. `difference` is that of the
learner that was asked for and the row's, `p_holm` corrected for all that are compared,
`significance` what follows from it. `ratio` is that of their numbers, `outcome` what it says of
practical equivalence. A row without numbers has the reason in `why`.

The frame also has objects: the `values` of the repeats, the `params` that were chosen in each, the
cumulative error rates `curves` (%), of shape (n_repeats, n_checkpoints), after `seen` examples; and
`is_mine`, whether the row is that of the learner that was asked for, and `repeats_are_of`.
"""


def default_selection(metric: str) -> str:
    """Return the rule without hindsight that chooses for a metric."""
    if metric in ("absolute_error", "square_error", "test_absolute_error"):
        return "progressive_absolute"
    return "cv5" if metric == "auc" else "progressive"


def check_metric(rule: SelectionSpec, protocol: ProtocolSpec, metric: str) -> None:
    """Refuse a rule that does not go with a metric, and a protocol that does not measure it.

    Raises
    ------
    UserError
        If the rule chooses by mistakes and the metric is the area under the curve, or the other way
        round; or if the rule plays several points in turn, of whose metric nothing is kept.
    """
    by, for_auc = rule.most or rule.least, metric == "auc"
    if rule.rule not in ("cross_validation", "fixed") and for_auc != (by == "auc"):
        raise UserError(
            f"selection {rule.name} chooses by {by}, not for {metric}; use selection="
            f"{'cv5 or oracle_auc' if for_auc else 'prefix or oracle'}"
        )
    check_is_measured(protocol, metric)
    arrays = measured_arrays(protocol.module, protocol.settings)
    if arrays is not None and (why := why_unkept(METRICS[metric], arrays, rule)):
        raise UserError(why)


def tuned(name: str, grids: Mapping[str, Mapping[str, list[Any]]]) -> AlgorithmSpec:
    """Return an algorithm with some hyper-parameters searched."""
    grid = {f"algorithm.*.grid.{key}": values for key, values in grids.get(name, {}).items()}
    return AlgorithmSpec.named(name).patched(grid)


def baselines(protocol: ProtocolSpec, names: Sequence[str]) -> list[str]:
    """Return those of some algorithms that have what a protocol needs.

    Raises
    ------
    UserError
        If the protocol's module cannot be imported.
    """
    module = protocol_module(protocol.module)
    kinds = {name: learner_class(AlgorithmSpec.named(name).learner) for name in names}
    return [name for name, kind in kinds.items() if not lacking_methods(kind, module)]


def play_learners(
    composed: ComposedRun,
    others: Sequence[str | AlgorithmSpec],
    store: Store,
    metric: str = "error",
    grids: Mapping[str, Mapping[str, list[Any]]] | None = None,
) -> pd.DataFrame:
    """Play a learner and others on the same streams, and compare them (`judge_learners`).

    Parameters
    ----------
    composed : ComposedRun
        The learner, and on what it is played.
    others : sequence of str or AlgorithmSpec
        The algorithms, by name or specified; each has its own grid, and the same rule chooses in
        all.
    store : Store
    metric : str
        A name of `omtl.measures.metrics.METRICS`.
    grids : mapping, optional
        Values to choose hyper-parameters of others from, by algorithm and hyper-parameter.

    Raises
    ------
    UserError
        If the rule does not choose for the metric, an algorithm is unknown, there is none but the
        learner, the learner itself cannot be played, or the protocol does not measure the metric.
    """
    by = METRICS[metric]
    check_metric(composed.selection, composed.experiment.protocol, metric)
    reading = composed.reading.for_dataset(composed.dataset.name)
    mine = composed.algorithm
    specs = {mine.name: mine}
    for other in others:
        spec = reading(tuned(other, grids or {})) if isinstance(other, str) else other
        if specs.setdefault(spec.name, spec) != spec and spec is other:
            raise UserError(f"two learners are called {spec.name!r}; give one another name")
    if len(specs) == 1:
        raise UserError(f"{mine.label} is compared with nothing; name other algorithms")
    experiments = [replace(composed, algorithm=each).experiment for each in specs.values()]
    units = [each.repeats(composed.seed, composed.repeats) for each in experiments]
    outcome = run_units([*chain(*units)], store, composed.parallel)
    rows = []
    labels = labels_apart([*map(learner_label, experiments)], [*specs])
    for name, label, experiment, asked in zip(specs, labels, experiments, units, strict=True):
        results = store.stored(asked)
        if len(results) < len(asked):
            found = {"why": why_lacking(asked, len(results), outcome.failed)}
        else:
            found = _numbers(experiment, results, composed.selection, by)
        about = {"algorithm": name, "label": label}
        rows.append(about | {"repeats_are_of": experiment.repeats_are_of} | found)
    if rows[0].get("why"):
        raise UserError(f"{rows[0]['label']}: {rows[0]['why']}")
    judged = judge_learners([rows[0], *sorted(rows[1:], key=lambda row: row["label"])], by)
    judged.attrs["pulled"] = store.note_on([*chain(*units)])
    return judged


def labels_apart(labels: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return labels; those that several share have their names beside them."""
    return [
        label if labels.count(label) == 1 else f"{label} ({name})"
        for label, name in zip(labels, names, strict=True)
    ]


def learner_label(experiment: Experiment) -> str:
    """Return what a learner is called: by its name, and that of its network if it has one."""
    used = experiment.network
    network = f" ({network_label(used.as_mapping())})" if used else ""
    return experiment.algorithm.label + network


def _numbers(
    experiment: Experiment, results: list[Result], rule: SelectionSpec, metric: Metric
) -> dict[str, Any]:
    """Return the numbers of a learner, or why it has none."""
    chosen = select(results, experiment.points, rule)
    values = numbers_at(results, chosen, metric.name, rule)
    if lost := sum(diverged_in(results, chosen)):
        return {"why": f"diverged in {lost} of {len(results)} repeats"}
    found = {"values": values, "params": [experiment.points[point] for point in chosen]}
    curves = curves_of(results, chosen, rule)
    if curves.shape[1] > 1:
        found |= {"seen": seen_by_all(results), "curves": curves}
    return found


def seen_by_all(results: Sequence[Result]) -> np.ndarray:
    """Return the numbers of examples at which curves of repeats are compared.

    There are none without checkpoints. They are the checkpoints, unless repeats have checkpoints of
    their own, as where one task comes after the other: then they are `PLACES` at equal distances.
    """
    if "seen" not in results[0].arrays:
        return np.empty(0, dtype=np.int64)
    seen = [result.arrays["seen"] for result in results]
    if all(np.array_equal(one, seen[0]) for one in seen):
        return seen[0]
    last = min(one[-1] for one in seen)
    return np.unique(np.ceil(np.arange(1, PLACES + 1) * last / PLACES)).astype(np.int64)


def curves_of(results: Sequence[Result], chosen: np.ndarray, rule: SelectionSpec) -> np.ndarray:
    """Return the error rates (%) up to each of `seen_by_all`, by repeat; empty without checkpoints.

    Between checkpoints they are interpolated.
    """
    if "checkpoint_mistakes" not in results[0].arrays:
        return np.empty((1, 0))
    x, rates = seen_by_all(results), []
    for result, point in zip(results, chosen, strict=True):
        made = as_played(result, point, rule).arrays["checkpoint_mistakes"][point]
        rates.append(np.interp(x, np.append(0, result.arrays["seen"]), np.append(0, made)))
    return 100.0 * np.array(rates) / np.maximum(x, 1)


def judge_learners(rows: Sequence[Mapping[str, Any]], metric: Metric) -> pd.DataFrame:
    """Return the comparison of the first learner with each of the others (`COLUMNS`).

    Parameters
    ----------
    rows : sequence of dict
        For each learner ``algorithm``, ``label`` and ``repeats_are_of``; ``values``, ``params``,
        ``seen`` and ``curves``, or ``why`` there are none.
    metric : Metric
    """
    nothing = {"values": np.empty(0), "params": [], "seen": np.empty(0)}
    nothing |= {"curves": np.empty((0, 0)), "why": ""}
    judged = pd.DataFrame([{**nothing, **row, **_spread(row.get("values"))} for row in rows])
    judged = judged.assign(metric=metric.name, is_mine=[row is rows[0] for row in rows])
    mine, bounds = judged["values"].iloc[0], BELOW if metric.lower_is_better else ABOVE
    pairs = [{"values": mine, "others": other} for other in judged["values"]]
    tests = compare_pairs({**pair, "bounds": bounds} for pair in pairs)
    ratios = pd.DataFrame(
        [beside(**pair, lower_is_better=metric.lower_is_better) for pair in pairs]
    )
    is_tested = ~judged["is_mine"] & (judged["n_repeats"] > 0)
    for end in ("", "_low", "_high"):
        judged[f"difference{end}"] = tests[end.strip("_") or "mean"].where(is_tested)
        judged[f"ratio{end}"] = ratios[end.strip("_") or "ratio"].where(is_tested)
    judged["p_holm"] = tests["p"].where(is_tested)
    judged.loc[is_tested, "p_holm"] = holm(judged.loc[is_tested, "p_holm"].to_numpy())
    better = np.where(metric.sign * judged["difference"] < 0.0, BETTER, WORSE)
    decided = np.where(judged["p_holm"] < LEVEL, better, UNDECIDED)
    judged["significance"] = np.where(is_tested, decided, "")
    judged["outcome"] = ratios["outcome"].map(WORDS).where(is_tested, "")
    for of in ("", "difference_", "ratio_"):
        ends = [f"{of}low", f"{of}high"]
        is_bounded = np.isfinite(judged[ends].astype(float)).all(axis=1)
        judged.loc[~is_bounded, ends] = np.nan  # as of a single repeat
    order = np.lexsort([metric.sign * judged["mean"].fillna(0.0), judged["n_repeats"] == 0])
    return judged.iloc[order].reset_index(drop=True)


def _spread(values: np.ndarray | None) -> dict[str, Any]:
    """Return the number of repeats of a learner, and the mean of its numbers with its interval."""
    if values is None or not values.size:
        return {"n_repeats": 0}
    found = {"n_repeats": values.size, "mean": float(values.mean()), "std": std_of(values)}
    return found | dict(zip(("low", "high"), interval_of(values), strict=True))


def comparison_notes(rows: pd.DataFrame) -> list[str]:
    """Return what a reader must know before believing a comparison, a sentence each."""
    notes = ["intervals are at 95% each; p is corrected for all comparisons (Holm)"]
    if pulled := rows.attrs.get("pulled"):
        notes.append(f"some of the numbers were {pulled}")
    if rows["repeats_are_of"].iloc[0] == ONE_DATA_SET:
        notes.append(CONDITIONAL)
    ranked = rows[rows["n_repeats"] > 0]
    blind = ranked.loc[ranked["algorithm"] == "majority", "mean"]
    behind = ranked[ranked["mean"] > (np.inf if blind.empty else blind.item())]
    if ranked["metric"].iloc[0] in ("error", "ace") and len(behind):
        all_others = len(behind) == len(ranked) - 1
        whom = "all others" if all_others else f"{len(behind)} of the others"
        mine = rows.loc[rows["is_mine"], "label"].item()
        notes.append(
            f"warning: {whom} make more errors than Majority, which ignores the features "
            f"({'among them' if behind['is_mine'].any() else 'not'} {mine}); "
            "where one label is rare, compare by --metric auc protocol=heldout"
        )
    return notes
