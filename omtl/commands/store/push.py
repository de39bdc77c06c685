"""``omtl store push``: write finished units to one archive."""

from __future__ import annotations

import argparse
from pathlib import Path

from omtl.commands._options import (
    REQUEST,
    add_flags,
    add_request_options,
    given_request,
    refuse_ignored,
)

GROUP = "manage"
HELP = "write finished units to an archive that others can pull"
EXAMPLES = ("store push units.omtl", "store push dom.omtl dom-table1 --reading as_written")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the archive and the tables."""
    command.add_argument("archive", type=Path, help="the file to write")
    command.add_argument(
        "tables",
        nargs="*",
        metavar="TABLE",
        help="tables whose units to write; default: all units of the current code",
    )
    add_request_options(command)
    add_flags(command, "one-draw")


def run(options: argparse.Namespace) -> None:
    """Write the archive."""
    from omtl.api.requests import request_for
    from omtl.compute.exchange import push
    from omtl.compute.store import CachedStore, Store
    from omtl.tables.cells import planned
    from omtl.tables.play import units_of
    from omtl.util.screen import plural

    units, store = None, Store.default()
    if not options.tables:
        why = "without a table, all units are written"
        refuse_ignored(options, add_options, why, *REQUEST, "one_draw")
    else:
        request = request_for(**given_request(options))
        units = [
            unit
            for table in options.tables
            for unit in units_of(planned(table, request), CachedStore(store), every=True)
        ]
    count = push(units, store, options.archive)
    print(f"written: {options.archive} ({plural(count, 'unit')})")
