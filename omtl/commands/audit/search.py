"""``omtl audit search``: measure the accuracy that a table loses by searching large grids."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_run_options, given_request, tell_written

GROUP = "look behind the numbers"
HELP = "measure how much accuracy a table loses when large grids are searched, not enumerated"
EXAMPLES = ("audit search rom-table1",)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the table, the search and how to run it."""
    command.add_argument("table", metavar="TABLE", help="id of the table")
    command.add_argument("--search", default="halving", help="a name in conf/search")
    add_run_options(command)


def run(options: argparse.Namespace) -> None:
    """Search the grids of a fully played table; print and write the differences."""
    from omtl.api.audits import search_grids

    rows, path = search_grids(options.table, options.search, **given_request(options))
    print(rows.iloc[:, :9].to_string(index=False))
    tell_written([path])
