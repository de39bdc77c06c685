"""Import the finished units of an archive into the store."""

from __future__ import annotations

from omtl.commands._options import option

EXAMPLES = ("store pull units.omtl", "store pull https://example.org/units.omtl")
OPTIONS = (option("archive", help="a file or its URL"),)


def run(archive: str) -> None:
    """Import the units."""
    from omtl.compute.exchange import archive_at, pull
    from omtl.compute.store import Store
    from omtl.util.screen import plural

    with archive_at(archive) as path:
        done = pull(path, Store.default(), archive)
    units = plural(done.units, "unit")
    print(f"{units}, {done.new} of them new; {done.ours} belong to the installed code")
