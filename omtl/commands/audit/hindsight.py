"""``omtl audit hindsight``: measure how much of each margin comes from tuning in hindsight."""

from __future__ import annotations

import argparse

from omtl.commands._options import positive, tell_written

GROUP = "look behind the numbers"
HELP = "measure how much of each paper's margin comes from tuning in hindsight"
EXAMPLES = ("audit hindsight", "audit hindsight --repeats 5")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the number of repeats."""
    command.add_argument(
        "--repeats",
        type=positive,
        help="the papers' repeats, for each of which some tables play several; "
        "default: as many as published",
    )


def run(options: argparse.Namespace) -> None:
    """Write and print the margins under the papers' rule and without hindsight."""
    from omtl.evidence.hindsight_gap import write_hindsight_gap
    from omtl.tables.request import Request

    sentences, paths = write_hindsight_gap(Request(repeats=options.repeats))
    print("\n".join(sentences))
    tell_written(paths)
