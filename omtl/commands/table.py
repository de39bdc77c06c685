"""``omtl table``: reproduce a table and compare it with the published one."""

from __future__ import annotations

import argparse

from omtl.commands._options import (
    add_flags,
    add_run_options,
    refuse_ignored,
    request_of,
    tell_written,
)
from omtl.util.screen import say
from omtl.util.status import DONE, FAILED

HELP = "reproduce a table and compare it with the published one"
EXAMPLES = (
    "table dom-table1 --repeats 2",
    "table rom-table1 --reading as_written",
    'table dom-table1 --cell "PA on Synthetic" --repeats 5',
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the table and how to run it."""
    command.add_argument("table", metavar="TABLE")
    command.add_argument(
        "--cell",
        help="compute only this cell and write no files; `omtl explain TABLE` lists the cells",
    )
    add_run_options(command)
    add_flags(command, "one-draw", "dry-run", "times", "all")


def run(options: argparse.Namespace) -> int:
    """Compute a table's missing units, print it next to the published one, write its files."""
    from rich.console import Console

    from omtl.compute.dry_run import Planned
    from omtl.reproduction.explain import make_cell
    from omtl.reproduction.reproduce import reproduce_table
    from omtl.tables.published_results import seconds_per_unit

    if options.cell is not None:
        refuse_ignored(options, add_options, "--cell writes no files", "times")
    request, console = request_of(options), Console()
    try:
        if options.cell is not None:
            outcome = make_cell(options.table, options.cell, request, console)
            return FAILED if outcome.is_broken else DONE
        done = reproduce_table(options.table, request, console)
    except Planned as plan:
        say(f"{options.table}: {plan.summary(seconds_per_unit(options.table))}")
        return DONE
    tell_written(done.paths)
    return FAILED if done.broken else DONE
