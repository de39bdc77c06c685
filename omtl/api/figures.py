"""A paper's figures, reproduced: their units played, their panels measured, drawn and written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from omtl.api.plots import draw_lines
from omtl.api.tables import check_files
from omtl.evidence.claims import claim_outcomes, in_sentences
from omtl.experiment.descriptions import descriptions
from omtl.experiment.readings import by_reading, by_rule
from omtl.figures.drawing import draw
from omtl.figures.numbers import FOLDED, MeasuredFigure, plan_figure, play_figure
from omtl.figures.pictures import LOOK, render
from omtl.tables.published_results import folder_for, write_rows
from omtl.tables.request import AUTO, Request, RequestOptions, request_for
from omtl.util.errors import UserError, known_name
from omtl.util.result_files import as_csv, fold, write_all
from omtl.util.screen import plural, say
from omtl.util.views import DisplayedResult, View

if TYPE_CHECKING:
    from typing import Unpack

    from matplotlib.axes import Axes

NUMBERS = ["x", "y", "y_std"]

OF_TABLES = ("one_draw", "times", "slow", "search")
"""Options of a request that only tables have."""


@dataclass(frozen=True, repr=False)
class Figure(DisplayedResult, MeasuredFigure):
    """A figure of a paper, reproduced: its units played, and its panels measured."""

    @property
    def subtitle(self) -> str:
        """The reading, the selection rule, the repeats and the seed."""
        return (
            f"reading {self.reading.name}, selection {self.selection}, "
            f"repeats {self.n_repeats}, seed {self.request.seed}"
        )

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each point of each line: panel, label, x, y, deviation."""
        rows = self.rows
        return rows.assign(**{name: pd.to_numeric(rows[name]) for name in NUMBERS})

    @cached_property
    def claims(self) -> pd.DataFrame:
        """The claims that the figure decides: do they hold of our numbers?"""
        return claim_outcomes(self.description.paper, self.id, self.reading.name, self.panels)

    @property
    def is_broken(self) -> bool:
        """Whether units failed for another reason than missing data."""
        return self.outcome.is_broken

    def plot(self, ax: Axes | None = None, panel: str | None = None) -> Any:
        """Draw the figure, or one of its panels on given axes; return the axes.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw a panel; by default the whole figure is drawn.
        panel : str, optional
            The panel's label, such as ``"a"``; by default the first with lines.
        """
        drawn = [one for one in self.panels if one.axes]
        if ax is None and panel is None:
            from matplotlib import style

            with style.context(["default", LOOK]):
                return self.draw().axes
        if not drawn:
            raise UserError(f"{self.id} has no lines to draw")
        label = known_name("panel", panel or drawn[0].label, [one.label for one in drawn])
        chosen = next(one for one in drawn if one.label == label)
        return draw_lines(chosen.axes[0], ax)

    def draw(self) -> Any:
        """Return it drawn, as a figure of matplotlib."""
        return draw(self.description, self.panels, self.subtitle)

    def write(self, folder: Path | None = None) -> list[Path]:
        """Write its svg, csv and claims, as ``omtl figure`` does; return the paths.

        The same numbers give the same bytes. They go to ``results/`` unless there is a folder;
        where units failed, to ``results/partial``.
        """
        full = self.request.is_full(self.description) and not self.outcome.failed
        folder = folder or folder_for(full, "figures")
        contents: dict[str, str | bytes] = {
            **render(self.draw, self.id),
            "csv": as_csv(fold(self.rows, FOLDED)),
        }
        of_rule = by_rule(self.id, self.selection, self.description.selection)
        stem = by_reading(of_rule, self.reading.name)
        paths = write_all(folder, {f"{stem}.{form}": each for form, each in contents.items()})
        of_claims = folder / f"{of_rule}.claims.csv"
        if len(self.claims) or of_claims.exists():  # rows of an earlier run go
            write_rows(of_claims, self.claims, self.reading.name)
            paths.append(of_claims)
        return paths

    @property
    def view(self) -> View:
        """The claims that the figure decides, with their outcomes."""
        rows = [[str(row["says"]), row["outcome"]] for row in self.claims.to_dict("records")]
        missing = [f"missing: {why}" for panel in self.panels for why in panel.missing]
        title = f"{self.id}: {plural(len(self.panels), 'panel')}, {self.subtitle}"
        return View(["the paper says", "ours"], rows, title, notes=missing)

    def show(self) -> None:
        """Print the claims and what is missing."""
        view = self.view
        say(view.title)
        for line in (*in_sentences(self.claims), *view.notes):
            say(line)

    def _repr_html_(self) -> str:
        """Return the figure as a picture with its claims, for notebooks."""
        picture = render(self.draw, self.id)["svg"].decode()
        return picture[picture.index("<svg") :] + self.view.html()


def played_figure(name: str, request: Request) -> Figure:
    """Play the units that a figure lacks, and measure its panels.

    Unavailable data are not an error: their panels say so.
    """
    planned = plan_figure(name, request)
    check_files(planned.description.paper)
    return Figure(**vars(play_figure(planned)))


def figure(name: str, **given: Unpack[RequestOptions]) -> Figure:
    """Reproduce a figure of a paper: play what is not stored yet, and measure it.

    Parameters
    ----------
    name : str
        The figure's id, such as ``"dom-fig2"`` (`omtl.paper`).
    **given
        As in `omtl.table`, without what only tables have.

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
    >>> found = omtl.figure("pfmtl-fig1", repeats=1)
    >>> sorted(found.frame["kind"].unique())
    ['published', 'run']
    """
    request = request_for(**given)
    known = known_name("figure", name, descriptions("figure"))
    if of_tables := [option for option in OF_TABLES if given.get(option)]:
        raise UserError(f"{of_tables[0]} is for tables; leave it out for {known}")
    if request.repeats == AUTO:
        raise UserError(f"repeats={AUTO!r} is for tables, whose cells have verdicts; name a number")
    return played_figure(known, request)
