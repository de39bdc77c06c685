"""A paper's figures, reproduced."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from omtl.api.names import known_name
from omtl.api.tables import RequestOptions, request_for
from omtl.api.views import DisplayedResult, View
from omtl.evidence.claims import in_sentences
from omtl.figures.numbers import figure_rows
from omtl.figures.pictures import LOOK, render
from omtl.reproduction.figure_runs import FigureRun, play_paper_figure
from omtl.tables.plan import descriptions
from omtl.util.errors import UserError
from omtl.util.screen import plural, say

if TYPE_CHECKING:
    from typing import Unpack

    from matplotlib.axes import Axes

NUMBERS = ["x", "y", "y_std"]


@dataclass(frozen=True, repr=False)
class Figure(DisplayedResult):
    """A figure of a paper, reproduced.

    Parameters
    ----------
    run : FigureRun
        The figure as it was played and measured.
    """

    run: FigureRun

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each point of each line: panel, label, x, y, deviation."""
        run = self.run
        rows = figure_rows(run.figure, run.panels, run.selection)
        return rows.assign(**{name: pd.to_numeric(rows[name]) for name in NUMBERS})

    @property
    def claims(self) -> pd.DataFrame:
        """The claims that the figure decides: do they hold of our numbers?"""
        return self.run.claims

    @property
    def is_broken(self) -> bool:
        """Whether units failed for another reason than missing data."""
        return self.run.outcome.is_broken

    def plot(self, ax: Axes | None = None, panel: str | None = None) -> Any:
        """Draw the figure, or one of its panels on given axes; return the axes.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw a panel; by default the whole figure is drawn.
        panel : str, optional
            The panel's label, such as ``"a"``; by default the first with lines.
        """
        from omtl.api.plots import axes_for
        from omtl.figures.drawing import draw_axes, styles_of

        drawn = [one for one in self.run.panels if one.axes]
        if ax is None and panel is None:
            from matplotlib import style

            with style.context(["default", LOOK]):
                return self.run.draw().axes
        if not drawn:
            raise UserError(f"{self.run.figure.id} has no lines to draw")
        label = known_name("panel", panel or drawn[0].label, [one.label for one in drawn])
        chosen = next(one for one in drawn if one.label == label)
        ax = axes_for(ax)
        draw_axes(chosen.axes[0], ax, styles_of([chosen]))
        ax.set_ylabel(chosen.axes[0].y_label)
        return ax

    def write(self) -> list[Path]:
        """Write the figure's files to ``results/``, as ``omtl figure`` does; return the paths."""
        return self.run.write()

    @property
    def view(self) -> View:
        """The claims that the figure decides, with their outcomes."""
        of = self.run.figure.description
        rows = [[str(row["says"]), row["outcome"]] for row in self.claims.to_dict("records")]
        missing = [f"missing: {why}" for panel in self.run.panels for why in panel.missing]
        title = f"{self.run.figure.id}: {plural(len(of.panels), 'panel')}, {self.run.subtitle}"
        return View(["the paper says", "ours"], rows, title, notes=missing)

    def show(self) -> None:
        """Print the claims and what is missing."""
        view = self.view
        say(view.title)
        for line in (*in_sentences(self.claims), *view.notes):
            say(line)

    def _repr_html_(self) -> str:
        """Return the figure as a picture with its claims, for notebooks."""
        picture = render(self.run.draw, self.run.figure.id)["svg"].decode()
        return picture[picture.index("<svg") :] + self.view.html()


def figure(name: str, **given: Unpack[RequestOptions]) -> Figure:
    """Reproduce a figure of a paper: play what is not stored yet, and measure it.

    Parameters
    ----------
    name : str
        The figure's id, such as ``"dom-fig2"`` (`omtl.paper`).
    **given
        As in `omtl.table`.

    Returns
    -------
    Figure
        ``.frame``, ``.claims``, ``.plot()``.

    Raises
    ------
    UserError
        If there is no such figure, reading or rule.

    Examples
    --------
    >>> import omtl
    >>> found = omtl.figure("dom-figtheorem4", repeats=1)
    >>> sorted(found.frame["kind"].unique())
    ['note', 'run', 'theory']
    """
    known = known_name("figure", name, descriptions("figure"))
    return Figure(play_paper_figure(known, request_for(**given)))
