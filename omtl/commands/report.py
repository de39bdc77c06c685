"""``omtl report``: write the static site of all results."""

from __future__ import annotations

import argparse
from pathlib import Path

from omtl.commands._options import add_flags, tell_written

HELP = "write all results as a website that opens without a server"
EXAMPLES = ("report", "report --output public")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the output folder and ``--without-store``."""
    command.add_argument(
        "--output",
        type=Path,
        help="the folder to write; default: .omtl/site in a checkout, site elsewhere",
    )
    add_flags(command, without_store="use only results/, as in a fresh clone")


def run(options: argparse.Namespace) -> None:
    """Write the site and print the path of its front page."""
    from omtl.compute.store import Store
    from omtl.site.build import build
    from omtl.util.paths import CHECKOUT, home_folder

    store = None if options.without_store else Store.default()
    default = home_folder() / "site" if CHECKOUT else Path("site")
    tell_written([build(options.output or default, store=store)])
