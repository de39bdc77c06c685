"""Write the ledger of all claims, the audit of the theorems and the scoreboard.

Examples
--------
omtl audit claims
"""

from __future__ import annotations

from omtl.commands._options import tell_written


def run() -> None:
    """Write the ledger and the audit, and print the outcomes."""
    from omtl.evidence.ledger import write_ledgers

    sentences, paths = write_ledgers()
    print("\n".join(sentences))
    tell_written(paths)
