"""Recompute random cells and compare every digit with results/.

Examples
--------
omtl audit verify --cells 10
omtl audit verify rom-table1 --seed 7
omtl audit verify --cells 3 --sign 'Ada Lovelace'
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from omtl.commands._options import PARALLEL, natural, option, positive, tell_written

OPTIONS = (
    option("tables", nargs="*", metavar="TABLE"),
    option("--cells", type=positive),
    option("--seed", type=natural, default=0),
    option("--sign", metavar="NAME"),
    *PARALLEL,
)


def run(tables: Sequence[str], cells: int | None, seed: int, sign: str | None, **how: Any) -> bool:
    """Replay randomly drawn cells from scratch and record the outcome.

    Parameters
    ----------
    tables
        default: all tables
    cells
        number of cells; default: one from each table
    seed
        seed of the draw; default: 0
    sign
        sign the check: add a line to results/reproductions.csv under this name
    **how
        The options that several commands have.
    """
    from omtl.reproduction.replay import verify
    from omtl.tables.request import parallel_for

    paths, warning = verify(tables, cells, seed, sign, parallel_for(**how))
    tell_written(paths)
    if warning:
        print(f"omtl: {warning}", file=sys.stderr)
    return bool(warning)
