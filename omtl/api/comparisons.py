"""A method beside others on the same streams, with intervals and tests."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from omtl.api.given import Grid, algorithm_of, composed_run, data_sets_of
from omtl.api.names import known_name
from omtl.api.plots import draw_curves
from omtl.api.views import Shown, View
from omtl.compute.dry_run import Planned
from omtl.compute.store import Store
from omtl.evidence import many_data_sets
from omtl.evidence.many_data_sets import Study, spread, study_of
from omtl.evidence.one_data_set import Compared, Row, baselines, compared, default_selection
from omtl.experiment.config import load_option
from omtl.experiment.specs import AlgorithmSpec
from omtl.measures.metrics import METRICS
from omtl.tables.layout import plural
from omtl.util.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from omtl.experiment.composition import ComposedRun

COLOURS = {"better": "green", "worse": "red", "undecided": "", "": "bold"}

SHARED = ("dataset", "protocol", "selection", "reading")
"""The options that all rows of a data set share."""


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """A method beside others on one or several data sets.

    Parameters
    ----------
    parts : sequence of (Compared, ComposedRun)
        For each data set the comparison, and what was composed.
    """

    parts: Sequence[tuple[Compared, ComposedRun]]

    @cached_property
    def study(self) -> Study:
        """The comparisons of all data sets, with ranks."""
        return study_of(self.parts)

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each algorithm on each data set: mean, interval, difference, p, outcome."""
        return many_data_sets.frame(self.study).reset_index(drop=True)

    @property
    def repeats(self) -> pd.DataFrame:
        """A row for each repeat of each algorithm on each data set."""
        return many_data_sets.repeats(self.study)

    @property
    def curves(self) -> pd.DataFrame:
        """The cumulative error rate (%) after so many examples: mean and deviation over repeats."""
        return many_data_sets.curve_frame(many_data_sets.curves(self.study))

    @property
    def ranks(self) -> pd.DataFrame:
        """Average ranks over the data sets, the best first; empty if they cannot be ranked."""
        ranking = self.study.ranking
        return pd.DataFrame() if ranking is None else many_data_sets.rank_frame(self.study, ranking)

    def plot(self, ax: Axes | None = None, dataset: str | None = None) -> Axes:
        """Draw the learning curves on a data set, by default the first; return the axes."""
        name = next(iter(self.study.on)) if dataset is None else dataset
        curves = self.curves
        ax = draw_curves(
            curves[curves["dataset"] == known_name("data set", name, [*self.study.on])], ax
        )
        ax.set_title(name)
        return ax

    def to_latex(self) -> str:
        """Return the comparison as a LaTeX table (booktabs) with a caption."""
        return many_data_sets.latex(self.study)

    def write(self, folder: Path | str) -> list[Path]:
        """Write CSV, LaTeX, learning curves and ranks to a folder; return the paths."""
        return many_data_sets.write(self.study, Path(folder))

    @property
    def view(self) -> View:
        """The algorithms, best first: on one data set with tests, on several side by side."""
        return _of_one(self.study) if len(self.parts) == 1 else _of_several(self.study)

    def as_json(self) -> Any:
        """Return everything as plain values; of one data set alone, without a list."""
        found = [
            _about(each, config) | {"rows": [_row(each, row) for row in each.rows]}
            for each, config in self.parts
        ]
        return found if len(found) > 1 else found[0]


def compare(
    algorithm: Any = None,
    data: Any = None,
    *overrides: str,
    against: Any = None,
    also: Sequence[Any] = (),
    metric: str = "error",
    grid: Grid | None = None,
    **choices: Any,
) -> Comparison:
    """Compare a method with others on the same streams, like ``omtl compare``.

    Parameters
    ----------
    algorithm : str, class or instance
        As in `omtl.run`.
    data : str, DataSet, DataFrame, or a list of these
    *overrides : str
        Values as on the command line; they may come first and name algorithm and data set.
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
    if isinstance(data, str) and "=" in data:
        data, overrides = None, (data, *overrides)
    if isinstance(algorithm, str) and "=" in algorithm:
        algorithm, overrides = None, (algorithm, *overrides)
    given = dict.fromkeys(word.partition("=")[0] for word in overrides)
    if "selection" not in {*choices, *given}:
        choices["selection"] = default_selection(metric)
    sets = [None] if data is None else data_sets_of(data)
    parts, plans = [], []
    for number, one in enumerate(sets, start=1):
        config = composed_run(overrides, {**choices, "algorithm": algorithm, "dataset": one}, grid)
        if len(sets) > 1:
            place = f"({number} of {len(sets)})"
            print(f"omtl: comparing on {config.dataset.label} {place}", file=sys.stderr)
        try:
            parts.append((_compared(config, against, also, metric), config))
        except Planned as plan:
            plans.append(plan)
    if plans:
        raise Planned.of_all(plans)
    return Comparison(parts)


def _compared(config: ComposedRun, against: Any, also: Sequence[Any], metric: str) -> Compared:
    if config.metric is not None:
        raise UserError(f"metric={config.metric} is for omtl run; here use --metric NAME")
    known = load_option("comparison", "default")
    if against is None:
        named: list[Any] = baselines(config.protocol, known["algorithms"])
    else:
        named = list(against) if isinstance(against, list | tuple) else [against]
    others: list[str | AlgorithmSpec] = [
        algorithm_of(one).name if isinstance(one, str) else algorithm_of(one)
        for one in (*named, *also)
    ]
    return compared(config, others, Store.default(), metric, known["tuned"])


def heading_of(config: ComposedRun) -> str:
    """Return how learners were played, as text."""
    return (
        f"protocol {config.protocol.name}, "
        f"{plural(config.repeats, 'repeat')}, seed {config.seed}, "
        f"selection {config.selection.name}, reading {config.reading.name}"
    )


def _of_one(study: Study) -> View:
    """Return the learner among the others on one data set."""
    found, config = study.first, study.config
    heads = ["", f"{found.metric.name} {found.metric.unit}".strip(), "95% interval"]
    heads += [f"{found.mine.label} − it", "95% interval ", "p (Holm)", f"{found.mine.label} is"]
    return View(
        heads,
        [_texts(found, row) for row in found.rows],
        f"{config.dataset.label}: {heading_of(config)}",
        right=heads[1:-1],
        spare=["95% interval ", "95% interval", "p (Holm)"],
        colours=[COLOURS[found.outcome(row)] if row.values.size else "dim" for row in found.rows],
        notes=found.notes(),
    )


def _of_several(study: Study) -> View:
    """Return one column per data set, with ranks, and wins, ties and losses."""
    metric, mine = study.first.metric, study.first.mine.algorithm
    heads = ["", *study.on, *(["rank"] if study.ranking else []), "win/tie/loss"]
    lacking = [
        f"{row.label} on {data}: {row.why}"
        for data, found in study.on.items()
        for row in found.rows
        if row.why
    ]
    return View(
        heads,
        study.lines(lambda _, row: spread(row) if row.values.size else "none"),
        f"{metric.name} {metric.unit}".strip() + f": {heading_of(study.config)}",
        right=heads[1:],
        colours=["bold" if name == mine else "" for name in study.algorithms],
        notes=[*lacking, *study.notes()],
    )


def _texts(found: Compared, row: Row) -> list[str]:
    if not row.values.size:
        return [row.label, row.why, *[""] * 5]
    cells = [row.label, f"{row.mean:.4g}", _interval(*row.interval)]
    if row.against is None:
        return [*cells, *[""] * 4]
    apart = [f"{row.against.mean:+.3g}", _interval(*row.against.interval)]
    return [*cells, *apart, f"{row.p:.2g}", found.outcome(row)]


def _interval(low: float, high: float) -> str:
    if not math.isfinite(high - low):  # a single repeat
        return "none"
    return f"[{low:.4g}, {high:.4g}]"


def _about(found: Compared, config: ComposedRun) -> dict[str, Any]:
    """Return what all rows of a data set share."""
    return {
        "version": version("omtl"),
        **{group: getattr(config, group).name for group in SHARED},
        "seed": config.seed,
        "repeats": config.repeats,
        "metric": found.metric.name,
        "unit": found.metric.unit,
        "lower_is_better": found.metric.lower_is_better,
        "learner": found.mine.algorithm,
        "notes": found.notes(),
    }


def _row(found: Compared, row: Row) -> Mapping[str, Any]:
    """Return a row as plain values; all have the same keys, with null for missing values."""

    def finite(low: float, high: float) -> list[float] | None:
        return [low, high] if math.isfinite(high - low) else None

    against = row.against
    return {
        "algorithm": row.algorithm,
        "label": row.label,
        "values": row.values.tolist(),
        "mean": row.mean,
        "interval": finite(*row.interval),
        "params": row.params,
        "difference": None if against is None else against.mean,
        "difference_interval": None if against is None else finite(*against.interval),
        "p_holm": row.p,
        "outcome": found.outcome(row) or None,
        "why": row.why or None,
    }
