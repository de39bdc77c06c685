"""Comparison of a learner with others on several data sets: wins, ranks, and files for a paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pandas as pd

from omtl.evidence.comparisons import BETTER, EQUIVALENT, REGION, UNDECIDED, WORSE
from omtl.evidence.one_data_set import COLUMNS, Compared, Row
from omtl.evidence.rank_diagrams import write_diagrams
from omtl.evidence.ranks import Ranking, ranking_of
from omtl.experiment.composition import ComposedRun
from omtl.experiment.descriptions import PanelGrid
from omtl.experiment.experiment import ONE_DATA_SET
from omtl.figures.drawing import draw
from omtl.figures.numbers import ShownPanel
from omtl.figures.panels.axes import Axes, line_of
from omtl.figures.pictures import render
from omtl.tables.escape import for_latex
from omtl.util.result_files import as_csv, write_all

DRAWN = 6
"""Learners that have a learning curve: the one that was asked for, and the best of the others."""

DIGITS = 10
"""Significant digits of the numbers in files."""

WORDS = {BETTER: "win", EQUIVALENT: "tie", WORSE: "loss", UNDECIDED: "undecided"}


@dataclass(frozen=True)
class Study:
    """A learner beside others on several data sets.

    Parameters
    ----------
    config : ComposedRun
        What was composed, for what all data sets have in common.
    on : dict of str to Compared
        The comparison on each data set, by its label.
    """

    config: ComposedRun
    on: dict[str, Compared]

    @property
    def first(self) -> Compared:
        """The comparison on the first data set."""
        return next(iter(self.on.values()))

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows of all data sets, with whether the learner that was asked for wins."""
        rows = pd.concat([found.frame().assign(dataset=data) for data, found in self.on.items()])
        return rows.assign(outcome=rows["outcome"].map(WORDS))

    @cached_property
    def ranking(self) -> Ranking | None:
        """Average ranks of all that have numbers on all data sets; None for less than two."""
        means = self.table.pivot(index="dataset", columns="algorithm", values="mean")
        means = means.loc[list(self.on), [row.algorithm for row in self.first.rows]]
        return ranking_of(self.first.metric, means)

    @cached_property
    def algorithms(self) -> list[str]:
        """The algorithms, the best average rank first, those without one last."""
        average = {} if self.ranking is None else self.ranking.average
        names = [row.algorithm for row in self.first.rows]
        return sorted(names, key=lambda name: average.get(name, np.inf))

    def outcomes(self, algorithm: str) -> dict[str, int]:
        """Return on how many data sets the learner wins, ties, loses, or cannot be told apart."""
        found = self.table.loc[self.table["algorithm"] == algorithm, "outcome"]
        return {word: int((found == word).sum()) for word in WORDS.values()}

    def lines(self, cell: Callable[[Compared, Row], str]) -> list[list[str]]:
        """Return a line for each algorithm: its label, cells, rank, and wins, ties and losses."""
        lines = []
        for name in self.algorithms:
            counts = self.outcomes(name)
            line = [self.first.row(name).label]
            line += [cell(found, found.row(name)) for found in self.on.values()]
            line += [rank_of(self.ranking, name)] if self.ranking else []
            is_mine = name == self.first.mine.algorithm
            line.append("" if is_mine else f"{counts['win']}/{counts['tie']}/{counts['loss']}")
            lines.append(line)
        return lines

    def notes(self) -> list[str]:
        """Return what a reader must know before believing the numbers, a sentence each."""
        notes = [
            f"win, tie and loss are {self.first.mine.label}'s: a tie is within "
            f"{100 * REGION:.0f} %, and undecided where the 95 % interval of the ratio reaches "
            "over a border"
        ]
        for dataset, found in self.on.items():
            notes += [f"{dataset}: {note}" for note in found.notes() if note.startswith("warning")]
        return notes


def study_of(played: Sequence[tuple[Compared, ComposedRun]]) -> Study:
    """Return the study of several comparisons, each with its config.

    Data sets that share a label have their names beside it.
    """
    labels = [config.dataset.label for _, config in played]
    names = [config.dataset.name for _, config in played]
    titles = [
        label if labels.count(label) == 1 else f"{label} ({name})"
        for label, name in zip(labels, names, strict=True)
    ]
    return Study(played[0][1], dict(zip(titles, (found for found, _ in played), strict=True)))


def frame(study: Study) -> pd.DataFrame:
    """Return a row for each algorithm on each data set, the best average rank first."""
    rows = study.table.set_index(["dataset", "algorithm"], drop=False)
    order = [(data, name) for data in study.on for name in study.algorithms]
    return rows.reindex(pd.MultiIndex.from_tuples(order))[["dataset", *COLUMNS]]


def repeats(study: Study) -> pd.DataFrame:
    """Return a row for each repeat of each algorithm on each data set."""
    return pd.DataFrame(
        [
            {
                "dataset": dataset,
                "algorithm": row.algorithm,
                "repeat": repeat,
                "value": value,
                **{f"param_{key}": one for key, one in params.items()},
            }
            for dataset, found in study.on.items()
            for row in found.rows
            for repeat, (value, params) in enumerate(zip(row.values, row.params, strict=True))
        ]
    )


def rank_frame(study: Study, ranking: Ranking) -> pd.DataFrame:
    """Return the average ranks with the wins, ties and losses, the best first."""
    return pd.DataFrame(
        [
            {
                "algorithm": name,
                "label": study.first.row(name).label,
                "average_rank": average,
                **ranking.ranks[name].to_dict(),
                **({} if name == study.first.mine.algorithm else study.outcomes(name)),
            }
            for name, average in ranking.average.items()
        ]
    )


def latex(study: Study) -> str:
    """Return the table in LaTeX (booktabs), with a caption that says what its marks mean."""
    metric, config = study.first.metric, study.config
    unit = f" ({metric.unit})" if metric.unit else ""
    of_one = study.first.repeats_are_of == ONE_DATA_SET
    many = " over shuffles of the data" if of_one else " over draws and shuffles"
    caption = (
        f"{metric.name[0].upper()}{metric.name[1:]}{unit}: mean ± standard deviation of "
        f"{config.repeats} repeats{many}; hyper-parameters chosen by "
        f"{config.selection.name}. Bold: the best mean of a column. Underlined: a tie with "
        f"it, within {100 * REGION:.0f} % (95 % interval of the paired ratio). Win, tie, loss: of "
        f"{study.first.mine.label} beside the algorithm, in numbers of data sets; the rest are "
        "undecided."
    )
    heads = [for_latex(name) for name in study.on] + (["rank"] if study.ranking else [])
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{for_latex(caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(heads) + 1)}}}",
        r"\toprule",
        " & ".join(["", *heads, r"win/tie/loss"]) + r" \\",
        r"\midrule",
    ]
    for label, *cells in study.lines(_latex_cell):
        lines.append(" & ".join([for_latex(label), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def _latex_cell(found: Compared, row: Row) -> str:
    if not row.values.size:
        return "--"
    shown, best = for_latex(spread(row)), found.rows[0]
    if row is best:
        return rf"\textbf{{{shown}}}"
    is_tie = found.standing(best, row)["outcome"] == EQUIVALENT
    return rf"\underline{{{shown}}}" if is_tie else shown


def rank_of(ranking: Ranking, algorithm: str) -> str:
    """Return an algorithm's average rank as text."""
    return f"{ranking.average[algorithm]:.1f}" if algorithm in ranking.average else "--"


def spread(row: Row) -> str:
    """Return a row's mean and standard deviation."""
    digits = 2 if row.mean >= 1.0 else 4
    return f"{row.mean:.{digits}f}" + ("" if np.isnan(row.std) else f" ± {row.std:.{digits}f}")


def curves(study: Study) -> list[ShownPanel]:
    """Return a panel of learning curves for each data set that has some."""
    mine = study.first.mine.algorithm
    named = [mine, *[name for name in study.algorithms if name != mine][: DRAWN - 1]]
    panels: list[ShownPanel] = []
    for dataset, found in study.on.items():
        rows = [found.row(name) for name in reversed(named)]
        lines = tuple(line_of(r.label, r.seen, r.curves) for r in rows if r.curves.size)
        if lines:
            axes = Axes("examples", "cumulative error rate (%)", lines)
            panels.append(ShownPanel(letters(len(panels)), dataset, (axes,)))
    return panels


def letters(number: int) -> str:
    """Return the label of a panel by its number from 0: a to z, then aa, ab and so on."""
    before, last = divmod(number, len(ascii_lowercase))
    return (letters(before - 1) if before else "") + ascii_lowercase[last]


def write(study: Study, folder: Path) -> list[Path]:
    """Write the tables, ranks and learning curves of a study; return the paths."""
    texts: dict[str, str | bytes] = {
        "comparison.csv": as_csv(frame(study), DIGITS),
        "comparison.tex": latex(study),
        "repeats.csv": as_csv(repeats(study), DIGITS),
    }
    ranking = study.ranking
    subtitle = (
        f"{study.config.repeats} repeats, seed {study.config.seed}, selection "
        f"{study.config.selection.name}"
    )
    if ranking is not None:
        texts["ranks.csv"] = as_csv(rank_frame(study, ranking), DIGITS)
    if panels := curves(study):
        grid = PanelGrid(columns=min(3, len(panels)))
        drawn = render(lambda: draw(grid, panels, subtitle), "curves", ("svg", "pdf"))
        texts |= {f"curves.{form}": content for form, content in drawn.items()}
        texts["curves.csv"] = as_csv(curve_frame(panels), DIGITS)
    paths = write_all(folder, texts)
    if ranking is not None and ranking.tells:
        paths += write_diagrams([ranking], folder / "ranks", subtitle, ("svg", "pdf"))
    return paths


def curve_frame(panels: list[ShownPanel]) -> pd.DataFrame:
    """Return the points of learning curves: mean and deviation after so many examples."""
    return pd.DataFrame(
        [
            {"dataset": panel.title, "label": line.label, "examples": x, "mean": mean, "std": std}
            for panel in panels
            for line in panel.axes[0].lines
            for x, mean, std in zip(line.x, line.mean, line.std, strict=True)
        ]
    )
