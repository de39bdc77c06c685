"""Reproduce a table and compare it with the published one.

Examples
--------
omtl table dom-table1 --repeats 2
omtl table rom-table1 --reading as_written
omtl table dom-table1 --cell "PA on Synthetic" --repeats 5
"""

from __future__ import annotations

from typing import Any

from omtl.commands._options import (
    ALL,
    AUTO_REQUEST,
    DRY_RUN,
    ONE_DRAW,
    PARALLEL,
    TIMES,
    flag,
    option,
    refuse_ignored,
    tell_written,
)

GROUP = "check a paper"
OPTIONS = (
    option("table", metavar="TABLE"),
    option("--cell"),
    *(*AUTO_REQUEST, *PARALLEL),
    option("--search"),
    flag("full"),
    *(ONE_DRAW, DRY_RUN, TIMES, ALL),
)


def run(table: str, cell: str | None, full: bool, **given: Any) -> bool:
    """Compute a table's missing units, print it next to the published one, write its files.

    Parameters
    ----------
    table
        id of the table; `omtl list tables` shows all
    cell
        compute only this cell and write no files; `omtl explain TABLE` lists the cells
    search
        how large grids are narrowed, in conf/search; default: the table's own
    full
        show all notes, not a summary
    **given
        The options that several commands have.
    """
    from omtl.api import tables

    if cell is not None:
        refuse_ignored([TIMES], given, "--cell writes no files")
    made = tables.table(table, cell=cell, **given)
    made.show(full)
    if cell is None:
        tell_written(made.write())
    return made.is_broken
