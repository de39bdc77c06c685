"""Figures end to end: compute missing units, measure, draw, write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.compute.engine import Outcome
from omtl.evidence.claims import claim_outcomes
from omtl.experiment.descriptions import by_reading, by_rule
from omtl.experiment.readings import Reading
from omtl.figures.drawing import draw
from omtl.figures.numbers import FOLDED, ShownPanel, figure_rows, show_figure
from omtl.figures.pictures import render
from omtl.figures.plan import PlannedFigure, plan_figure
from omtl.figures.play import play_figure
from omtl.reproduction.reproduce import Reproduction
from omtl.tables.plan import describe
from omtl.tables.published_results import folder_for, write_rows
from omtl.tables.request import Request
from omtl.util.result_files import as_csv, fold, write_all


def compute_figure(name: str, request: Request) -> None:
    """Compute the units that a figure lacks.

    Raises
    ------
    UserError
        On an unknown figure, reading or rule.
    """
    play_figure(_planned(name, request), request)


def reproduce_figure(name: str, request: Request) -> Reproduction:
    """Reproduce a figure and write its files.

    Raises
    ------
    UserError
        On an unknown figure, reading or rule.
    """
    done = play_paper_figure(name, request)
    return Reproduction(done.claims, done.write(), done.outcome.is_broken)


@dataclass(frozen=True)
class FigureRun:
    """A figure that was played and measured.

    Parameters
    ----------
    request : Request
    figure : Figure
    panels : list of ShownPanel
        The panels with their numbers.
    claims : DataFrame
        The outcomes of the claims that it decides.
    outcome : Outcome
        The units that were computed, and those that failed.
    """

    request: Request
    figure: PlannedFigure
    panels: list[ShownPanel]
    claims: pd.DataFrame
    outcome: Outcome

    @property
    def selection(self) -> str:
        """The name of the selection rule."""
        return self.request.rule(self.figure.description)

    @property
    def subtitle(self) -> str:
        """The reading, the selection rule, the repeats and the seed."""
        return (
            f"reading {self.figure.reading.name}, selection {self.selection}, "
            f"repeats {self.request.n_repeats(self.figure.description)}, seed {self.request.seed}"
        )

    def draw(self) -> Any:
        """Return it drawn, as a figure of matplotlib."""
        return draw(self.figure.description, self.panels, self.subtitle)

    def write(self, folder: Path | None = None) -> list[Path]:
        """Write the figure's svg, csv and claims; return the paths.

        The same numbers give the same bytes.
        """
        figure, description = self.figure, self.figure.description
        folder = folder or folder_for(self.request.is_full(description), "figures")
        contents: dict[str, str | bytes] = {
            **render(self.draw, figure.id),
            "csv": as_csv(fold(figure_rows(figure, self.panels, self.selection), FOLDED)),
        }
        named = by_rule(figure.id, self.selection, description.selection)
        stem = by_reading(named, figure.reading.name)
        paths = write_all(folder, {f"{stem}.{form}": each for form, each in contents.items()})
        of_claims = folder / f"{figure.id}.claims.csv"
        if len(self.claims) or of_claims.exists():  # rows of an earlier run go
            write_rows(of_claims, self.claims, figure.reading.name)
            paths.append(of_claims)
        return paths


def play_paper_figure(name: str, request: Request) -> FigureRun:
    """Play the units that a figure lacks, and measure its panels.

    Unavailable data are not an error: their panels say so.

    Raises
    ------
    UserError
        On an unknown figure, reading or rule.
    """
    return measured_figure(_planned(name, request), request)


def _planned(name: str, request: Request) -> PlannedFigure:
    """Return a figure under the reading that is asked for."""
    description = describe("figure", name)
    request.check(description)
    return plan_figure(name, Reading.of(description.paper, request.reading))


def measured_figure(planned: PlannedFigure, request: Request) -> FigureRun:
    """Play the units that a figure lacks, and measure its panels."""
    figure, outcome = play_figure(planned, request)
    panels = show_figure(figure, request, outcome.failed)
    claims = claim_outcomes(figure.description.paper, figure.id, figure.reading.name, panels)
    return FigureRun(request, figure, panels, claims, outcome)
