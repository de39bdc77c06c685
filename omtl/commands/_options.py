"""Options that several commands have, and how paths are shown."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any


def positive(text: str) -> int:
    """Return a positive whole number.

    Raises
    ------
    argparse.ArgumentTypeError
        If it is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive whole number")
    return int(text)


def natural(text: str) -> int:
    """Return a whole number that is not negative.

    Raises
    ------
    argparse.ArgumentTypeError
        If it is none.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 0 on")
    return int(text)


def add_run_options(command: argparse.ArgumentParser) -> None:
    """Add what says how something is to be run."""
    command.add_argument(
        "--reading",
        default="as_published",
        help="as_written, as_read, as_published (default), or a name in conf/reading",
    )
    command.add_argument("--repeats", type=positive, help="default: as many as published")
    command.add_argument("--jobs", type=positive, help="default: one a core")
    command.add_argument("--seed", type=natural, default=0, help="default: 0")
    command.add_argument("--selection", help="default: the table's own")
    command.add_argument("--parallel", default="threads", help="a name in conf/parallel")


def add_draw_option(command: argparse.ArgumentParser) -> None:
    """Add whether a table's synthetic data are drawn once."""
    command.add_argument(
        "--one-draw",
        action="store_true",
        help="shuffle one draw of synthetic data, as the papers do; default: many draws",
    )


def add_dry_run_option(command: argparse.ArgumentParser) -> None:
    """Add whether to tell only what would be computed."""
    command.add_argument(
        "--dry-run",
        action="store_true",
        help="show how many units would be computed and roughly how long that takes; compute none",
    )


def parallel_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the config of how units are computed in parallel."""
    from omtl.experiment.config import load_option, resolve_jobs

    return resolve_jobs(load_option("parallel", options.parallel), options.jobs)


def wanted_of(options: argparse.Namespace) -> Any:
    """Return how the options want a table or figure (`omtl.reproduction.reproduce.Wanted`)."""
    from omtl.experiment.config import load_option
    from omtl.reproduction.reproduce import Wanted

    if options.selection is not None:
        load_option("selection", options.selection)  # a wrong name is told before all is computed
    return Wanted(
        reading=options.reading,
        repeats=options.repeats,
        seed=options.seed,
        selection=options.selection,
        parallel=parallel_of(options),
        one_draw=getattr(options, "one_draw", False),
    )


def tell_written(paths: Iterable[Any]) -> None:
    """Print the files that were written, from the project's folder on."""
    from omtl.util.paths import ROOT

    shown = [str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path) for path in paths]
    print("written: " + " ".join(shown))
