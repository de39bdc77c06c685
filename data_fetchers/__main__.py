"""``python -m data_fetchers [name ...]``: download the files of data sets; default: all."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from data_fetchers import fetch_all, names
from omtl.util.errors import UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Download files and print their paths, one per line.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command's arguments; default: those of the process.

    Returns
    -------
    int
        The exit status: 0, or 2 if a file is missing or a name is unknown.
    """
    parser = argparse.ArgumentParser(prog="python -m data_fetchers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(names())}")
    wanted = parser.parse_args(arguments).names
    try:
        fetch_all(wanted or None, on_file=lambda path: print(path, flush=True))
    except UserError as fault:
        print(fault, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
