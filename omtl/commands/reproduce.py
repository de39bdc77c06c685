"""Reproduce every table and figure under each standard reading.

Examples
--------
omtl reproduce
omtl reproduce --repeats 2
"""

from __future__ import annotations

from typing import Any

from omtl.commands._options import ALL, PARALLEL, REQUEST
from omtl.util.status import DONE, FAILED

GROUP = "check a paper"
OPTIONS = (*REQUEST, *PARALLEL, ALL)


def run(**given: Any) -> int:
    """Reproduce everything and print a summary that names failures; the rest continues."""
    from omtl.api.everything import reproduce_everything
    from omtl.tables.request import request_for

    summary = reproduce_everything(request_for(**given))
    print(summary)
    return FAILED if summary.failures else DONE
