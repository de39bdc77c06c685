"""Tables, figures, data sets, records and citations, in formats that other programs read."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omtl import datasets, results
from omtl.experiment.composition import ComposedRun, composed
from omtl.experiment.descriptions import Description, describe, descriptions
from omtl.experiment.schema import read_yaml
from omtl.experiment.specs import DataSetSpec
from omtl.experiment.unit import Experiment, Unit
from omtl.figures import numbers
from omtl.figures.drawing import draw
from omtl.figures.pictures import FORMS, render
from omtl.reproduction.json_ld import croissant, write_crate
from omtl.reproduction.record import write_record_table
from omtl.tables.cells import as_rows, long_repeats, planned, with_numbers
from omtl.tables.layout import captioned_latex, counts, lay_out, layout_markdown
from omtl.tables.notes import notes
from omtl.tables.published_results import source_of, stored_or_published
from omtl.tables.request import Request, RequestOptions, request_for
from omtl.util.bibliography import BIBLIOGRAPHY, bibtex_entries
from omtl.util.errors import UserError, known_name, repeated
from omtl.util.paths import EXPERIMENTS, results_to_read, shown_path
from omtl.util.result_files import as_csv, as_parquet, write_all
from omtl.util.screen import plural
from omtl.util.views import view_of

if TYPE_CHECKING:
    from typing import Unpack

Export = tuple[dict[str, str | bytes], str, str, str]
"""Contents of files by suffix; their common name; what they are; and where the numbers are from."""


def citations(overrides: Sequence[str]) -> str:
    """Return what to cite for a run with these overrides, as BibTeX."""
    run = composed(overrides)
    return bibtex([run], run.reading.paper)


def is_data(name: str) -> bool:
    """Whether a name is that of a data set."""
    return name.casefold() in datasets.names()


def is_records(name: str) -> bool:
    """Whether a name is that of a folder with records of runs."""
    return "/" in name or Path(name).is_dir()


def export(
    names: Sequence[str],
    folder: Path | str = ".",
    *,
    by_repeat: bool = False,
    ro_crate: bool = False,
    **given: Unpack[RequestOptions],
) -> Iterator[tuple[str, list[Path]]]:
    """Write files to a folder; yield what each name is, and its files.

    Parameters
    ----------
    names : sequence of str
        Tables, figures and data sets, and folders with records of runs.
    folder : Path or str
        Where to write.
    by_repeat : bool
        Whether a table of runs has a row for each repeat.
    ro_crate : bool
        Whether to write ``ro-crate-metadata.json``, which describes each file.
    **given
        As in `omtl.table`.

    Raises
    ------
    UserError
        If there is no such thing, there are no numbers of it, or two would have the same files.
    """
    request, folder = request_for(**given), Path(folder)
    if twice := repeated(Path(name).name for name in names):
        raise UserError(f"two exports would be called {twice[0]!r}; write them to two folders")
    exported = {}
    for name in names:
        if is_records(name):
            runs = results.runs(name, by_repeat=by_repeat)
            folder.mkdir(parents=True, exist_ok=True)
            said = f"{view_of(runs).text()}\n{name}: {len(runs)} rows"
            paths = write_record_table(runs, folder / (Path(name).name or "runs"))
        else:
            said, paths = export_files(name, request, folder)
        exported[Path(name).name] = paths
        yield said, paths
    if ro_crate:
        command = export_command([*exported], request) + " --by-repeat" * by_repeat
        yield "RO-Crate", [write_crate(folder, exported, command)]


def export_command(names: Sequence[str], request: Request) -> str:
    """Return the command line that exports the same again."""
    given = {"repeats": request.repeats, "seed": request.seed, "selection": request.selection}
    words = ["omtl", "export", *names, "--reading", request.reading]
    for option, value in given.items():
        words += [f"--{option}", str(value)] if value else []
    return shlex.join([*words, *(["--one-draw"] if request.one_draw else [])])


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
    makers = dict.fromkeys(descriptions("table"), _table)
    makers |= dict.fromkeys(descriptions("figure"), _figure)
    makers |= dict.fromkeys(datasets.names(), _data_set)
    known = known_name("table, figure or data set", name, makers)
    contents, stem, summary, source = makers[known](known, request)
    paths = write_all(folder, {f"{stem}.{ending}": each for ending, each in contents.items()})
    return f"{known}: {summary}; from {source}", paths


def _table(name: str, request: Request) -> Export:
    """Return the export of a table."""
    description = describe("table", name)
    cells, run = stored_or_published(planned(name, request), request)
    if not cells["n_repeats"].any():
        raise _nothing(f"omtl table {name}", request, description)
    repeats = long_repeats(cells)
    layout = lay_out(cells, notes(cells))
    rows = run.rows if run else as_rows(cells)
    contents: dict[str, str | bytes] = {
        "csv": as_csv(rows),
        "md": run.text("md") if run else layout_markdown(layout),
        "tex": captioned_latex(layout),
        "repeats.csv": as_csv(repeats),
        "bib": bibtex(cells["experiment"], description.paper),
        **as_parquet(**{"parquet": with_numbers(rows), "repeats.parquet": repeats}),
    }
    return contents, request.stem(description), counts(cells), source_of(run)


def _figure(name: str, request: Request) -> Export:
    """Return the export of a figure: the one in ``results/`` if it is the full run's."""
    figure = numbers.as_chosen(numbers.plan_figure(name, request))
    description, units, stem = figure.description, figure.units, request.stem(figure.description)
    bib: dict[str, str | bytes] = {"bib": bibtex(units, description.paper)}
    folder = results_to_read("figures") / "figures"
    svg, csv = (folder / f"{stem}.{form}" for form in ("svg", "csv"))
    lacking = request.is_full(description) and len(request.store.stored(units)) < len(units)
    if lacking and svg.exists() and csv.exists():
        points = numbers.drawn_rows(csv)
        summary = f"no pdf and png, which need `omtl figure {name}` first"
        contents = {"svg": svg.read_bytes(), "csv": as_csv(points), **bib}
        return contents, stem, summary, shown_path(folder)
    shown = figure.panels
    if not any(panel.parts for panel in shown):
        raise _nothing(f"omtl figure {name}", request, description)
    drawn = render(lambda: draw(description, shown, ""), name, tuple(FORMS))
    missing = sum(bool(panel.missing) for panel in shown)
    summary = plural(len(shown), "panel") + (f", {missing} with missing lines" if missing else "")
    return {**drawn, "csv": as_csv(figure.rows), **bib}, stem, summary, source_of(None)


def _data_set(name: str, request: Request) -> Export:  # noqa: ARG001 - as for tables
    """Return the export of a data set."""
    source = "a draw with seed 0" if DataSetSpec.named(name).is_synthetic else "its files"
    return croissant(name), name, "its examples, and their description in Croissant", source


def _nothing(command: str, request: Request, description: Description) -> UserError:
    repeats = plural(request.n_repeats(description), "repeat")
    return UserError(
        f"{description.id}: there are no results for {repeats} of reading {request.reading}, "
        f"seed {request.seed}, in the store or in results/; run `{command}` first, with the same "
        "options"
    )


def bibtex(used: Iterable[Experiment | Unit | ComposedRun], paper: str | None) -> str:
    """Return the BibTeX entries for a paper and for everything that runs use, sorted by key.

    A paper of a user's own has no key, and is left out.

    Raises
    ------
    UserError
        If a key is not in the bibliography.
    """
    known, runs = bibtex_entries(BIBLIOGRAPHY.read_text(encoding="utf-8")), list(used)
    about = EXPERIMENTS / str(paper) / "paper.yaml"
    key = read_yaml(about)["cites"] if about.exists() else ""
    found = {key: known[key]} if key else {}
    for algorithm in (run.algorithm for run in runs):
        for key in algorithm.cites:
            if key not in known:
                raise UserError(
                    f"algorithm {algorithm.name}: cites {key!r}, which "
                    f"omtl/reproduction/{BIBLIOGRAPHY.name} does not have"
                )
            found[key] = known[key]
    for run in runs:
        found |= bibtex_entries(run.dataset.fetcher.CITATION)
    return "\n\n".join(found[key] for key in sorted(found)) + "\n"
