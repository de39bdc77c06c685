"""Test a table's claims with correction for multiple comparisons, and rank its algorithms.

Examples
--------
omtl audit statistics aklo-table1
"""

from __future__ import annotations

from typing import Any

from omtl.commands._options import REQUEST, option, tell_written

OPTIONS = (option("table", metavar="TABLE"), *REQUEST)


def run(table: str, **given: Any) -> None:
    """Write the statistics of a table or figure from the store or the kept repeats.

    Parameters
    ----------
    table
        the id of a table or figure
    **given
        The options that several commands have.
    """
    from omtl.evidence.statistics import reproduce_statistics
    from omtl.experiment.descriptions import known_id
    from omtl.tables.request import request_for

    tell_written(reproduce_statistics(known_id(table), request_for(**given)))
