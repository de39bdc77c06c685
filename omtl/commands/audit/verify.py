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
from omtl.util.status import DONE, FAILED

OPTIONS = (
    option("tables", nargs="*", metavar="TABLE", help="default: all tables"),
    option("--cells", type=positive, help="number of cells; default: one from each table"),
    option("--seed", type=natural, default=0, help="seed of the draw; default: 0"),
    option(
        "--sign",
        metavar="NAME",
        help="sign the check: add a line to results/reproductions.csv under this name",
    ),
    *PARALLEL,
)


def run(tables: Sequence[str], cells: int | None, seed: int, sign: str | None, **how: Any) -> int:
    """Replay randomly drawn cells from scratch and record the outcome."""
    from omtl.reproduction.replay import verify
    from omtl.tables.request import parallel_for

    paths, warning = verify(tables, cells, seed, sign, parallel_for(**how))
    tell_written(paths)
    if warning:
        print(f"omtl: {warning}", file=sys.stderr)
    return FAILED if warning else DONE
