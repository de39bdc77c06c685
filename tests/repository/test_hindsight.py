"""The margins without hindsight are of the committed tables."""

from __future__ import annotations

import pandas as pd
import pytest

from omtl.tables.plan import describe
from omtl.util.paths import RESULTS

PLACE = ["dataset", "task", "metric", "algorithm", "reading"]


def means(stem: str) -> dict[tuple[str, ...], str]:
    """Our means of a table, as printed, by their place."""
    path = RESULTS / "reproduced" / f"{stem}.csv"
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    return dict(zip(rows[PLACE].itertuples(index=False, name=None), rows["ours_mean"], strict=True))


MARGINS = pd.read_csv(RESULTS / "hindsight.csv", dtype=str, keep_default_na=False)


@pytest.mark.parametrize("table", sorted(MARGINS["table"].unique()))
def test_margins_are_of_the_means_in_the_tables(table: str) -> None:
    """Under the table's own rule and, where that table is committed too, under the honest one."""
    rows = MARGINS[MARGINS["table"] == table]
    combined = describe("table", table).same_row
    compared = 0
    for prefix in ("", "honest_"):
        for rule, ruled in rows.groupby(f"{prefix}selection"):
            stem = f"{table}.{rule}" if prefix else table
            if not (RESULTS / "reproduced" / f"{stem}.csv").is_file():
                continue
            ours = means(stem)
            for role in ("own", "rival"):
                for _, row in ruled.iterrows():
                    learner = row[prefix + role]
                    place = (*(row[name] for name in PLACE[:3]), learner, row["reading"])
                    if place not in ours:
                        assert any(learner in labels for labels in combined.values()), place
                        continue
                    assert ours[place] == row[f"{prefix}{role}_mean"], place
                    compared += 1
    assert compared
