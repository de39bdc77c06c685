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
    from omtl.util.views import View

    found = {one: catalogue(one) for one in ([kind] if kind else KINDS)}
    if as_json:
        print_json(found)
        return
    for name, rows in found.items():
        heads = list(dict.fromkeys(key for row in rows for key in row))
        texts = [[row.get(head, "") for head in heads] for row in rows]
        View(heads, texts, name, spare=("own",)).show()
