"""``omtl list``: list what you can reproduce, run and combine."""

from __future__ import annotations

import argparse
from typing import Any

from omtl.commands._grid import print_rows
from omtl.commands._options import add_flags, print_json

HELP = "list tables, figures, and everything you can combine"
EXAMPLES = ("list", "list algorithms", "list datasets --json")

KINDS = {
    "tables": "table",
    "figures": "figure",
    "algorithms": "algorithm",
    "datasets": "dataset",
    "protocols": "protocol",
    "networks": "network",
    "readings": "reading",
    "selections": "selection",
    "searches": "search",
    "parallels": "parallel",
}
"""The kinds to list, each with its config group; the first two are files in experiments/."""

SHOWN = ("title", "label", "learner", "module", "rule", "backend")
"""Config values to show, if present."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the kind to list."""
    command.add_argument(
        "kind",
        nargs="?",
        choices=tuple(KINDS),
        metavar="KIND",
        help=f"{', '.join(KINDS)}; default: all of them",
    )
    add_flags(command, "json")


def rows_of(kind: str) -> list[dict[str, Any]]:
    """Return the entries of a kind: each name with values from its config."""
    from omtl.experiment.config import option_files
    from omtl.experiment.schema import read_yaml
    from omtl.experiment.specs import TARGET
    from omtl.tables.plan import descriptions
    from omtl.util.user_folder import own_folder

    group = KINDS[kind]
    found = descriptions(group) if kind in ("tables", "figures") else option_files(group)
    rows, folder = [], own_folder()
    for name, path in found.items():
        config = read_yaml(path)
        if TARGET in config:
            config = {**config, "learner": config[TARGET]}
        row = {"name": name} | {key: config[key] for key in SHOWN if key in config}
        if folder is not None and path.is_relative_to(folder):
            row["own"] = str(path)
        rows.append(row)
    return rows


def run(options: argparse.Namespace) -> None:
    """Print the entries, grouped by kind."""
    kinds = [options.kind] if options.kind else list(KINDS)
    content = {kind: rows_of(kind) for kind in kinds}
    if options.json:
        print_json(content)
        return
    for kind, rows in content.items():
        heads = [key for key in ("name", *SHOWN, "own") if any(key in row for row in rows)]
        print(kind)
        shown = [[str(row.get(head, "")) for head in heads] for row in rows]
        print_rows(heads, shown, spare=("backend", "module", "learner", "own"))
