"""Single experiments and sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from omtl.api.given import (
    Grid,
    algorithm_of,
    composed_run,
    data_sets_of,
    tell_of_networks,
    told_apart,
)
from omtl.api.plots import draw_lines
from omtl.evidence.compared_learners import labels_apart
from omtl.experiment.composition import each_swept, overrides_in
from omtl.experiment.specs import network_label
from omtl.figures.panels.axes import CURVES, Curve
from omtl.measures.metrics import METRICS
from omtl.reproduction.record import distinct, line, play_run, record_rows, shown
from omtl.util.errors import UserError
from omtl.util.views import DisplayedResult, View, view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LAST = ("params", "failed")
"""The columns that belong at the end."""


@dataclass(frozen=True, repr=False)
class Runs(DisplayedResult):
    """Experiments that were run, each with its record.

    Parameters
    ----------
    records : mapping of str to dict
        By the run's name: its config, the numbers of each repeat, the hyper-parameters that were
        chosen (`omtl.reproduction.record.play_run`).
    """

    records: Mapping[str, Mapping[str, Any]]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each run: what it was composed of, mean and deviation of each metric."""
        return record_rows(self.records)

    @cached_property
    def repeats(self) -> pd.DataFrame:
        """A row for each repeat of each run."""
        return record_rows(self.records, by_repeat=True)

    @property
    def curves(self) -> pd.DataFrame:
        """The cumulative error rate (%) after so many examples: mean and deviation over repeats."""
        parts = [
            pd.DataFrame(record["curves"]).assign(run=name, label=run_label(record))
            for name, record in self.records.items()
            if record.get("curves")
        ]
        empty = pd.DataFrame(columns=["examples", "mean", "std", "run", "label"])
        found = pd.concat(parts, ignore_index=True) if parts else empty
        return found[["run", "label", "examples", "mean", "std"]]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the learning curves, those that share a label with their runs; return the axes."""
        drawn = {name: one["curves"] for name, one in self.records.items() if one.get("curves")}
        labels = labels_apart([run_label(self.records[name]) for name in drawn], [*drawn])
        lines = tuple(
            Curve(label, np.array(one["examples"]), np.array(one["mean"]), np.array(one["std"]), 0)
            for label, one in zip(labels, drawn.values(), strict=True)
        )
        return draw_lines(replace(CURVES, lines=lines), ax)

    @property
    def best(self) -> str:
        """The name of the run with the best first metric; empty for a single run."""
        metric = next((name for name in METRICS if name in self.frame), None)
        if metric is None or len(self.frame) < 2:
            return ""
        costs = METRICS[metric].sign * self.frame.set_index("run")[metric].astype(float)
        return "" if costs.isna().all() else str(costs.idxmin())

    @property
    def view(self) -> View:
        """What differs between the runs, and their numbers as mean ± standard deviation."""
        table = self.frame
        metrics = distinct([name for name in METRICS if name in table])
        numbers = {"n_repeats", "diverged", *METRICS, *(f"{name}_std" for name in METRICS)}
        about = [str(column) for column in table if column not in numbers]
        about = [c for c in about if c in ("run", "failed") or table[c].nunique(dropna=False) > 1]
        heads = [column for column in about if column not in LAST]
        ends = [column for column in LAST if column in about]
        titles = {name: f"{name} {METRICS[name].unit}".strip() for name in metrics}
        of_metrics = {
            title: [_number(row, name) for row in table.to_dict("records")]
            for name, title in titles.items()
        }
        is_best = table["run"] == self.best
        shown = table[heads].assign(**of_metrics, **table[ends])
        shown[""] = np.where(is_best, "best", "")
        colours = np.where(is_best, "green", "").tolist()
        return replace(view_of(shown), right=[*titles.values()], colours=colours)


@dataclass(frozen=True, repr=False)
class Run(Runs):
    """An experiment that was run."""

    @property
    def record(self) -> Mapping[str, Any]:
        """Its config, the numbers of each repeat, the hyper-parameters that were chosen."""
        return next(iter(self.records.values()))

    def __repr__(self) -> str:
        """Return its numbers in one line."""
        return line(self.record)


def run_label(record: Mapping[str, Any]) -> str:
    """Return the label of a run's learner, with its network."""
    config = record["config"]
    network = f" ({network_label(config['network'])})" if config["algorithm"]["networked"] else ""
    return f"{config['algorithm']['label']}{network}, {config['dataset']['label']}"


def _number(row: Mapping[Any, Any], metric: str) -> str:
    if (row.get("diverged") or 0) > 0:
        return "diverged"
    std = row.get(f"{metric}_std")
    return "" if pd.isna(row[metric]) else shown(metric, row[metric], std)


def run(
    *given: Any,
    algorithm: Any = None,
    dataset: Any = None,
    grid: Grid | None = None,
    **choices: Any,
) -> Run:
    """Run an experiment, like ``omtl run``.

    Parameters
    ----------
    *given
        The algorithm and the data, unless they are given by name, and overrides as on the command
        line: ``"network.weights=metropolis"``.
    algorithm : str, class or instance
        The name of a config; a learner, an estimator (``omtl.ROMPGD(eta=0.1)``) or an online
        classifier of scikit-learn or river. A class has the hyper-parameters of its config.
    dataset : str, DataSet or DataFrame
        A name, or data of your own (`omtl.datasets.from_frame`).
    grid : mapping of str to sequence, optional
        Values to choose the algorithm's hyper-parameters from.
    **choices
        Options by group (``network="ring"``, ``protocol="rounds"``, ``selection="oracle"``,
        ``reading="dom/as_published"``), and the values ``repeats`` and ``seed``.

    Returns
    -------
    Run
        ``.frame``, ``.repeats``, ``.curves``, ``.plot()``.

    Raises
    ------
    UserError
        If there is no such option, or the learner cannot be played.

    Examples
    --------
    >>> import omtl
    >>> small = "dataset.options.n_examples=50"
    >>> omtl.run("pa", "random_walk", small, repeats=2, reading="dom/as_read")
    PA, Synthetic: error 37.89 ± 0.79% (2 repeats, reading as_read, progressive: {'C': 0.01})
    """
    algorithm, dataset, overrides = told_apart(given, algorithm, dataset)
    choices |= {"algorithm": algorithm, "dataset": dataset}
    composed = composed_run(overrides, choices, grid)
    tell_of_networks(overrides, choices, [composed.algorithm])
    return Run({"0": {**play_run(composed), "overrides": overrides}})


def sweep(
    *given: Any,
    algorithm: Any = None,
    dataset: Any = None,
    grid: Grid | None = None,
    **choices: Any,
) -> Runs:
    """Run an experiment for each combination of several values.

    Parameters
    ----------
    *given, algorithm, dataset, grid, **choices
        As in `omtl.run`; each may be a list of several, and commas separate values in overrides:
        ``"algorithm.eta=0.1,1"``.

    Returns
    -------
    Runs
        A run for each combination, the last one fastest. One that failed has the reason in the
        column ``failed`` of ``.frame``.

    Raises
    ------
    UserError
        If an override is wrong, all runs failed, or no learner of a sweep of networks has one.

    Examples
    --------
    >>> import omtl
    >>> runs = omtl.sweep(["pa", "pm"], "random_walk", repeats=2)
    >>> runs.frame["algorithm"].tolist()
    ['pa', 'pm']
    """
    algorithm, dataset, overrides = told_apart(given, algorithm, dataset)
    named = {"algorithm": algorithm, "dataset": dataset, **choices}
    several = {
        name: value if isinstance(value, list | tuple) else [value]
        for name, value in named.items()
        if value is not None
    }
    if none := [name for name, values in several.items() if not len(values)]:
        raise UserError(f"{none[0]}=[] has no value to sweep")
    if "dataset" in several:
        several["dataset"] = data_sets_of(several["dataset"])
    typed = [each_swept(found) or [str(found.input_line)] for found in overrides_in(overrides)]
    pairs = [word.partition("=") for part in typed for word in part]
    typed_names = [value for name, _, value in pairs if name == "algorithm"]
    learners = [algorithm_of(one) for one in (*several.get("algorithm", ()), *typed_names)]
    tell_of_networks(overrides, several, learners)
    records: dict[str, dict[str, Any]] = {}
    for number, values in enumerate(product(*several.values(), *typed)):
        chosen = dict(zip(several, values, strict=False))
        words = [str(word) for word in values[len(several) :]]
        about = [*(f"{n}={v}" for n, v in chosen.items() if isinstance(v, str | int)), *words]
        config = composed_run(words, chosen, grid)
        try:
            record = play_run(config)
        except UserError as fault:
            record = {"config": config.as_mapping(), "failed": str(fault)}
        records[str(number)] = {**record, "overrides": about}
    failed = [record["failed"] for record in records.values() if "failed" in record]
    if len(failed) == len(records):
        raise UserError(failed[0])
    return Runs(records)
