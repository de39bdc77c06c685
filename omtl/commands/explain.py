"""``omtl explain``: show the verdict on a cell or claim, its reason, and where it comes from."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_flags, add_request_options, given_request, print_json

GROUP = "check a paper"
HELP = "say why a number has its verdict, and where ours comes from; or why a claim fails"
EXAMPLES = (
    "explain dom-table1",
    'explain dom-table1 "DOM-I (Ring) on Synthetic"',
    'explain dom-table1 "COML on Sentiment" --full',
    'explain osmtl-table1 "OSMTL-e on Spam Detection, auc" --json',
    "explain rom-table2 rom-ahead-of-all",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the cell and the run of its table."""
    command.add_argument("table", metavar="TABLE", help="id of the table, or of a claim's figure")
    command.add_argument(
        "cell", metavar="CELL", nargs="?", help="or a claim's id; default: list all names"
    )
    add_flags(command, full="add configs, seeds, hashes of data and code, and machines")
    add_request_options(command)
    add_flags(command, "one-draw", "json")


def run(options: argparse.Namespace) -> None:
    """Print what is known about a cell, or the names of all cells."""
    from omtl.api.explanations import cell_names, explain

    if options.cell is None:
        names = cell_names(options.table, **given_request(options))
        print_json(names) if options.json else print("\n".join(names))
        return
    found = explain(options.table, options.cell, full=options.full, **given_request(options))
    print_json(found.facts) if options.json else found.show()
