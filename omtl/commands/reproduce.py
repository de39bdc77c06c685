"""Reproduce every table and figure under each standard reading.

Examples
--------
omtl reproduce
omtl reproduce --repeats 2
"""

from __future__ import annotations

from typing import Any

from omtl.commands._options import ALL, PARALLEL, REQUEST

GROUP = "check a paper"
OPTIONS = (*REQUEST, *PARALLEL, ALL)


def run(**given: Any) -> bool:
    """Reproduce everything and print a summary that names failures; the rest continues."""
    from omtl.api.everything import reproduce_everything
    from omtl.tables.request import request_for

    summary = reproduce_everything(request_for(**given))
    print(summary)
    return bool(summary.failures)
