"""``omtl push``: finished units as one archive."""

from __future__ import annotations

import argparse
from pathlib import Path

from omtl.commands._options import add_draw_option, add_run_options, request_of
from omtl.util.status import DONE

HELP = "write finished units to an archive, from which others need not compute them"
EXAMPLES = ("push units.omtl", "push dom.omtl dom-table1 --reading as_written")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add where to, and which."""
    command.add_argument("archive", type=Path, help="the file that is written")
    command.add_argument(
        "tables", nargs="*", metavar="TABLE", help="whose units; default: all of the current code"
    )
    add_run_options(command)
    add_draw_option(command)


def run(options: argparse.Namespace) -> int:
    """Write the archive."""
    from omtl.compute.archive import push
    from omtl.compute.store import Store
    from omtl.tables.plan import describe

    units = None
    if options.tables:
        wanted = request_of(options)
        units = [
            unit
            for table in options.tables
            for unit in wanted.planned(table).units(
                wanted.seed, wanted.n_repeats(describe("table", table))
            )
        ]
    count = push(units, Store.default(), options.archive)
    print(f"written: {options.archive} ({count} units)")
    return DONE
