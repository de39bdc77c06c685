"""``omtl figure``: reproduce a figure."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_flags, add_run_options, request_of, tell_written
from omtl.util.screen import say
from omtl.util.status import DONE, FAILED

HELP = "reproduce a figure"
EXAMPLES = ("figure dom-fig2", "figure rom-figtheorems --jobs 1")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the figure and how to run it."""
    command.add_argument("figure", metavar="FIGURE")
    add_run_options(command)
    add_flags(command, "dry-run")


def run(options: argparse.Namespace) -> int:
    """Compute a figure's missing units, draw it and write its files."""
    from omtl.compute.dry_run import Planned
    from omtl.reproduction.reproduce import reproduce_figure

    try:
        made = reproduce_figure(options.figure, request_of(options))
    except Planned as plan:
        say(f"{options.figure}: {plan.summary()}")
        return DONE
    tell_written(made.paths)
    return FAILED if made.broken else DONE
