"""Tables, figures, data sets, records and citations, in formats that other programs read."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omtl import datasets, results
from omtl.api.tables import RequestOptions, request_for
from omtl.api.views import view_of
from omtl.experiment.composition import composed
from omtl.reproduction.citations import bibtex
from omtl.reproduction.export import export_files
from omtl.reproduction.json_ld import write_crate
from omtl.reproduction.record import write_record_table
from omtl.tables.request import Request

if TYPE_CHECKING:
    from typing import Unpack


def citations(overrides: Sequence[str]) -> str:
    """Return what to cite for a run with these overrides, as BibTeX."""
    config = composed(overrides)
    paper = config.reading.paper
    return bibtex([config.algorithm], [config.dataset], [paper] if paper else [])


def are_data(names: Sequence[str]) -> bool:
    """Whether all names are those of data sets."""
    return set(names) <= {*datasets.names()}


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
        If there is no such thing, or there are no numbers of it.
    """
    request, folder = request_for(**given), Path(folder)
    exported = {}
    for name in names:
        if "/" in name or Path(name).is_dir():
            runs = results.runs(name, by_repeat=by_repeat)
            folder.mkdir(parents=True, exist_ok=True)
            said = f"{view_of(runs).text()}\n{name}: {len(runs)} rows"
            paths = write_record_table(runs, folder / (Path(name).name or "runs"))
        else:
            said, paths = export_files(name, request, folder)
        exported[Path(name).name] = paths
        yield said, paths
    if ro_crate:
        yield "RO-Crate", [write_crate(folder, exported, export_command([*exported], request))]


def export_command(names: Sequence[str], request: Request) -> str:
    """Return the command line that exports the same again."""
    given = {"repeats": request.repeats, "seed": request.seed, "selection": request.selection}
    words = ["omtl", "export", *names, "--reading", request.reading]
    for option, value in given.items():
        words += [f"--{option}", str(value)] if value else []
    return shlex.join([*words, *(["--one-draw"] if request.one_draw else [])])
