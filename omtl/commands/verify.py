"""``omtl verify``: recompute random cells and compare them with the results in git."""

from __future__ import annotations

import argparse
import sys

from omtl.commands._options import (
    PARALLEL,
    add_flags,
    add_parallel_options,
    natural,
    parallel_of,
    positive,
    refuse_ignored,
    tell_written,
)
from omtl.util.status import DONE, FAILED

HELP = "recompute random cells and compare every digit with results/"
EXAMPLES = (
    "verify --cells 10",
    "verify rom-table1 --seed 7",
    "verify --pulled --cells 20",
    "verify --cells 3 --sign 'Ada Lovelace'",
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
    add_flags(command, pulled="replay a sample of the store's pulled units instead")
    add_parallel_options(command)


def _replay_pulled(options: argparse.Namespace) -> int:
    from omtl.compute.store import Store
    from omtl.reproduction.pulled import DIFFERENT, NOT_PLAYED, replayed

    refuse_ignored(
        options, add_options, "--pulled replays units of the store", "tables", "sign", *PARALLEL
    )
    results = []
    for replay in replayed(Store.default(), options.cells, options.seed or None):
        print(replay, flush=True)
        results.append(replay.result)
    return FAILED if DIFFERENT in results or set(results) == {NOT_PLAYED} else DONE


def run(options: argparse.Namespace) -> int:
    """Replay randomly drawn cells from scratch and record the outcome."""
    from omtl.reproduction import verify
    from omtl.tables.plan import describe, descriptions
    from omtl.util.errors import UserError
    from omtl.util.paths import RESULTS, results_to_read

    if options.pulled:
        return _replay_pulled(options)
    for table in options.tables:
        describe("table", table)  # reports a wrong name
    if options.sign is not None:
        verify.refuse_name(options.sign)
    tables = list(dict.fromkeys(options.tables)) or list(descriptions("table"))
    checks, seed, parallel = [], options.seed, parallel_of(options)
    for run, row in verify.drawn(results_to_read(), tables, options.cells or len(tables), seed):
        done = verify.check(run, row, seed, parallel)
        checks.append(done)
        print(f"{done.result}: {done}", flush=True)
    if all(done.result == verify.NOT_COMPARABLE for done in checks):
        raise UserError("no cell could be compared, for the reasons above; nothing was recorded")
    verify.append(RESULTS / "verify.csv", verify.signed_off(checks, seed))
    tell_written([RESULTS / "verify.csv"])
    if options.sign is not None:
        path = RESULTS / "reproductions.csv"
        verify.append(path, verify.signature(checks, options.sign, seed))
        tell_written([path])
    different = sum(done.result == verify.DIFFERENT for done in checks)
    if different:
        print(
            f"omtl: {different} of {len(checks)} cells differ from results/: the code or the "
            "packages have changed since they were made, or this machine computes different bits",
            file=sys.stderr,
        )
    return FAILED if different else DONE
