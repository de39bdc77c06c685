"""A method beside others on the same streams, with intervals and tests."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from omtl.api.given import Grid, algorithm_of, composed_run, data_sets_of, patch_of, told_apart
from omtl.api.names import known_name
from omtl.api.plots import draw_curves
from omtl.api.views import DisplayedResult, View
from omtl.compute.progress import DryRunPlan
from omtl.compute.store import Store
from omtl.evidence import comparison_files as files
from omtl.evidence.compared_learners import (
    baselines,
    comparison_notes,
    default_selection,
    labels_apart,
    play_learners,
)
from omtl.evidence.comparisons import REGION
from omtl.experiment.config import load_option
from omtl.measures.metrics import METRICS
from omtl.tables.cells import each_cell
from omtl.util.errors import UserError
from omtl.util.screen import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from omtl.experiment.composition import ComposedRun

COLOURS = {"better": "green", "worse": "red", "undecided": ""}

SHARED = ("dataset", "protocol", "selection", "reading")
"""The options that all rows of a data set share."""


@dataclass(frozen=True, repr=False)
class Comparison(DisplayedResult):
    """A method beside others on one or several data sets.

    Parameters
    ----------
    rows : DataFrame
        A row for each learner on each data set, with the objects of
        `omtl.evidence.compared_learners.COLUMNS`.
    configs : mapping of str to ComposedRun
        What was composed for each data set.
    """

    rows: pd.DataFrame
    configs: Mapping[str, ComposedRun]

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each algorithm on each data set: mean, interval, difference, p, outcome."""
        return files.written_rows(self.rows)

    @property
    def repeats(self) -> pd.DataFrame:
        """A row for each repeat of each algorithm on each data set."""
        return files.written_repeats(self.rows)

    @property
    def curves(self) -> pd.DataFrame:
        """The cumulative error rate (%) after so many examples: mean and deviation over repeats."""
        return files.written_curves(self.rows)

    @property
    def ranks(self) -> pd.DataFrame:
        """Average ranks over the data sets, the best first; empty if they cannot be ranked."""
        return files.written_ranks(self.rows)

    @property
    def config(self) -> ComposedRun:
        """What was composed, for what all data sets have in common."""
        return next(iter(self.configs.values()))

    def plot(self, ax: Axes | None = None, dataset: str | None = None) -> Axes:
        """Draw the learning curves on a data set, by default the first; return the axes."""
        names = [*self.configs]
        name = names[0] if dataset is None else known_name("data set", dataset, names)
        curves = self.curves
        ax = draw_curves(curves[curves["dataset"] == name], ax)
        ax.set_title(name)
        return ax

    def to_latex(self) -> str:
        """Return the comparison as a LaTeX table (booktabs) with a caption."""
        return files.comparison_latex(self.rows, self.config)

    def write(self, folder: Path | str) -> list[Path]:
        """Write CSV, LaTeX, learning curves and ranks to a folder; return the paths."""
        return files.write_comparison(self.rows, self.config, Path(folder))

    @property
    def view(self) -> View:
        """The algorithms, best first: on one data set with tests, on several side by side."""
        return self._view_of_one() if len(self.configs) == 1 else self._view_of_several()

    def _view_of_one(self) -> View:
        """Return the learner among the others on one data set."""
        mine = files.mine_in(self.rows)
        heads = ["", _metric_head(mine.metric), "95% interval"]
        heads += [f"{mine.label} − it", "95% interval ", "p (Holm)", f"{mine.label} is"]
        return View(
            heads,
            [_texts(row) for row in each_cell(self.rows)],
            f"{self.config.dataset.label}: {heading_of(self.config)}",
            right=heads[1:-1],
            spare=["95% interval ", "95% interval", "p (Holm)"],
            colours=[_colour(row) for row in each_cell(self.rows)],
            notes=comparison_notes(self.rows),
        )

    def _view_of_several(self) -> View:
        """Return one column per data set, with ranks, and wins, ties and losses."""
        rows, mine = self.rows, files.mine_in(self.rows)
        heads, *lines = files.side_by_side(
            rows, lambda row: files.spread_text(row) if row.n_repeats else "none"
        )
        lacking = [f"{row.label} on {row.dataset}: {row.why}" for row in each_cell(rows) if row.why]
        outcomes = (
            f"win, tie and loss are {mine.label}'s: a tie is within "
            f"{100 * REGION:.0f}%, and undecided where the 95% interval of the ratio reaches "
            "over a border"
        )
        warnings = [
            f"{dataset}: {note}"
            for dataset, found in rows.groupby("dataset", sort=False)
            for note in comparison_notes(found)
            if note.startswith("warning")
        ]
        return View(
            heads,
            lines,
            f"{_metric_head(mine.metric)}: {heading_of(self.config)}",
            right=heads[1:],
            colours=["bold" if n == mine.algorithm else "" for n in files.best_first(rows)],
            notes=[*lacking, outcomes, *warnings],
        )

    def as_json(self) -> Any:
        """Return everything as plain values; of one data set alone, without a list."""
        found = [
            _about(rows, self.configs[str(dataset)])
            | {"rows": [_plain(row) for row in each_cell(rows)]}
            for dataset, rows in self.rows.groupby("dataset", sort=False)
        ]
        return found if len(found) > 1 else found[0]


def compare(
    *given: Any,
    algorithm: Any = None,
    dataset: Any = None,
    against: Any = None,
    also: Sequence[Any] = (),
    metric: str = "error",
    grid: Grid | None = None,
    **choices: Any,
) -> Comparison:
    """Compare a method with others on the same streams, like ``omtl compare``.

    Parameters
    ----------
    *given
        The algorithm and the data, unless they are given by name, and overrides as on the command
        line.
    algorithm : str, class or instance
        As in `omtl.run`.
    dataset : str, DataSet, DataFrame, or a list of these
        What to play.
    against : list of algorithms, optional
        With what to compare; by default the baselines of ``conf/comparison/default.yaml``.
    also : list of algorithms
        More algorithms besides.
    metric : str
        ``"error"``, ``"auc"`` or another one that the protocol measures.
    grid : mapping of str to sequence, optional
        Values to choose the algorithm's hyper-parameters from.
    **choices
        As in `omtl.run`; hyper-parameters are chosen without hindsight unless ``selection`` says
        otherwise.

    Returns
    -------
    Comparison
        ``.frame``, ``.repeats``, ``.curves``, ``.ranks``, ``.plot()``, ``.to_latex()``.

    Raises
    ------
    UserError
        If there is no such option, or the method cannot be played.

    Examples
    --------
    >>> import omtl
    >>> found = omtl.compare("coml", "random_walk", against=["pa", "majority"], repeats=2)
    >>> found.frame["algorithm"].tolist(), found.frame["outcome"].tolist()[1:]
    (['coml', 'pa', 'majority'], ['win', 'win'])
    """
    metric = known_name("metric", metric, METRICS)
    algorithm, dataset, overrides = told_apart(given, algorithm, dataset)
    if "selection" not in {*choices, *(word.partition("=")[0] for word in overrides)}:
        choices["selection"] = default_selection(metric)
    sets = [None] if dataset is None else data_sets_of(dataset)
    parts, configs, plans = [], [], []
    for number, one in enumerate(sets, start=1):
        config = composed_run(overrides, {**choices, "algorithm": algorithm, "dataset": one}, grid)
        if len(sets) > 1:
            place = f"({number} of {len(sets)})"
            print(f"omtl: comparing on {config.dataset.label} {place}", file=sys.stderr)
        try:
            parts.append(_played(config, against, also, metric))
            configs.append(config)
        except DryRunPlan as plan:
            plans.append(plan)
    if plans:
        raise DryRunPlan.of_all(plans)
    datasets = [config.dataset for config in configs]
    titles = labels_apart([one.label for one in datasets], [one.name for one in datasets])
    rows = [part.assign(dataset=title) for part, title in zip(parts, titles, strict=True)]
    return Comparison(pd.concat(rows), dict(zip(titles, configs, strict=True)))


def _played(config: ComposedRun, against: Any, also: Sequence[Any], metric: str) -> pd.DataFrame:
    if config.metric is not None:
        raise UserError(f"metric={config.metric} is for omtl run; here use --metric NAME")
    known = load_option("comparison", "default")
    if against is None:
        named: list[Any] = baselines(config.protocol, known["algorithms"])
    else:
        named = list(against) if isinstance(against, list | tuple) else [against]
    specs = map(algorithm_of, (*named, *also))
    others = [spec if patch_of(spec) is None else spec.name for spec in specs]
    return play_learners(config, others, Store.default(), metric, known["tuned"])


def heading_of(config: ComposedRun) -> str:
    """Return how learners were played, as text."""
    return (
        f"protocol {config.protocol.name}, "
        f"{plural(config.repeats, 'repeat')}, seed {config.seed}, "
        f"selection {config.selection.name}, reading {config.reading.name}"
    )


def _metric_head(metric: str) -> str:
    return f"{metric} {METRICS[metric].unit}".strip()


def _colour(row: Any) -> str:
    if not row.n_repeats:
        return "dim"
    return "bold" if row.is_mine else COLOURS[row.significance]


def _texts(row: Any) -> list[str]:
    if not row.n_repeats:
        return [row.label, row.why, *[""] * 5]
    cells = [row.label, f"{row.mean:.4g}", _interval(row.low, row.high)]
    if row.is_mine:
        return [*cells, *[""] * 4]
    apart = [f"{row.difference:+.3g}", _interval(row.difference_low, row.difference_high)]
    return [*cells, *apart, f"{row.p_holm:.2g}", row.significance]


def _interval(low: float, high: float) -> str:
    if not math.isfinite(high - low):  # a single repeat
        return "none"
    return f"[{low:.4g}, {high:.4g}]"


def _about(rows: pd.DataFrame, config: ComposedRun) -> dict[str, Any]:
    """Return what all rows of a data set share."""
    mine = files.mine_in(rows)
    metric = METRICS[mine.metric]
    return {
        "version": version("omtl"),
        **{group: getattr(config, group).name for group in SHARED},
        "seed": config.seed,
        "repeats": config.repeats,
        "metric": metric.name,
        "unit": metric.unit,
        "lower_is_better": metric.lower_is_better,
        "learner": mine.algorithm,
        "notes": comparison_notes(rows),
    }


def _plain(row: Any) -> Mapping[str, Any]:
    """Return a row as plain values; all have the same keys, with null for missing values."""

    def finite(low: float, high: float) -> list[float] | None:
        return [low, high] if math.isfinite(high - low) else None

    is_compared = bool(row.significance)
    return {
        "algorithm": row.algorithm,
        "label": row.label,
        "values": row.values.tolist(),
        "mean": row.mean,
        "interval": finite(row.low, row.high),
        "params": row.params,
        "difference": row.difference if is_compared else None,
        "difference_interval": finite(row.difference_low, row.difference_high),
        "p_holm": row.p_holm,
        "outcome": row.significance or None,
        "why": row.why or None,
    }
