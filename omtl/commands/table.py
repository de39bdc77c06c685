"""``omtl table``: reproduce a table beside the published one."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_run_options, tell_written, wanted_of
from omtl.commands._status import DONE, FAILED

HELP = "reproduce a table and compare it with the published one"
EXAMPLES = ("table dom-table1 --repeats 2", "table rom-table1 --reading as_written")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add which table, and how."""
    command.add_argument("table", metavar="TABLE")
    add_run_options(command)


def run(options: argparse.Namespace) -> int:
    """Compute what a table lacks, print it beside the published one, write its files."""
    from rich.console import Console

    from omtl.harness.reproduce import reproduce_table
    from omtl.harness.store import Store

    done = reproduce_table(options.table, wanted_of(options), Store.default(), Console())
    tell_written(done.paths)
    return FAILED if done.broken else DONE
