"""``omtl prune``: remove finished units whose code is gone."""

from __future__ import annotations

import argparse

from omtl.util.status import DONE

HELP = "remove finished units whose code is gone, and damaged files, from the store"
EXAMPLES = ("prune --only-tell", "prune")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add whether anything is removed."""
    command.add_argument(
        "--only-tell",
        action="store_true",
        help="show how many would be removed, and remove nothing",
    )


def run(options: argparse.Namespace) -> int:
    """Remove them."""
    from omtl.compute.archive import prune
    from omtl.compute.store import Store

    gone, stay = prune(Store.default(), options.only_tell)
    print(f"{gone} units {'would go' if options.only_tell else 'removed'}, {stay} stay")
    return DONE
