"""``omtl audit proofread``: check the papers' printed tables against themselves."""

from __future__ import annotations

import argparse

from omtl.commands._options import tell_written

GROUP = "look behind the numbers"
HELP = "check the papers' printed tables for repeated rows and impossible numbers"
EXAMPLES = ("audit proofread",)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add nothing: all published tables are read."""


def run(options: argparse.Namespace) -> None:  # noqa: ARG001
    """Print and write the findings of each check in each published table."""
    from omtl.tables.proofread import write_findings

    found, paths = write_findings()
    print("\n".join(found))
    tell_written(paths)
