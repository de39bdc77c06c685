"""``omtl audit verify``: recompute random cells and compare them with the results in git."""

from __future__ import annotations

import argparse
import sys

from omtl.commands._options import (
    add_parallel_options,
    given_parallel,
    natural,
    positive,
    tell_written,
)
from omtl.util.status import DONE, FAILED

GROUP = "look behind the numbers"
HELP = "recompute random cells and compare every digit with results/"
EXAMPLES = (
    "audit verify --cells 10",
    "audit verify rom-table1 --seed 7",
    "audit verify --cells 3 --sign 'Ada Lovelace'",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the tables, the number of cells and the seed."""
    command.add_argument("tables", nargs="*", metavar="TABLE", help="default: all tables")
    command.add_argument(
        "--cells", type=positive, help="number of cells; default: one from each table"
    )
    command.add_argument("--seed", type=natural, default=0, help="seed of the draw; default: 0")
    command.add_argument(
        "--sign",
        metavar="NAME",
        help="sign the check: add a line to results/reproductions.csv under this name",
    )
    add_parallel_options(command)


def run(options: argparse.Namespace) -> int:
    """Replay randomly drawn cells from scratch and record the outcome."""
    from omtl.api.audits import verify

    parallel = given_parallel(options)
    done = verify(options.tables, options.cells, options.seed, sign=options.sign, **parallel)
    tell_written(done.paths)
    if done.different:
        print(f"omtl: {done.warning}", file=sys.stderr)
    return FAILED if done.different else DONE
