"""``omtl doctor``: show what is installed, cached and missing."""

from __future__ import annotations

import argparse

from omtl.commands._grid import print_rows
from omtl.commands._options import add_flags, print_json
from omtl.util.status import DONE, FAILED

HELP = "show what is installed, cached and missing"
EXAMPLES = ("doctor", "doctor --json")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    add_flags(command, "json")


def run(options: argparse.Namespace) -> int:
    """Print the state of each item; fail if an essential one is missing."""
    from omtl.experiment.doctor import BAD, GOOD, NOTE, examined

    findings = examined()
    if options.json:
        print_json(findings)
    else:
        colours = {GOOD: "green", NOTE: "yellow", BAD: "bold red"}
        print_rows(
            list(findings[0]),
            [list(one.values()) for one in findings],
            colours=[colours[one["state"]] for one in findings],
        )
    return FAILED if any(one["state"] == BAD for one in findings) else DONE
