"""``omtl audit claims``: write the ledger of all claims, and the audit of the theorems."""

from __future__ import annotations

from omtl.commands._options import Option, tell_written

GROUP = "look behind the numbers"
HELP = "write the ledger of all claims, the audit of the theorems and the scoreboard"
EXAMPLES = ("audit claims",)
OPTIONS: tuple[Option, ...] = ()


def run() -> None:
    """Write the ledger and the audit, and print the outcomes."""
    from omtl.evidence.ledger import write_ledgers

    sentences, paths = write_ledgers()
    print("\n".join(sentences))
    tell_written(paths)
