"""``omtl store prune``: remove finished units whose code is gone."""

from __future__ import annotations

import argparse

GROUP = "manage"
HELP = "remove finished units whose code is gone, and damaged files, from the store"
EXAMPLES = ("store prune --dry-run", "store prune")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add ``--dry-run``."""
    command.add_argument(
        "--dry-run",
        dest="only_count",  # not the dry run of commands that compute
        action="store_true",
        help="only show how many units would be removed",
    )


def run(options: argparse.Namespace) -> None:
    """Remove the units."""
    from omtl.compute.exchange import prune
    from omtl.compute.store import Store
    from omtl.util.screen import plural

    gone, stay = prune(Store.default(), options.only_count)
    removed = "would be removed" if options.only_count else "removed"
    print(f"{plural(gone, 'unit')} {removed}, {stay} kept")
