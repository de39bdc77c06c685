"""Download data sets; all of them by default.

Examples
--------
omtl fetch landmine spam
omtl fetch
"""

from __future__ import annotations

from collections.abc import Sequence

from omtl.commands._options import option

GROUP = "manage"
OPTIONS = (option("names", nargs="*", metavar="NAME"),)


def run(names: Sequence[str]) -> None:
    """Download files, verify them, and print their paths.

    Parameters
    ----------
    names
        a data set
    """
    from data_fetchers import data_set_names, fetch_all

    for path in fetch_all(names or data_set_names()):
        print(path, flush=True)
