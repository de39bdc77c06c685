"""``omtl collect``: read the records of any number of runs into one table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from omtl.commands._options import add_flags, tell_written

HELP = "read the records of runs and sweeps into one table"
EXAMPLES = (
    "collect .omtl/sweeps",
    "collect .omtl/runs --by-repeat --to runs.parquet",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the folders to read and the file to write."""
    command.add_argument(
        "folders",
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="read all records in this folder and below",
    )
    add_flags(command, by_repeat="print one row per repeat instead of one per run")
    command.add_argument(
        "--to", type=Path, metavar="FILE", help="write a .csv or .parquet file instead of printing"
    )


def run(options: argparse.Namespace) -> None:
    """Print the table, or write it."""
    from omtl.commands._runs import print_runs
    from omtl.reproduction.record import WRITERS, collect, frame
    from omtl.util.errors import UserError

    records: dict[str, dict[str, Any]] = {}
    for folder in options.folders:
        found = collect(folder)
        if not found:
            raise UserError(f"{folder} contains no record of a run")
        several = len(options.folders) > 1
        records |= {f"{folder}/{name}" if several else name: one for name, one in found.items()}
    table = frame(records, options.by_repeat)
    if options.to is None:
        print_runs(table)
        return
    if options.to.suffix not in WRITERS:
        raise UserError(f"{options.to} must end in {' or '.join(WRITERS)}")
    WRITERS[options.to.suffix](table, options.to)
    tell_written([options.to])
