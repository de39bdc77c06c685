"""``omtl audit statistics``: test the claims of a table or figure and rank its algorithms."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_request_options, given_request, tell_written

GROUP = "look behind the numbers"
HELP = "test a table's claims with correction for multiple comparisons, and rank its algorithms"
EXAMPLES = ("audit statistics aklo-table1",)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the table or figure and its run."""
    command.add_argument("table", metavar="TABLE", help="the id of a table or figure")
    add_request_options(command)


def run(options: argparse.Namespace) -> None:
    """Write the statistics of a table or figure from the store or the kept repeats."""
    from omtl.api.requests import request_for
    from omtl.evidence.statistics import reproduce_statistics

    tell_written(reproduce_statistics(options.table, request_for(**given_request(options))))
