"""A method beside others on the same streams, with intervals and tests."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from omtl.api.given import (
    Grid,
    algorithm_of,
    composed_run,
    data_sets_of,
    patch_of,
    tell_of_networks,
    told_apart,
)
from omtl.api.plots import draw_lines
from omtl.compute.progress import DryRunPlan
from omtl.compute.store import Store
from omtl.evidence.compared_learners import (
    COLUMNS,
    WORDS,
    baselines,
    comparison_notes,
    default_selection,
    labels_apart,
    play_learners,
)
from omtl.evidence.comparisons import EQUIVALENT, REGION, beside
from omtl.evidence.ranks import Ranking, ranking_of, write_diagrams
from omtl.experiment.config import load_option
from omtl.experiment.descriptions import PanelGrid
from omtl.experiment.unit import ONE_DATA_SET
from omtl.figures.drawing import draw
from omtl.figures.numbers import ShownPanel
from omtl.figures.panels.axes import CURVES, line_of
from omtl.figures.pictures import render
from omtl.measures.metrics import METRICS
from omtl.tables.cells import each_cell, first_cell
from omtl.util.errors import UserError, known_name
from omtl.util.result_files import as_csv, for_latex, latex_table, write_all
from omtl.util.screen import plural
from omtl.util.views import DisplayedResult, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from omtl.experiment.composition import ComposedRun

DRAWN = 6
"""Learners that have a learning curve: the one that was asked for, and the best of the others."""

DIGITS = 10
"""Significant digits of the numbers in files."""

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
        order = pd.MultiIndex.from_product([self.rows["dataset"].unique(), self._standing.index])
        ordered = self.rows.set_index(["dataset", "algorithm"], drop=False).loc[order]
        return ordered[["dataset", *COLUMNS]].replace("", None).reset_index(drop=True)

    @property
    def repeats(self) -> pd.DataFrame:
        """A row for each repeat of each algorithm on each data set."""
        return pd.DataFrame(
            [
                {"dataset": row.dataset, "algorithm": row.algorithm, "repeat": n, "value": value}
                | {f"param_{key}": one for key, one in params.items()}
                for row in each_cell(self.rows)
                for n, (value, params) in enumerate(zip(row.values, row.params, strict=True))
            ]
        )

    @property
    def curves(self) -> pd.DataFrame:
        """The cumulative error rate (%) after so many examples: mean and deviation over repeats."""
        return pd.DataFrame(
            [
                {"dataset": panel.title, "label": line.label}
                | {"examples": x, "mean": mean, "std": std}
                for panel in self._panels
                for line in panel.axes[0].lines
                for x, mean, std in zip(line.x, line.mean, line.std, strict=True)
            ]
        )

    @property
    def ranks(self) -> pd.DataFrame:
        """Average ranks over the data sets, the best first; empty if they cannot be ranked."""
        if self._ranking is None:
            return pd.DataFrame()
        standing = self._standing.dropna(subset="average_rank")
        counts = standing[[*WORDS.values()]].astype("Int64").mask(standing["is_mine"])
        ranked = standing[["label", "average_rank"]].join([self._ranking.ranks.T, counts])
        return ranked.reset_index()

    @property
    def config(self) -> ComposedRun:
        """What was composed, for what all data sets have in common."""
        return next(iter(self.configs.values()))

    @property
    def mine(self) -> Any:
        """The row, on the first data set, of the learner that was asked for."""
        return first_cell(self.rows[self.rows["is_mine"]])

    @cached_property
    def _ranking(self) -> Ranking | None:
        """Average ranks of all that have numbers on all data sets; None for less than two."""
        means = self.rows.pivot(index="dataset", columns="algorithm", values="mean")
        means = means.reindex(self.rows["dataset"].unique())[[*self.rows["algorithm"].unique()]]
        return ranking_of(METRICS[self.mine.metric], means)

    @cached_property
    def _standing(self) -> pd.DataFrame:
        """A row for each algorithm, the best average rank first, those without one last.

        Beside the ``average_rank``, it has on how many data sets the learner that was asked for
        wins, ties and loses.
        """
        about = self.rows.drop_duplicates("algorithm").set_index("algorithm")
        average = pd.Series({} if self._ranking is None else self._ranking.average, dtype=float)
        counts = pd.crosstab(self.rows["algorithm"], self.rows["outcome"])
        standing = about[["label", "is_mine"]].assign(average_rank=average)
        standing = standing.join(counts.reindex(columns=[*WORDS.values()], fill_value=0))
        return standing.sort_values("average_rank", kind="stable")

    @property
    def _panels(self) -> list[ShownPanel]:
        """A panel of learning curves for each data set that has some."""
        mine = self.mine.algorithm
        named = [mine, *self._standing.index.drop(mine)[: DRAWN - 1]]
        panels: list[ShownPanel] = []
        for dataset, found in self.rows.groupby("dataset", sort=False):
            drawn = each_cell(found.set_index("algorithm").loc[named[::-1]])
            lines = tuple(line_of(r.label, r.seen, r.curves) for r in drawn if r.curves.size)
            if lines:
                letters = panel_letters(len(panels))
                panels.append(ShownPanel(letters, str(dataset), (replace(CURVES, lines=lines),)))
        return panels

    def _side_by_side(self, text_of_cell: Callable[[Any], str]) -> list[list[str]]:
        """Return the texts of a table with a column for each data set, then rank and outcomes.

        The first line is of the heads; each other one is of an algorithm, the best average rank
        first.
        """
        is_ranked = self._ranking is not None
        ranked = ["rank"] if is_ranked else []
        lines = [["", *self.rows["dataset"].unique(), *ranked, "win/tie/loss"]]
        for row in each_cell(self._standing):
            cells = each_cell(self.rows[self.rows["algorithm"] == row.Index])
            if is_ranked:
                ranked = ["--" if math.isnan(row.average_rank) else f"{row.average_rank:.1f}"]
            outcomes = "" if row.is_mine else f"{row.win}/{row.tie}/{row.loss}"
            lines.append([row.label, *map(text_of_cell, cells), *ranked, outcomes])
        return lines

    def plot(self, ax: Axes | None = None, dataset: str | None = None) -> Axes:
        """Draw the learning curves on a data set, by default the first; return the axes."""
        titles = {config.dataset.name: title for title, config in self.configs.items()}
        names = [*self.configs]
        wanted = names[0] if dataset is None else titles.get(dataset, dataset)
        name = known_name("data set", wanted, names)
        drawn = {panel.title: panel.axes[0] for panel in self._panels}
        ax = draw_lines(drawn.get(name, CURVES), ax)
        ax.set_title(name)
        return ax

    def to_latex(self) -> str:
        """Return the comparison as a LaTeX table (booktabs), whose caption explains its marks."""
        mine, metric = self.mine, METRICS[self.mine.metric]
        unit = f" ({metric.unit})" if metric.unit else ""
        of_one = mine.repeats_are_of == ONE_DATA_SET
        many = " over shuffles of the data" if of_one else " over draws and shuffles"
        caption = (
            f"{metric.name[0].upper()}{metric.name[1:]}{unit}: mean ± standard deviation of "
            f"{self.config.repeats} repeats{many}; hyper-parameters chosen by "
            f"{self.config.selection.name}. Bold: the best mean of a column. Underlined: a tie "
            f"with it, within {100 * REGION:.0f}% (95% interval of the paired ratio). Win, tie, "
            f"loss: of {mine.label} beside the algorithm, in numbers of data sets; the rest are "
            "undecided."
        )
        best = {name: first_cell(found) for name, found in self.rows.groupby("dataset", sort=False)}

        def text_of_cell(row: Any) -> str:
            if not row.n_repeats:
                return "--"
            shown, best_row = for_latex(_spread(row)), best[row.dataset]
            if row.algorithm == best_row.algorithm:
                return rf"\textbf{{{shown}}}"
            ratio = beside(best_row.values, row.values, metric.lower_is_better)
            return rf"\underline{{{shown}}}" if ratio["outcome"] == EQUIVALENT else shown

        heads, *body = self._side_by_side(text_of_cell)
        lines = [[for_latex(label), *cells] for label, *cells in body]
        return latex_table(f"l{'r' * (len(heads) - 1)}", [map(for_latex, heads)], lines, caption)

    def write(self, folder: Path | str) -> list[Path]:
        """Write CSV, LaTeX, learning curves and ranks to a folder; return the paths."""
        folder, config = Path(folder), self.config
        tables = {"comparison": self.frame, "repeats": self.repeats}
        tables |= {"ranks": self.ranks, "curves": self.curves}
        texts: dict[str, str | bytes] = {
            f"{name}.csv": as_csv(table, DIGITS) for name, table in tables.items() if len(table)
        }
        texts["comparison.tex"] = self.to_latex()
        told = f"{config.repeats} repeats, seed {config.seed}, selection {config.selection.name}"
        if panels := self._panels:
            grid = PanelGrid(columns=min(3, len(panels)))
            drawn = render(lambda: draw(grid, panels, told), "curves", ("svg", "pdf"))
            texts |= {f"curves.{form}": content for form, content in drawn.items()}
        paths = write_all(folder, texts)
        if self._ranking is not None and self._ranking.tells:
            paths += write_diagrams([self._ranking], folder / "ranks", told, ("svg", "pdf"))
        return paths

    @property
    def view(self) -> View:
        """The algorithms, best first: on one data set with tests, on several side by side."""
        return self._view_of_one() if len(self.configs) == 1 else self._view_of_several()

    def _view_of_one(self) -> View:
        """Return the learner among the others on one data set."""
        mine = self.mine
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
        rows, mine = self.rows, self.mine
        heads, *lines = self._side_by_side(lambda row: _spread(row) if row.n_repeats else "none")
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
            colours=["bold" if is_mine else "" for is_mine in self._standing["is_mine"]],
            notes=[*lacking, outcomes, *warnings],
        )

    def as_json(self) -> Any:
        """Return everything as plain values; of one data set alone, without a list."""
        metric, found = METRICS[self.mine.metric], []
        for dataset, rows in self.rows.groupby("dataset", sort=False):
            config = self.configs[str(dataset)]
            plain = rows[[*COLUMNS]].replace("", None)
            plain = plain.assign(values=rows["values"].map(list), params=rows["params"])
            about = {
                "version": version("omtl"),
                **{group: getattr(config, group).name for group in SHARED},
                "seed": config.seed,
                "repeats": config.repeats,
                "metric": metric.name,
                "unit": metric.unit,
                "lower_is_better": metric.lower_is_better,
                "learner": self.mine.algorithm,
                "notes": comparison_notes(rows),
                "rows": plain.to_dict("records"),
            }
            found.append(about)
        return found if len(found) > 1 else found[0]


def panel_letters(number: int) -> str:
    """Return the label of a panel by its number from 0: a to z, then aa, ab and so on."""
    before, last = divmod(number, len(ascii_lowercase))
    return (panel_letters(before - 1) if before else "") + ascii_lowercase[last]


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
    known = load_option("comparison", "default")
    parts, configs, plans = [], [], []
    for number, one in enumerate(sets, start=1):
        config = composed_run(overrides, {**choices, "algorithm": algorithm, "dataset": one}, grid)
        if len(sets) > 1:
            place = f"({number} of {len(sets)})"
            print(f"omtl: comparing on {config.dataset.label} {place}", file=sys.stderr)
        if config.metric is not None:
            raise UserError(f"metric={config.metric} is for omtl run; here use --metric NAME")
        named = baselines(config.protocol, known["algorithms"]) if against is None else against
        several = (part if isinstance(part, list | tuple) else [part] for part in (named, also))
        specs = [algorithm_of(one) for part in several for one in part]
        if not any(spec.networked for spec in (config.algorithm, *specs)):
            tell_of_networks(overrides, choices, [config.algorithm, *specs])
        others = [spec if patch_of(spec) is None else spec.name for spec in specs]
        try:
            parts.append(play_learners(config, others, Store.default(), metric, known["tuned"]))
            configs.append(config)
        except DryRunPlan as plan:
            plans.append(plan)
    if plans:
        raise DryRunPlan.of_all(plans)
    datasets = [config.dataset for config in configs]
    titles = labels_apart([one.label for one in datasets], [one.name for one in datasets])
    rows = [part.assign(dataset=title) for part, title in zip(parts, titles, strict=True)]
    return Comparison(pd.concat(rows), dict(zip(titles, configs, strict=True)))


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


def _spread(row: Any) -> str:
    """Return a row's mean and standard deviation."""
    digits = 2 if row.mean >= 1.0 else 4
    return f"{row.mean:.{digits}f}" + ("" if np.isnan(row.std) else f" ± {row.std:.{digits}f}")


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
