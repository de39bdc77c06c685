"""``omtl list``: list what you can reproduce, run and combine."""

from __future__ import annotations

import argparse

from omtl.commands._options import add_flags, print_json

GROUP = "manage"
HELP = "list tables, figures, and everything you can combine, with a line on each"
EXAMPLES = ("list", "list algorithms", "list datasets --json")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the kind to list."""
    command.add_argument("kind", nargs="?", metavar="KIND", help="such as algorithms; default: all")
    add_flags(command, "json")


def run(options: argparse.Namespace) -> None:
    """Print the entries, grouped by kind."""
    from omtl.api.papers import KINDS, catalogue

    found = [catalogue(kind) for kind in ([options.kind] if options.kind else KINDS)]
    if options.json:
        print_json({each.kind: each.rows for each in found})
        return
    for each in found:
        each.show()
