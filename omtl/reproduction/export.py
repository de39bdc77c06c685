"""Exporting tables, raw repeats and figures for papers and other programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from omtl import datasets as data_sets
from omtl.experiment.descriptions import Description
from omtl.experiment.readings import Reading
from omtl.experiment.schema import choose
from omtl.experiment.unit import Experiment, Unit
from omtl.figures import numbers
from omtl.figures.drawing import draw
from omtl.figures.pictures import FORMS, render
from omtl.figures.plan import plan_figure
from omtl.figures.play import as_chosen
from omtl.reproduction.citations import bibtex
from omtl.reproduction.json_ld import croissant
from omtl.tables import plan
from omtl.tables.cells import as_rows, long_repeats, planned, with_numbers
from omtl.tables.layout import captioned_latex, counts, lay_out, layout_markdown
from omtl.tables.notes import notes
from omtl.tables.published_results import shown_path, source_of, stored_or_published
from omtl.tables.request import Request
from omtl.util.errors import UserError
from omtl.util.paths import results_to_read
from omtl.util.result_files import as_csv, as_parquet, write_all
from omtl.util.screen import plural

Export = tuple[dict[str, str | bytes], str, str, str]
"""Contents of files by suffix; their common name; what they are; and where the numbers are from."""


def export_files(name: str, request: Request, folder: Path) -> tuple[str, list[Path]]:
    """Write a data set, or a table or figure from the store or the kept results.

    Nothing is computed. All files carry the names of the reading and of the selection
    rule, but for the closest reading and the own rule (`omtl.experiment.descriptions`).

    Returns
    -------
    said : str
        What was exported, and where it is from.
    paths : list of Path
        Of a table csv, md, tex, its repeats as csv, and with pyarrow both as parquet; of a figure
        svg and csv, with png and pdf where it is drawn from the store; of both the BibTeX of all
        that they use; of a data set parquet and its description in Croissant.

    Raises
    ------
    UserError
        On an unknown table, figure, data set, reading or rule, or where there are no numbers.
    """
    makers = dict.fromkeys(plan.descriptions("table"), _table)
    makers |= dict.fromkeys(plan.descriptions("figure"), _figure)
    makers |= dict.fromkeys(data_sets.names(), _data_set)
    maker = makers[choose("table, figure or data set", name, list(makers))]
    contents, stem, summary, source = maker(name, request)
    paths = write_all(folder, {f"{stem}.{ending}": each for ending, each in contents.items()})
    return f"{name}: {summary}; from {source}", paths


def _table(name: str, request: Request) -> Export:
    """Return the export of a table."""
    description = plan.describe("table", name)
    cells, run = stored_or_published(planned(name, request), request)
    if not cells["n_repeats"].any():
        raise _nothing(f"omtl table {name}", request, description)
    repeats = long_repeats(cells)
    layout = lay_out(cells, notes(cells))
    rows = pd.DataFrame(run.rows) if run else as_rows(cells)
    contents: dict[str, str | bytes] = {
        "csv": as_csv(rows),
        "md": run.text("md") if run else layout_markdown(layout),
        "tex": captioned_latex(layout),
        "repeats.csv": as_csv(repeats),
        "bib": _bib(description.paper, cells["experiment"]),
        **as_parquet(**{"parquet": with_numbers(rows), "repeats.parquet": repeats}),
    }
    return contents, request.stem(description), counts(cells), source_of(run)


def _figure(name: str, request: Request) -> Export:
    """Return the export of a figure: the one in ``results/`` if it is the full run's."""
    description = plan.describe("figure", name)
    request.check(description)
    reading, stem = Reading.of(description.paper, request.reading), request.stem(description)
    figure = as_chosen(plan_figure(name, reading), request)
    units = figure.units(request.seed, request.n_repeats(description))
    bib: dict[str, str | bytes] = {"bib": _bib(description.paper, units)}
    folder = results_to_read("figures") / "figures"
    svg, csv = (folder / f"{stem}.{form}" for form in ("svg", "csv"))
    lacking = request.is_full(description) and not all(map(request.store.has, units))
    if lacking and svg.exists() and csv.exists():
        points = pd.DataFrame(numbers.drawn_rows(csv), columns=numbers.COLUMNS)
        summary = f"no pdf and png, which need `omtl figure {name}` first"
        contents = {"svg": svg.read_bytes(), "csv": as_csv(points), **bib}
        return contents, stem, summary, shown_path(folder)
    shown = numbers.show_figure(figure, request)
    if not any(panel.parts for panel in shown):
        raise _nothing(f"omtl figure {name}", request, description)
    drawn = render(lambda: draw(figure.description, shown, ""), name, tuple(FORMS))
    rows = numbers.figure_rows(figure, shown, request.rule(description))
    missing = sum(bool(panel.missing) for panel in shown)
    summary = plural(len(shown), "panel") + (f", {missing} with missing lines" if missing else "")
    return {**drawn, "csv": as_csv(rows), **bib}, stem, summary, source_of(None)


def _data_set(name: str, request: Request) -> Export:  # noqa: ARG001 - as for tables
    """Return the export of a data set."""
    return croissant(name), name, "its examples, and their description in Croissant", "its files"


def _nothing(command: str, request: Request, description: Description) -> UserError:
    repeats = plural(request.n_repeats(description), "repeat")
    return UserError(
        f"{description.id}: there are no results for {repeats} of reading {request.reading}, "
        f"seed {request.seed}, in the store or in results/; run `{command}` first, with the same "
        "options"
    )


def _bib(paper: str, used: Iterable[Experiment | Unit]) -> str:
    each = [*used]
    return bibtex([one.algorithm for one in each], [one.dataset for one in each], [paper])
