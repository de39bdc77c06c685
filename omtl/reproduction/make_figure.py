"""Reproducing a figure: compute its units, judge its numbers, write its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.evidence.claims import outcomes
from omtl.experiment.naming import by_reading, by_rule
from omtl.figures.drawing import draw
from omtl.figures.numbers import FOLDED, Shown, frame, show_figure
from omtl.figures.pictures import render
from omtl.figures.plan import Figure, plan_figure
from omtl.figures.play import play_figure
from omtl.tables.request import Request
from omtl.tables.writing import write_rows
from omtl.util.folding import fold
from omtl.util.result_files import as_csv, write_all


@dataclass(frozen=True)
class Made:
    """A figure that was made: its claims and files.

    `broken` says whether units failed for another reason than missing data.
    """

    claims: pd.DataFrame
    paths: list[Path]
    broken: bool


def write_figure(
    figure: Figure, shown: Sequence[Shown], request: Request, folder: Path
) -> list[Path]:
    """Write a figure's svg and csv; return their paths.

    The same numbers give the same bytes. Like a table's files, they carry the name of another
    selection rule than the figure's own, and the reading's unless it is the one that comes closest
    to what is published.
    """
    reading, selection = figure.reading["name"], request.rule(figure.description)
    stem = by_reading(by_rule(figure.id, selection, figure.description.selection), reading)
    n_repeats = request.n_repeats(figure.description)
    subtitle = f"reading {reading}, selection {selection}, repeats {n_repeats}, seed {request.seed}"
    rows = fold(frame(figure, shown, selection), FOLDED)
    pictures = render(lambda: draw(figure.description, shown, subtitle), figure.id)
    contents = {**pictures, "csv": as_csv(rows).encode()}
    return write_all(folder, {f"{stem}.{form}": each for form, each in contents.items()})


def make_figure(name: str, reading: Mapping[str, Any], request: Request, folder: Path) -> Made:
    """Compute the units that a figure lacks, draw it, and write its files.

    Parameters
    ----------
    name : str
        The figure's id.
    reading : mapping
        A reading's config.
    request : Request
        Which repeats, by which rule, and how they are computed.
    folder : Path
        Where the files go.

    Raises
    ------
    UserError
        If a name is unknown. Unavailable data are no error: their panels say so.
    """
    figure, outcome = play_figure(plan_figure(name, reading), request)
    shown = show_figure(figure, request, outcome.failed)
    paths = write_figure(figure, shown, request, folder)
    claims = outcomes(figure.description.paper, figure.id, reading["name"], shown)
    if len(claims):
        paths.append(folder / f"{figure.id}.claims.csv")
        write_rows(paths[-1], claims)
    broken = any(not failure.missing_data for failure in outcome.failed.values())
    return Made(claims, paths, broken)
