"""Printing the table of several runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

LAST = ("params", "failed")
"""The columns that belong at the end."""


def print_runs(table: pd.DataFrame) -> None:
    """Print what differs between runs, and their numbers as mean ± standard deviation."""
    import pandas as pd

    from omtl.commands._grid import print_rows
    from omtl.measures.metrics import METRICS
    from omtl.reproduction.record import shown

    metrics = [name for name in METRICS if name in table]
    numbers = {"n_repeats", "diverged", *metrics, *(f"{name}_std" for name in metrics)}
    about = [str(column) for column in table if column not in numbers]
    about = [c for c in about if c in ("run", "failed") or table[c].nunique(dropna=False) > 1]
    heads = [column for column in about if column not in LAST]
    ends = [column for column in LAST if column in about]
    rows = []
    for row in table.to_dict("records"):
        cells = [_short(row[head]) for head in heads]
        for name in metrics:
            std = row.get(f"{name}_std")
            text = "" if pd.isna(row[name]) else shown(name, row[name], "" if pd.isna(std) else std)
            cells.append("diverged" if (row.get("diverged") or 0) > 0 else text)
        rows.append([*cells, *(_short(row[column]) for column in ends)])
    titles = [f"{name} {METRICS[name].unit}".strip() for name in metrics]
    print_rows([*heads, *titles, *ends], rows, right=titles)


def _short(value: Any) -> str:
    """Return a cell as text."""
    import pandas as pd

    if pd.isna(value):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
