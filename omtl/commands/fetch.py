"""``omtl fetch``: download the files of data sets."""

from __future__ import annotations

import argparse

GROUP = "manage"
HELP = "download data sets; all of them by default"
EXAMPLES = ("fetch landmine spam", "fetch")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the data sets."""
    command.add_argument("names", nargs="*", metavar="NAME", help="a data set")


def run(options: argparse.Namespace) -> None:
    """Download files, verify them, and print their paths."""
    from data_fetchers import fetch_all

    fetch_all(options.names or None, on_file=lambda path: print(path, flush=True))
