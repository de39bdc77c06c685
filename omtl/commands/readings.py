"""``omtl readings``: search what a table's paper leaves open."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_run_options, parallel_of, tell_written
from omtl.commands._status import DONE

HELP = "search the readings of a table"
EXAMPLES = ("readings dom-table1", "readings aklo-table1 --repeats 10")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add which table, and how."""
    command.add_argument("table", metavar="TABLE")
    add_run_options(command)


def run(options: argparse.Namespace) -> int:
    """Search a table's readings; write the record and the best one's config."""
    from omtl.harness.readings import search, write_found
    from omtl.harness.store import Store

    answers, record = search(
        options.table,
        Store.default(),
        parallel_of(options),
        options.seed,
        options.repeats or 5,
        print,
    )
    tell_written(write_found(options.table, answers, record))
    return DONE
