"""Check the papers' printed tables for repeated rows and impossible numbers.

Examples
--------
omtl audit proofread
"""

from __future__ import annotations

from omtl.commands._options import tell_written


def run() -> None:
    """Print and write the findings of each check in each published table."""
    from omtl.tables.proofread import write_findings

    found, paths = write_findings()
    print("\n".join(found))
    tell_written(paths)
