"""Search a paper's open questions; write the best answers as readings.

Examples
--------
omtl audit readings dom-table1
omtl audit readings aklo-table1 --draws 40
omtl audit readings dom-table1 --repeats 2
omtl audit readings dom-table1 --placebo-test
"""

from __future__ import annotations

from typing import Any

from omtl.commands._options import (
    PARALLEL,
    SEED,
    flag,
    natural,
    option,
    positive,
    refuse_ignored,
    tell_written,
)

SEARCHED = (
    option("--draws", type=natural, default=0),
    option("--begin", metavar="READING"),
    option("--only", choices=("as_read", "as_published", "blind")),
    flag("keep"),
    option("--repeats", type=positive),
    *PARALLEL,
)
OPTIONS = (option("table", metavar="TABLE"), *SEARCHED, flag("page"), flag("placebo-test"), SEED)


def run(table: str, page: bool, placebo_test: bool, **given: Any) -> None:
    """Search a table's readings; write the record, and the best answers as readings.

    Parameters
    ----------
    table
        id of the table
    draws
        number of random readings to try in addition; default: 0
    begin
        the reading to start from; default: the literal one
    only
        search for this reading only; default: as_read and as_published
    keep
        also keep the answers of a search with fewer repeats or another seed; by default its
        record goes to results/partial and the readings stay unchanged
    repeats
        per trial; default: 5
    page
        only rewrite the page of the recorded search
    placebo_test
        only repeat the recorded search on placebos
    **given
        The options that several commands have.
    """
    from omtl.experiment.descriptions import known_table
    from omtl.reproduction.search_readings import search_readings, write_page
    from omtl.tables.placebo_test import write_placebo_test

    table, paths = known_table(table), []
    if page or placebo_test:
        ignored = SEARCHED if placebo_test else (*SEARCHED, SEED)
        refuse_ignored(ignored, given, "--page and --placebo-test search nothing")
        paths += write_page(table) if page else []
        paths += [write_placebo_test(table, given["seed"])] if placebo_test else []
    else:
        paths += search_readings(table, **given)
    tell_written(paths)
