"""``omtl audit claims``: write the ledger of all claims, and the audit of the theorems."""

from __future__ import annotations

import argparse

from omtl.commands._options import tell_written

GROUP = "look behind the numbers"
HELP = "write the ledger of all claims, the audit of the theorems and the scoreboard"
EXAMPLES = ("audit claims",)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add nothing: everything is read from results/."""


def run(options: argparse.Namespace) -> None:  # noqa: ARG001
    """Write the ledger and the audit, and print the outcomes."""
    from omtl.evidence.ledger import write_ledgers

    sentences, paths = write_ledgers()
    print("\n".join(sentences))
    tell_written(paths)
