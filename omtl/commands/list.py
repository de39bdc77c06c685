"""List tables, figures, and everything you can combine, with a line on each.

Examples
--------
omtl list
omtl list algorithms
omtl list datasets --json
"""

from __future__ import annotations

from omtl.commands._options import JSON, option, print_json

GROUP = "manage"
OPTIONS = (option("kind", nargs="?", metavar="KIND"), JSON)


def run(kind: str | None, as_json: bool) -> None:
    """Print the entries, grouped by kind.

    Parameters
    ----------
    kind
        such as algorithms; default: all
    as_json
        Whether to print JSON.
    """
    from omtl.api.papers import KINDS, catalogue

    found = [catalogue(one) for one in ([kind] if kind else KINDS)]
    if as_json:
        print_json({each.kind: each.rows for each in found})
        return
    for each in found:
        each.show()
