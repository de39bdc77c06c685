"""Measure how much accuracy a table loses when large grids are searched, not enumerated.

Examples
--------
omtl audit search rom-table1
"""

from __future__ import annotations

from typing import Any

from omtl.commands._options import PARALLEL, REQUEST, option, tell_written

OPTIONS = (
    option("table", metavar="TABLE"),
    option("--search", dest="measured", default="halving"),
    *(*REQUEST, *PARALLEL),
)


def run(table: str, measured: str, **given: Any) -> None:
    """Search the grids of a fully played table; print and write the differences.

    Parameters
    ----------
    table
        id of the table
    measured
        a name in conf/search
    **given
        The options that several commands have.

    Raises
    ------
    UserError
        If there is no such table or search, or the table uses a search itself or has no grid that
        is large enough for one.
    """
    from omtl.experiment.config import options
    from omtl.experiment.descriptions import describe, known_table
    from omtl.experiment.specs import SearchSpec
    from omtl.tables.cells import planned
    from omtl.tables.published_results import folder_for, write_rows
    from omtl.tables.request import request_for
    from omtl.tables.scoring import cost_of
    from omtl.util.errors import UserError, known_name

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
    full = request.is_full(describe("table", table))
    path = folder_for(full, "search", apart=True) / f"{table}.csv"
    write_rows(path, rows)
    print(rows.iloc[:, :9].to_string(index=False))
    tell_written([path])
