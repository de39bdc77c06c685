"""Say why a number has its verdict, and where ours comes from; or why a claim fails.

Examples
--------
omtl explain dom-table1
omtl explain dom-table1 "DOM-I (Ring) on Synthetic"
omtl explain dom-table1 "COML on Sentiment" --full
omtl explain osmtl-table1 "OSMTL-e on Spam Detection, auc" --json
omtl explain rom-table2 rom-ahead-of-all
"""

from __future__ import annotations

from typing import Any

from omtl.commands._options import JSON, ONE_DRAW, REQUEST, flag, option, print_json

GROUP = "check a paper"
OPTIONS = (
    option("table", metavar="TABLE"),
    option("cell", metavar="CELL", nargs="?"),
    flag("full"),
    *(*REQUEST, ONE_DRAW, JSON),
)


def run(table: str, cell: str | None, full: bool, as_json: bool, **given: Any) -> None:
    """Print what is known about a cell, or the names of all cells.

    Parameters
    ----------
    table
        id of the table, or of a claim's figure
    cell
        or a claim's id; default: list all names
    full
        add configs, seeds, hashes of data and code, and machines
    as_json
        Whether to print JSON.
    **given
        The options that several commands have.
    """
    from omtl.api import explanations

    if cell is None:
        names = explanations.cell_names(table, **given)
        print_json(names) if as_json else print("\n".join(names))
        return
    found = explanations.explain(table, cell, full=full, **given)
    print_json(found.facts) if as_json else found.show()
