"""Remove finished units whose code is gone, and damaged files, from the store.

Examples
--------
omtl store prune --dry-run
omtl store prune
"""

from __future__ import annotations

from omtl.commands._options import flag

OPTIONS = (flag("dry-run", dest="only_count"),)
"""This is not the dry run of commands that compute."""


def run(only_count: bool) -> None:
    """Remove the units.

    Parameters
    ----------
    only_count
        only show how many units would be removed
    """
    from omtl.compute.exchange import prune
    from omtl.compute.store import Store
    from omtl.util.screen import plural

    gone, stay = prune(Store.default(), only_count)
    removed = "would be removed" if only_count else "removed"
    print(f"{plural(gone, 'unit')} {removed}, {stay} kept")
