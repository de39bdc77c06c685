"""``omtl figure``: reproduce a figure."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_run_options, request_of, tell_written
from omtl.util.status import DONE, FAILED

HELP = "reproduce a figure"
EXAMPLES = ("figure dom-fig2", "figure rom-figtheorems --jobs 1")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add which figure, and how."""
    command.add_argument("figure", metavar="FIGURE")
    add_run_options(command)


def run(options: argparse.Namespace) -> int:
    """Compute what a figure lacks, draw it, write its files."""
    from omtl.reproduction.reproduce import reproduce_figure

    made = reproduce_figure(options.figure, request_of(options))
    tell_written(made.paths)
    return FAILED if made.broken else DONE
