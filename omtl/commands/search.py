"""``omtl search``: measure the accuracy that a table loses by searching large grids."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_run_options, request_of, tell_written

HELP = "measure how much accuracy a table loses when large grids are searched, not enumerated"
EXAMPLES = ("search rom-table1",)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the table, the search and how to run it."""
    command.add_argument("table", metavar="TABLE")
    command.add_argument("--search", default="halving", help="a name in conf/search")
    add_run_options(command)


def run(options: argparse.Namespace) -> None:
    """Search the grids of a fully played table; print and write the differences."""
    from omtl.experiment.specs import SearchSpec
    from omtl.tables.cells import planned
    from omtl.tables.plan import describe
    from omtl.tables.search_cost import cost_of
    from omtl.tables.writing import folder_for, write_rows
    from omtl.util.errors import UserError

    request = request_of(options)
    cells = planned(options.table, request, plays=0)
    if cells["search"].notna().any():
        raise UserError(
            f"{options.table} uses a search itself; name a table whose grids are played in full"
        )
    rows = cost_of(cells, SearchSpec.named(options.search), request)
    description = describe("table", options.table)
    folder = folder_for(request.is_full(description), "search", apart=True)
    path = folder / f"{options.table}.csv"
    write_rows(path, rows)
    print(rows.iloc[:, :9].to_string(index=False))
    tell_written([path])
