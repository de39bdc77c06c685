"""Show what is installed, cached and missing.

Examples
--------
omtl doctor
omtl doctor --json
"""

from __future__ import annotations

from omtl.commands._options import JSON, print_json

GROUP = "manage"
OPTIONS = (JSON,)


def run(as_json: bool) -> bool:
    """Print the state of each item; fail if an essential one is missing."""
    from omtl.experiment.doctor import BAD, GOOD, NOTE, examined
    from omtl.util.views import View

    found = examined()
    if as_json:
        print_json(found)
    else:
        colours = {GOOD: "green", NOTE: "yellow", BAD: "bold red"}
        shown = [colours[one["state"]] for one in found]
        View(list(found[0]), [list(one.values()) for one in found], colours=shown).show()
    return any(one["state"] == BAD for one in found)
