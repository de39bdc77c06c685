"""Measure how much accuracy a table loses when large grids are searched, not enumerated."""

from __future__ import annotations

from typing import Any

from omtl.commands._options import PARALLEL, REQUEST, option, tell_written

EXAMPLES = ("audit search rom-table1",)
OPTIONS = (
    option("table", metavar="TABLE", help="id of the table"),
    option("--search", dest="measured", default="halving", help="a name in conf/search"),
    *(*REQUEST, *PARALLEL),
)


def run(table: str, measured: str, **given: Any) -> None:
    """Search the grids of a fully played table; print and write the differences."""
    from omtl.api.audits import search_grids

    rows, path = search_grids(table, measured, **given)
    print(rows.iloc[:, :9].to_string(index=False))
    tell_written([path])
