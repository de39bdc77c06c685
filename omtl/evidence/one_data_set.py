"""A learner compared with others on the same streams of one data set, with tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.engine import run, why_lacking
from omtl.compute.store import Store
from omtl.evidence.comparisons import (
    ABOVE,
    BELOW,
    BETTER,
    FAILS,
    HOLDS,
    UNDECIDED,
    WORSE,
    beside,
    compare_pairs,
    decide_by_p,
    interval_of,
)
from omtl.experiment.composition import ComposedRun
from omtl.experiment.config import resolve_jobs
from omtl.experiment.experiment import CONDITIONAL, ONE_DATA_SET, Experiment
from omtl.experiment.playing import learner_class
from omtl.experiment.selection import as_played
from omtl.experiment.specs import AlgorithmSpec, ProtocolSpec, SelectionSpec
from omtl.experiment.unit import Result, import_fault
from omtl.measures.correction import holm
from omtl.measures.metrics import METRICS, Metric
from omtl.tables.cells import each_cell
from omtl.tables.scoring import choose_points, numbers_at
from omtl.util.errors import UserError

SIGNIFICANCE = {HOLDS: BETTER, FAILS: WORSE, UNDECIDED: UNDECIDED}
"""What the test of a learner being better than another says of it."""

COLUMNS = (
    *("algorithm", "label", "metric", "n_repeats", "mean", "std", "low", "high"),
    *("difference", "difference_low", "difference_high", "p_holm", "significance"),
    *("ratio", "ratio_low", "ratio_high", "outcome", "why"),
)
"""Columns of `Compared.frame`.

`low` and `high` are the interval of the mean. `difference` is that of the learner that was asked
for and the row's, `p_holm` corrected for all that are compared, `significance` what follows from
it. `ratio` is that of their numbers, `outcome` what it says of practical equivalence.
"""


@dataclass
class Row:
    """A learner's line.

    Parameters
    ----------
    algorithm, label : str
        The config's name, and what it is called.
    values : ndarray of shape (n_repeats,)
        Its number in each repeat; empty where it has none.
    why : str
        Why it has none: it diverged, or failed.
    params : list of dict
        The hyper-parameters that were chosen, by repeat.
    against : row of `omtl.evidence.comparisons.compare_pairs`, or None
        That the learner that was asked for is better than this one; None for itself, and where
        either has no numbers.
    seen, curves : ndarray
        Examples up to each checkpoint, and the cumulative error rate (%) there in each repeat, of
        shapes (n_checkpoints,) and (n_repeats, n_checkpoints); empty where none was kept.
    p : float
        Of that difference being none, corrected for all that are compared (Holm).
    """

    algorithm: str
    label: str
    values: np.ndarray = field(default_factory=lambda: np.empty(0))
    why: str = ""
    params: list[dict[str, Any]] = field(default_factory=list)
    against: Any = None
    p: float = np.nan
    seen: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    curves: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), repr=False)

    @property
    def mean(self) -> float:
        """Mean over the repeats."""
        return float(self.values.mean()) if self.values.size else np.nan

    @property
    def std(self) -> float:
        """Standard deviation over the repeats; NaN for fewer than two."""
        return float(self.values.std(ddof=1)) if self.values.size > 1 else np.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the mean; NaN where there are no numbers."""
        return interval_of(self.values) if self.values.size else (np.nan, np.nan)


@dataclass(frozen=True)
class Compared:
    """A learner beside others: the rows, the best mean first, those without numbers last."""

    mine: Row
    rows: list[Row]
    metric: Metric
    repeats_are_of: str

    def row(self, algorithm: str) -> Row:
        """Return an algorithm's row."""
        return next(row for row in self.rows if row.algorithm == algorithm)

    def notes(self) -> list[str]:
        """Return what a reader must know before believing the numbers, a sentence each."""
        notes = [
            "intervals are at 95 % each; p is corrected for all comparisons (Holm)",
            *([CONDITIONAL] if self.repeats_are_of == ONE_DATA_SET else []),
        ]
        ranked = [row for row in self.rows if row.values.size]
        blind = next((row.mean for row in ranked if row.algorithm == "majority"), np.inf)
        behind = [row for row in ranked if row.mean > blind]
        if self.metric.name in ("error", "ace") and behind:
            all_others = len(behind) == len(ranked) - 1
            whom = "all others" if all_others else f"{len(behind)} of the others"
            notes.append(
                f"warning: {whom} make more errors than Majority, which ignores the features "
                f"({'among them' if self.mine in behind else 'not'} {self.mine.label}); "
                "where one label is rare, compare by --metric auc protocol=heldout"
            )
        return notes

    def outcome(self, row: Row) -> str:
        """Return whether the learner that was asked for is better than a row's, or worse."""
        return "" if row.against is None else SIGNIFICANCE[decide_by_p(row.against, row.p)]

    def standing(self, one: Row, other: Row) -> dict[str, Any]:
        """Return the ratio of two rows, and how the one stands beside the other by it."""
        return beside(one.values, other.values, self.metric.lower_is_better)

    def frame(self) -> pd.DataFrame:
        """Return a row for each learner (`COLUMNS`)."""
        return pd.DataFrame([self._line(row) for row in self.rows], columns=COLUMNS)

    def _line(self, row: Row) -> dict[str, Any]:
        """Return a learner's row, without values where it is not compared."""
        line = {**dict.fromkeys(COLUMNS), "algorithm": row.algorithm, "label": row.label}
        line |= {"metric": self.metric.name, "n_repeats": row.values.size, "why": row.why or None}
        line |= {"mean": row.mean, "std": row.std}
        line["low"], line["high"] = row.interval
        if row.against is not None:
            line |= {"difference": row.against.mean, "p_holm": row.p}
            line["difference_low"], line["difference_high"] = row.against.interval
            line["significance"] = self.outcome(row)
            ratio = self.standing(self.mine, row)
            line |= {"ratio": ratio["ratio"], "outcome": ratio["outcome"]}
            line |= {"ratio_low": ratio["low"], "ratio_high": ratio["high"]}
        return line


def default_selection(metric: str) -> str:
    """Return the rule without hindsight that chooses for a metric."""
    if metric in ("absolute_error", "square_error", "test_absolute_error"):
        return "progressive_absolute"
    return "cv5" if metric == "auc" else "progressive"


def check_metric(rule: SelectionSpec, metric: Metric) -> None:
    """Refuse a rule that chooses by another measure than the metric.

    Raises
    ------
    UserError
        If one is by mistakes and the other by the area under the curve.
    """
    by, for_auc = rule.most or "mistakes", metric.name == "auc"
    if rule.rule not in ("cross_validation", "fixed") and for_auc != (by == "auc"):
        raise UserError(
            f"selection {rule.name} chooses by {by}, not for {metric.name}; use selection="
            f"{'cv5 or oracle_auc' if for_auc else 'prefix or oracle'}"
        )


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
    try:
        module = import_module(protocol.module)
    except UserError:
        raise
    except Exception as fault:  # whatever a protocol's own file raises when it is read
        raise import_fault(f"protocol.module: {protocol.module!r}", fault) from fault
    needed = getattr(module, "NEEDS", ())
    kinds = {name: learner_class(AlgorithmSpec.named(name).learner) for name in names}
    return [name for name, kind in kinds.items() if all(hasattr(kind, rule) for rule in needed)]


def compared(
    composed: ComposedRun,
    others: Sequence[str | AlgorithmSpec],
    store: Store,
    metric: str = "error",
    grids: Mapping[str, Mapping[str, list[Any]]] | None = None,
) -> Compared:
    """Play a learner and others on the same streams, and compare them.

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
        If the rule does not choose for the metric, an algorithm is unknown, the learner itself
        cannot be played, or the protocol does not measure the metric.
    """
    by = METRICS[metric]
    check_metric(composed.selection, by)
    reading = composed.reading.for_dataset(composed.dataset.name)
    mine = composed.algorithm
    specs = {mine.name: mine}
    for other in others:
        spec = reading(tuned(other, grids or {})) if isinstance(other, str) else other
        specs.setdefault(spec.name, spec)
    experiments = [replace(composed, algorithm=each).experiment for each in specs.values()]
    units = [each.repeats(composed.seed, composed.repeats) for each in experiments]
    outcome = run([*chain(*units)], store, resolve_jobs(composed.parallel))
    rows = []
    for name, experiment, asked in zip(specs, experiments, units, strict=True):
        results = [result for unit in asked if (result := store.load(unit)) is not None]
        row = Row(name, learner_label(experiment))
        if len(results) < len(asked):
            row.why = why_lacking(asked, len(results), outcome.failed)
        else:
            _score(row, experiment, results, composed.selection, by)
        rows.append(row)
    judge_rows(rows, by)
    if not rows[0].values.size:
        raise UserError(f"{rows[0].label}: {rows[0].why}")
    sign = by.sign
    rows[1:] = sorted(rows[1:], key=lambda row: row.label)
    order = sorted(rows, key=lambda row: (not row.values.size, sign * np.nan_to_num(row.mean)))
    return Compared(rows[0], order, by, experiments[0].repeats_are_of)


def learner_label(experiment: Experiment) -> str:
    """Return what a learner is called: by its name, and that of its network if it has one."""
    network = f" ({experiment.network.name})" if experiment.network else ""
    return experiment.algorithm.label + network


def _score(
    row: Row,
    experiment: Experiment,
    results: list[Result],
    rule: SelectionSpec,
    metric: Metric,
) -> None:
    """Give a row its numbers, or why it has none."""
    if not set(metric.needs) <= results[0].arrays.keys():
        raise UserError(f"protocol {experiment.protocol.name} does not measure {metric.name}")
    chosen = choose_points(results, experiment.points, rule, experiment.drawn)
    values = numbers_at(results, chosen, metric.name, rule)
    lost = sum(bool(r.arrays["diverged"][p]) for r, p in zip(results, chosen, strict=True))
    if lost:
        row.why = f"diverged in {lost} of {len(results)} repeats"
        return
    row.values = values
    row.params = [experiment.points[point] for point in chosen]
    curves = curves_of(results, chosen, rule)
    if curves.shape[1] > 1:
        row.seen, row.curves = results[0].arrays["seen"], curves


def curves_of(results: Sequence[Result], chosen: np.ndarray, rule: SelectionSpec) -> np.ndarray:
    """Return the error rates (%) up to each checkpoint by repeat; empty where none are kept."""
    if "checkpoint_mistakes" not in results[0].arrays:
        return np.empty((1, 0))
    pairs = zip(results, chosen, strict=True)
    made = [as_played(r, p, rule).arrays["checkpoint_mistakes"][p] for r, p in pairs]
    return 100.0 * np.array(made) / np.maximum([r.arrays["seen"] for r in results], 1)


def judge_rows(rows: list[Row], metric: Metric) -> None:
    """Compare the first row with each of the others that has numbers."""
    mine, bounds = rows[0], BELOW if metric.lower_is_better else ABOVE
    others = [row for row in rows[1:] if row.values.size and mine.values.size]
    tests = compare_pairs(
        {"values": mine.values, "others": row.values, "bounds": bounds} for row in others
    )
    for row, test, p in zip(others, each_cell(tests), holm([*tests.get("p", [])]), strict=True):
        row.against, row.p = test, float(p)
