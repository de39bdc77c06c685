"""``omtl figure``: reproduce a figure."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_flags, add_run_options, given_request, tell_written
from omtl.util.status import DONE, FAILED

GROUP = "check a paper"
HELP = "reproduce a figure, and say which of its claims hold"
EXAMPLES = ("figure dom-fig2", "figure rom-figtheorems --jobs 1")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the figure and how to run it."""
    command.add_argument(
        "figure", metavar="FIGURE", help="id of the figure; `omtl list figures` shows all"
    )
    add_run_options(command)
    add_flags(command, "dry-run")


def run(options: argparse.Namespace) -> int:
    """Compute a figure's missing units, print its claims and write its files."""
    from omtl.api.figures import figure

    made = figure(options.figure, **given_request(options))
    made.show()
    tell_written(made.write())
    return FAILED if made.is_broken else DONE
