"""``omtl honesty``: tell how much of each paper's margin comes from tuning in hindsight."""

from __future__ import annotations

import argparse

from omtl.commands._options import positive, tell_written
from omtl.util.status import DONE

HELP = "tell how much of each paper's margin comes from tuning in hindsight, from the store"
EXAMPLES = ("honesty", "honesty --repeats 5")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add of how many repeats."""
    command.add_argument("--repeats", type=positive, help="default: as many as published")


def run(options: argparse.Namespace) -> int:
    """Write the margins by the papers' rule and by an honest one, and tell them."""
    from omtl.evidence.hindsight_gap import write_honesty
    from omtl.tables.request import Request

    told, paths = write_honesty(Request(repeats=options.repeats))
    print("\n".join(told))
    tell_written(paths)
    return DONE
