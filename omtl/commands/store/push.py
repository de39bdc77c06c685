"""Write finished units to an archive that others can pull.

Examples
--------
omtl store push units.omtl
omtl store push dom.omtl dom-table1 --reading as_written
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omtl.commands._options import ONE_DRAW, REQUEST, option, refuse_ignored

OPTIONS = (
    option("archive", type=Path),
    option("tables", nargs="*", metavar="TABLE"),
    *(*REQUEST, ONE_DRAW),
)


def run(archive: Path, tables: Sequence[str], **given: Any) -> None:
    """Write the archive.

    Parameters
    ----------
    archive
        the file to write
    tables
        tables whose units to write; default: all units of the current code
    **given
        The options that several commands have.
    """
    from omtl.compute.exchange import push
    from omtl.compute.store import Store, cached
    from omtl.tables.cells import planned
    from omtl.tables.request import request_for
    from omtl.tables.scoring import units_of
    from omtl.util.screen import plural

    units, store = None, Store.default()
    if tables:
        plans, stored = [planned(one, request_for(**given)) for one in tables], cached(store)
        units = [unit for cells in plans for unit in units_of(cells, stored, every=True)]
    else:
        refuse_ignored((*REQUEST, ONE_DRAW), given, "without a table, all units are written")
    print(f"written: {archive} ({plural(push(units, store, archive), 'unit')})")
