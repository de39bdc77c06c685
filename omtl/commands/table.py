"""``omtl table``: reproduce a table and compare it with the published one."""

from __future__ import annotations

import argparse

from omtl.commands._options import (
    add_flags,
    add_run_options,
    given_request,
    refuse_ignored,
    tell_written,
)
from omtl.util.status import DONE, FAILED

GROUP = "check a paper"
HELP = "reproduce a table and compare it with the published one"
EXAMPLES = (
    "table dom-table1 --repeats 2",
    "table rom-table1 --reading as_written",
    'table dom-table1 --cell "PA on Synthetic" --repeats 5',
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the table and how to run it."""
    command.add_argument(
        "table", metavar="TABLE", help="id of the table; `omtl list tables` shows all"
    )
    command.add_argument(
        "--cell",
        help="compute only this cell and write no files; `omtl explain TABLE` lists the cells",
    )
    add_run_options(command, auto=True)
    command.add_argument(
        "--search", help="how large grids are narrowed, in conf/search; default: the table's own"
    )
    add_flags(command, "full", "one-draw", "dry-run", "times", "all")


def run(options: argparse.Namespace) -> int:
    """Compute a table's missing units, print it next to the published one, write its files."""
    from omtl.api.tables import table

    if options.cell is not None:
        refuse_ignored(options, add_options, "--cell writes no files", "times")
    made = table(options.table, cell=options.cell, search=options.search, **given_request(options))
    made.show(options.full)
    if options.cell is None:
        tell_written(made.write())
    return FAILED if made.is_broken else DONE
