"""Options shared by several commands, and how paths are printed."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from omtl.experiment.naming import CLOSEST, READINGS


def positive(text: str) -> int:
    """Return a positive whole number.

    Raises
    ------
    argparse.ArgumentTypeError
        If the text is not such a number.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive whole number")
    return int(text)


def natural(text: str) -> int:
    """Return a non-negative whole number.

    Raises
    ------
    argparse.ArgumentTypeError
        If the text is not such a number.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a non-negative whole number")
    return int(text)


def add_run_options(command: argparse.ArgumentParser) -> None:
    """Add the options that say how to run something."""
    command.add_argument(
        "--reading",
        default=CLOSEST,
        help=f"{', '.join(READINGS)}, or a name in conf/reading; default: {CLOSEST}",
    )
    command.add_argument("--repeats", type=positive, help="default: as many as published")
    command.add_argument("--seed", type=natural, default=0, help="default: 0")
    command.add_argument("--selection", help="default: the table's own")
    add_parallel_options(command)


def add_parallel_options(command: argparse.ArgumentParser) -> None:
    """Add what says by which workers units are computed."""
    command.add_argument("--jobs", type=positive, help="default: one per core")
    command.add_argument(
        "--parallel",
        default="threads",
        help="threads (default), processes, serial, dask, ray, or a name in conf/parallel",
    )
    command.add_argument(
        "--address",
        help="address of a cluster's scheduler, for --parallel dask or ray; see docs/cluster.md",
    )


def add_draw_option(command: argparse.ArgumentParser) -> None:
    """Add the option to draw a table's synthetic data only once."""
    command.add_argument(
        "--one-draw",
        action="store_true",
        help="shuffle one draw of synthetic data, as the papers do; default: many draws",
    )


def add_dry_run_option(command: argparse.ArgumentParser) -> None:
    """Add the option to only show what would be computed."""
    command.add_argument(
        "--dry-run",
        action="store_true",
        help="show how many units would be computed and roughly how long that takes, then exit",
    )


def add_times_option(command: argparse.ArgumentParser) -> None:
    """Add the option to replace the times in the results."""
    command.add_argument(
        "--times",
        action="store_true",
        help="replace the times in results/ by those just measured; default: keep them",
    )


def add_slow_option(command: argparse.ArgumentParser) -> None:
    """Add the option to play what takes hours."""
    command.add_argument(
        "--all",
        action="store_true",
        dest="slow",
        help="include the cells that take hours; default: they are missing, with the reason",
    )


def parallel_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the config of the parallel engine."""
    from omtl.experiment.config import load_option, resolve_jobs
    from omtl.util.errors import UserError

    parallel = load_option("parallel", options.parallel)
    if options.address is not None:
        if "address" not in parallel:
            raise UserError(
                f"--parallel {options.parallel} has no workers elsewhere, so it takes no "
                "--address; use --parallel dask or ray"
            )
        parallel["address"] = options.address
    return resolve_jobs(parallel, options.jobs)


def request_of(options: argparse.Namespace) -> Any:
    """Return the options as an `omtl.tables.request.Request`."""
    from omtl.experiment.config import load_option
    from omtl.tables.request import Request

    if options.selection is not None:
        load_option("selection", options.selection)  # report a wrong name before computing
    return Request(
        reading=options.reading,
        repeats=options.repeats,
        seed=options.seed,
        selection=options.selection,
        parallel=parallel_of(options),
        one_draw=getattr(options, "one_draw", False),
        times=getattr(options, "times", False),
        slow=getattr(options, "slow", False),
    )


def tell_written(paths: Iterable[Any]) -> None:
    """Print the files that were written, relative to the project's folder."""
    from omtl.util.paths import ROOT

    shown = [str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path) for path in paths]
    print("written: " + " ".join(shown))
