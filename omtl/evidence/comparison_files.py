"""What is shown and written of a comparison of learners: ranks, tables, curves, files.

A comparison is a frame (`omtl.evidence.compared_learners.COLUMNS`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd

from omtl.evidence.compared_learners import COLUMNS, WORDS
from omtl.evidence.comparisons import EQUIVALENT, REGION, beside
from omtl.evidence.ranks import Ranking, ranking_of, write_diagrams
from omtl.experiment.composition import ComposedRun
from omtl.experiment.descriptions import PanelGrid
from omtl.experiment.unit import ONE_DATA_SET
from omtl.figures.drawing import draw
from omtl.figures.numbers import ShownPanel
from omtl.figures.panels.axes import Axes, line_of
from omtl.figures.pictures import render
from omtl.measures.metrics import METRICS
from omtl.tables.cells import each_cell, first_cell
from omtl.util.result_files import as_csv, for_latex, latex_table, write_all

DRAWN = 6
"""Learners that have a learning curve: the one that was asked for, and the best of the others."""

DIGITS = 10
"""Significant digits of the numbers in files."""


def rank_learners(rows: pd.DataFrame) -> Ranking | None:
    """Return average ranks of all that have numbers on all data sets; None for less than two."""
    means = rows.pivot(index="dataset", columns="algorithm", values="mean")
    means = means.loc[rows["dataset"].unique(), rows["algorithm"].unique()]
    return ranking_of(METRICS[rows["metric"].iloc[0]], means)


def mine_in(rows: pd.DataFrame) -> Any:
    """Return the row, on the first data set, of the learner that was asked for."""
    return first_cell(rows[rows["is_mine"]])


def best_first(rows: pd.DataFrame) -> list[str]:
    """Return the algorithms, the best average rank first, those without one last."""
    ranking = rank_learners(rows)
    average = {} if ranking is None else ranking.average
    return sorted(rows["algorithm"].unique(), key=lambda name: average.get(name, np.inf))


def count_outcomes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return on how many data sets the learner wins, ties and loses beside each algorithm."""
    counts = pd.crosstab(rows["algorithm"], rows["outcome"])
    words, names = list(WORDS.values()), rows["algorithm"].unique()
    return counts.reindex(index=names, columns=words, fill_value=0)


def written_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each algorithm on each data set, the best average rank first."""
    order = pd.MultiIndex.from_product([rows["dataset"].unique(), best_first(rows)])
    ordered = rows.set_index(["dataset", "algorithm"], drop=False).loc[order]
    return ordered[["dataset", *COLUMNS]].replace("", None).reset_index(drop=True)


def written_repeats(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each repeat of each algorithm on each data set."""
    return pd.DataFrame(
        [
            {"dataset": row.dataset, "algorithm": row.algorithm, "repeat": repeat, "value": value}
            | {f"param_{key}": one for key, one in params.items()}
            for row in each_cell(rows)
            for repeat, (value, params) in enumerate(zip(row.values, row.params, strict=True))
        ]
    )


def written_ranks(rows: pd.DataFrame) -> pd.DataFrame:
    """Return average ranks with wins, ties and losses, the best first; empty without ranks."""
    ranking = rank_learners(rows)
    if ranking is None:
        return pd.DataFrame()
    about = rows.drop_duplicates("algorithm").set_index("algorithm")
    counts = count_outcomes(rows).astype("Int64").mask(about["is_mine"].astype(bool))
    average = pd.Series(ranking.average, name="average_rank").rename_axis("algorithm")
    joined = average.to_frame().join([about[["label"]], ranking.ranks.T, counts]).reset_index()
    return joined[["algorithm", "label", "average_rank", *ranking.ranks.index, *counts]]


def written_curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the points of learning curves: mean and deviation after so many examples."""
    return pd.DataFrame(
        [
            {"dataset": panel.title, "label": line.label, "examples": x, "mean": mean, "std": std}
            for panel in curve_panels(rows)
            for line in panel.axes[0].lines
            for x, mean, std in zip(line.x, line.mean, line.std, strict=True)
        ]
    )


def curve_panels(rows: pd.DataFrame) -> list[ShownPanel]:
    """Return a panel of learning curves for each data set that has some."""
    mine = mine_in(rows).algorithm
    named = [mine, *[name for name in best_first(rows) if name != mine][: DRAWN - 1]]
    panels: list[ShownPanel] = []
    for dataset, found in rows.groupby("dataset", sort=False):
        drawn = found.set_index("algorithm").loc[named[::-1]]
        lines = tuple(line_of(r.label, r.seen, r.curves) for r in each_cell(drawn) if r.curves.size)
        if lines:
            axes = Axes("examples", lines, "cumulative error rate (%)")
            panels.append(ShownPanel(panel_letters(len(panels)), str(dataset), (axes,)))
    return panels


def panel_letters(number: int) -> str:
    """Return the label of a panel by its number from 0: a to z, then aa, ab and so on."""
    before, last = divmod(number, len(ascii_lowercase))
    return (panel_letters(before - 1) if before else "") + ascii_lowercase[last]


def side_by_side(rows: pd.DataFrame, text_of_cell: Callable[[Any], str]) -> list[list[str]]:
    """Return the texts of a table with a column for each data set, then rank and outcomes.

    The first line is of the heads; each other one is of an algorithm, the best average rank first.
    """
    ranking, counts = rank_learners(rows), count_outcomes(rows)
    ranked = [] if ranking is None else ["rank"]
    lines = [["", *rows["dataset"].unique(), *ranked, "win/tie/loss"]]
    for name in best_first(rows):
        own = rows[rows["algorithm"] == name]
        win, tie, loss, _ = counts.loc[name]
        rank = None if ranking is None else ranking.average.get(name)
        ranked = [] if ranking is None else ["--" if rank is None else f"{rank:.1f}"]
        outcomes = "" if own["is_mine"].any() else f"{win}/{tie}/{loss}"
        cells = [text_of_cell(row) for row in each_cell(own)]
        lines.append([own["label"].iloc[0], *cells, *ranked, outcomes])
    return lines


def spread_text(row: Any) -> str:
    """Return a row's mean and standard deviation."""
    digits = 2 if row.mean >= 1.0 else 4
    return f"{row.mean:.{digits}f}" + ("" if np.isnan(row.std) else f" ± {row.std:.{digits}f}")


def comparison_latex(rows: pd.DataFrame, config: ComposedRun) -> str:
    """Return the table in LaTeX (booktabs), with a caption that says what its marks mean."""
    first = first_cell(rows)
    metric = METRICS[first.metric]
    unit = f" ({metric.unit})" if metric.unit else ""
    of_one = first.repeats_are_of == ONE_DATA_SET
    many = " over shuffles of the data" if of_one else " over draws and shuffles"
    caption = (
        f"{metric.name[0].upper()}{metric.name[1:]}{unit}: mean ± standard deviation of "
        f"{config.repeats} repeats{many}; hyper-parameters chosen by "
        f"{config.selection.name}. Bold: the best mean of a column. Underlined: a tie with "
        f"it, within {100 * REGION:.0f}% (95% interval of the paired ratio). Win, tie, loss: of "
        f"{mine_in(rows).label} beside the algorithm, in numbers of data sets; the rest are "
        "undecided."
    )
    best = {name: first_cell(found) for name, found in rows.groupby("dataset", sort=False)}

    def text_of_cell(row: Any) -> str:
        if not row.n_repeats:
            return "--"
        shown, best_row = for_latex(spread_text(row)), best[row.dataset]
        if row.algorithm == best_row.algorithm:
            return rf"\textbf{{{shown}}}"
        ratio = beside(best_row.values, row.values, metric.lower_is_better)
        return rf"\underline{{{shown}}}" if ratio["outcome"] == EQUIVALENT else shown

    heads, *body = side_by_side(rows, text_of_cell)
    lines = [[for_latex(label), *cells] for label, *cells in body]
    return latex_table(f"l{'r' * (len(heads) - 1)}", [map(for_latex, heads)], lines, caption)


def write_comparison(rows: pd.DataFrame, config: ComposedRun, folder: Path) -> list[Path]:
    """Write the tables, ranks and learning curves of a comparison; return the paths."""
    tables = {"comparison": written_rows(rows), "repeats": written_repeats(rows)}
    tables |= {"ranks": written_ranks(rows), "curves": written_curves(rows)}
    texts: dict[str, str | bytes] = {
        f"{name}.csv": as_csv(table, DIGITS) for name, table in tables.items() if len(table)
    }
    texts["comparison.tex"] = comparison_latex(rows, config)
    subtitle = f"{config.repeats} repeats, seed {config.seed}, selection {config.selection.name}"
    if panels := curve_panels(rows):
        grid = PanelGrid(columns=min(3, len(panels)))
        drawn = render(lambda: draw(grid, panels, subtitle), "curves", ("svg", "pdf"))
        texts |= {f"curves.{form}": content for form, content in drawn.items()}
    paths = write_all(folder, texts)
    ranking = rank_learners(rows)
    if ranking is not None and ranking.tells:
        paths += write_diagrams([ranking], folder / "ranks", subtitle, ("svg", "pdf"))
    return paths
