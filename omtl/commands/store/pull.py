"""Import the finished units of an archive into the store.

Examples
--------
omtl store pull units.omtl
omtl store pull https://example.org/units.omtl
"""

from __future__ import annotations

from omtl.commands._options import option

OPTIONS = (option("archive"),)


def run(archive: str) -> None:
    """Import the units.

    Parameters
    ----------
    archive
        a file or its URL
    """
    from omtl.compute.exchange import archive_at, pull
    from omtl.compute.store import Store
    from omtl.util.screen import plural

    with archive_at(archive) as path:
        done = pull(path, Store.default(), archive)
    units = plural(done.units, "unit")
    print(f"{units}, {done.new} of them new; {done.ours} belong to the installed code")
