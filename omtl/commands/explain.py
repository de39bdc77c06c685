"""``omtl explain``: show the verdict on a cell, its reason, and where the number comes from."""

from __future__ import annotations

import argparse
from typing import Any

from omtl.commands._options import add_flags, add_request_options, print_json, request_of

HELP = "show a cell's verdict and diagnosis, and where our number comes from"
EXAMPLES = (
    "explain dom-table1",
    'explain dom-table1 "DOM-I (Ring) on Synthetic"',
    'explain dom-table1 "COML on Sentiment" --full',
    'explain osmtl-table1 "OSMTL-e on Spam Detection, auc" --json',
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the cell and the run of its table."""
    command.add_argument("table", metavar="TABLE")
    command.add_argument("cell", metavar="CELL", nargs="?", help="default: list the cells' names")
    add_flags(command, full="add configs, seeds, hashes of data and code, and machines")
    add_request_options(command)
    add_flags(command, "one-draw", "json")


def run(options: argparse.Namespace) -> None:
    """Print what is known about a cell, or the names of all cells."""
    from omtl.reproduction.explain import explain, names_of
    from omtl.tables.cells import planned

    request = request_of(options)
    if options.cell is None:
        explanation: Any = names_of(planned(options.table, request))
    else:
        explanation = explain(options.table, options.cell, request, options.full)
    if options.json:
        print_json(explanation)
    else:
        print("\n".join(explanation if options.cell is None else _lines(explanation)))


def _lines(explanation: dict[str, Any], indent: str = "") -> list[str]:
    """Return a mapping as lines: nested mappings are indented, short ones stay on one line."""
    lines = []
    for name, value in explanation.items():
        if isinstance(value, list) and any(isinstance(one, dict) for one in value):
            for one in value:
                lines += _lines({name: one}, indent)
        elif isinstance(value, dict) and len(str(value)) > 60:
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ")]
        else:
            lines.append(f"{indent}{name}: {value}")
    return lines
