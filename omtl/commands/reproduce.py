"""``omtl reproduce``: reproduce every table and figure."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_flags, add_run_options, given_request
from omtl.util.status import DONE, FAILED

GROUP = "check a paper"
HELP = "reproduce every table and figure under each standard reading"
EXAMPLES = ("reproduce", "reproduce --repeats 2")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add how to run them; the reading is every standard one."""
    add_run_options(command)
    add_flags(command, "all")


def run(options: argparse.Namespace) -> int:
    """Reproduce everything and print a summary that names failures; the rest continues."""
    from omtl.api.everything import reproduce_everything
    from omtl.api.requests import request_for

    summary = reproduce_everything(request_for(**given_request(options)))
    print(summary)
    return FAILED if summary.failures else DONE
