"""``omtl report``: write the static site of all results."""

from __future__ import annotations

import argparse
from pathlib import Path

from omtl.commands._options import tell_written
from omtl.util.status import DONE

HELP = "write all results as a static site that opens without a server"
EXAMPLES = ("report", "report --output public")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add where it goes, and whether the store is looked at."""
    command.add_argument(
        "--output",
        type=Path,
        help="the folder to write; default: .omtl/site in a checkout, site elsewhere",
    )
    command.add_argument(
        "--without-store",
        action="store_true",
        help="use only results/, as a fresh clone would",
    )


def run(options: argparse.Namespace) -> int:
    """Write the site and tell where its front page is."""
    from omtl.compute.store import Store
    from omtl.site.build import build
    from omtl.util.paths import CHECKOUT, kept

    store = None if options.without_store else Store.default()
    default = kept() / "site" if CHECKOUT else Path("site")
    tell_written([build(options.output or default, store=store)])
    return DONE
