"""Looking behind the numbers: replays of cells, searches of readings and of grids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from omtl.experiment.config import options
from omtl.experiment.descriptions import LITERAL
from omtl.experiment.specs import SearchSpec
from omtl.reproduction import replay as replaying
from omtl.reproduction import search_readings as searching
from omtl.tables.cells import planned
from omtl.tables.plan import describe, descriptions, known_name, known_table
from omtl.tables.play import cost_of
from omtl.tables.published_results import folder_for, write_rows
from omtl.tables.request import ParallelOptions, RequestOptions, parallel_for, request_for
from omtl.util import paths
from omtl.util.errors import UserError
from omtl.util.paths import results_to_read

if TYPE_CHECKING:
    from typing import Unpack


def verify(
    tables: Sequence[str] = (),
    cells: int | None = None,
    seed: int = 0,
    *,
    sign: str | None = None,
    **how: Unpack[ParallelOptions],
) -> tuple[list[Path], str]:
    """Compute random cells again, print and record whether every digit is that of ``results/``.

    Parameters
    ----------
    tables : sequence of str
        All by default.
    cells : int, optional
        The number of cells; by default one from each table.
    seed : int
        Seed of the draw of cells.
    sign : str, optional
        Under which name to add a line to ``results/reproductions.csv``.
    **how
        How to compute (`ParallelOptions`).

    Returns
    -------
    list of Path
        The files that say so.
    str
        How many cells differ, and what that means; empty if none does.

    Raises
    ------
    UserError
        If there is no such table, or no cell can be compared.
    """
    names = list(dict.fromkeys(map(known_table, tables))) or list(descriptions("table"))
    if sign is not None:
        replaying.refuse_name(sign)
    engine = parallel_for(**how)
    checks = []
    for run, row in replaying.draw_cells(results_to_read(), names, cells or len(names), seed):
        done = replaying.check_cell(run, row, seed, engine)
        checks.append(done)
        print(done, flush=True)
    if all(done.result == replaying.NOT_COMPARABLE for done in checks):
        raise UserError("no cell could be compared, for the reasons above; nothing was recorded")
    rows = {"verify.csv": replaying.signed_off(checks, seed)}
    if sign is not None:
        rows["reproductions.csv"] = replaying.signature(checks, sign, seed)
    for name, added in rows.items():
        replaying.append_rows(paths.RESULTS / name, added)
    written = [paths.RESULTS / name for name in rows]
    different = sum(done.result == replaying.DIFFERENT for done in checks)
    warning = (
        f"{different} of {len(checks)} cells differ from results/: the code or the packages have "
        "changed since they were made, or this machine computes different bits"
    )
    return written, warning if different else ""


def search_grids(
    table: str, measured: str, **given: Unpack[RequestOptions]
) -> tuple[pd.DataFrame, Path]:
    """Search the grids of a fully played table by a search; return and write what is lost by it.

    Raises
    ------
    UserError
        If there is no such table or search, or the table uses a search itself or has no grid that
        is large enough for one.
    """
    table, request = known_table(table), request_for(**given)
    cells = planned(table, request, plays=0)
    if cells["search"].notna().any():
        raise UserError(
            f"{table} uses a search itself; name a table whose grids are played in full"
        )
    search = SearchSpec.named(known_name("search", measured, options("search")))
    rows = cost_of(cells, search, request)
    if rows.empty:
        raise UserError(
            f"{table} has no grid of {search.from_points} points or more, which {measured} searches"
        )
    folder = folder_for(request.is_full(describe("table", table)), "search", apart=True)
    path = folder / f"{table}.csv"
    write_rows(path, rows)
    return rows, path


def search_readings(
    table: str,
    *,
    draws: int = 0,
    begin: str | None = None,
    only: str | None = None,
    keep: bool = False,
    repeats: int | None = None,
    seed: int = 0,
    **how: Unpack[ParallelOptions],
) -> list[Path]:
    """Search a paper's open questions; write the record, and the best answers as readings.

    Parameters
    ----------
    table : str
        Its id; case does not matter.
    draws : int
        Number of random readings to try in addition.
    begin : str, optional
        The reading to start from; by default the literal one.
    only : str, optional
        The only reading to search for.
    keep : bool
        Whether to keep the answers of a search with few repeats or another seed.
    repeats : int, optional
        Per trial.
    seed : int
        Seed of the random readings.
    **how
        How to compute (`ParallelOptions`).

    Raises
    ------
    UserError
        If there is no such table or reading.
    """
    table, n_repeats = known_table(table), repeats or searching.REPEATS
    full = keep or (n_repeats >= searching.REPEATS and seed == 0)
    if full:
        searching.readings_folder(table)  # refused before anything is played
    request = request_for(reading=begin or LITERAL, repeats=n_repeats, seed=seed, **how)
    found = searching.search(table, request, print, draws, [only] if only else searching.SEARCHES)
    for reading, answers in found.answers.items():
        print(f"{reading}: {answers}")
    paths = searching.write_search_record(table, found, full)
    if full:
        return [*paths, *searching.write_answers(table, found, seed)]
    print(
        "the paper's readings stay unchanged: "
        f"only a search with {searching.REPEATS} repeats and seed 0 changes them"
    )
    return paths
