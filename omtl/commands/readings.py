"""``omtl readings``: search what a table's paper leaves open."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_run_options, natural, parallel_of, tell_written
from omtl.status import DONE

HELP = "search the readings of a table"
EXAMPLES = ("readings dom-table1", "readings aklo-table1 --draws 40", "readings dom-table1 --page")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add which table, and how."""
    command.add_argument("table", metavar="TABLE")
    command.add_argument(
        "--draws",
        type=natural,
        default=0,
        help="readings drawn at random, tried besides; default: 0",
    )
    command.add_argument(
        "--page", action="store_true", help="only write the page of the search that is recorded"
    )
    add_run_options(command)


def run(options: argparse.Namespace) -> int:
    """Search a table's readings; write the record and the best one's config."""
    from omtl.harness.readings import search, write_found, write_page
    from omtl.harness.store import Store

    if options.page:
        tell_written([write_page(options.table)])
        return DONE
    answers, record = search(
        options.table,
        Store.default(),
        parallel_of(options),
        options.seed,
        options.repeats or 5,
        print,
        options.draws,
    )
    tell_written(write_found(options.table, answers, record))
    return DONE
