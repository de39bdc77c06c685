"""``omtl table``: reproduce a table beside the published one."""

from __future__ import annotations

import argparse

from omtl.commands._options import (
    add_draw_option,
    add_run_options,
    add_times_option,
    request_of,
    tell_written,
)
from omtl.util.status import DONE, FAILED

HELP = "reproduce a table and compare it with the published one"
EXAMPLES = (
    "table dom-table1 --repeats 2",
    "table rom-table1 --reading as_written",
    'table dom-table1 --cell "PA on Synthetic" --repeats 5',
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add which table, and how."""
    command.add_argument("table", metavar="TABLE")
    command.add_argument(
        "--cell", help="make this cell alone and write no file; `omtl explain TABLE` lists them"
    )
    add_run_options(command)
    add_draw_option(command)
    add_times_option(command)


def run(options: argparse.Namespace) -> int:
    """Compute what a table lacks, print it beside the published one, write its files."""
    from rich.console import Console

    from omtl.reproduction.reproduce import reproduce_table

    if options.cell is not None:
        from omtl.reproduction.provenance import make_cell

        failed = make_cell(options.table, options.cell, request_of(options), Console())
        return FAILED if any(not one.missing_data for one in failed.values()) else DONE
    done = reproduce_table(options.table, request_of(options), Console())
    tell_written(done.paths)
    return FAILED if done.broken else DONE
