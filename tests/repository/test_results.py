"""The committed files of results agree with each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omtl.experiment.naming import by_reading
from omtl.tables.plan import describe
from omtl.util.paths import RESULTS

PLACE = ["metric", "dataset", "task", "algorithm"]
COMPARED = sorted((RESULTS / "statistics").glob("*.equivalence.csv"))
MARGINS = pd.read_csv(RESULTS / "hindsight.csv", dtype=str, keep_default_na=False)


def rows_of(name: str) -> pd.DataFrame:
    """Return the rows of a committed file of a table, as text."""
    return pd.read_csv(RESULTS / "reproduced" / name, dtype=str, keep_default_na=False)


def repeats(table: str, reading: str) -> dict[tuple[str, ...], np.ndarray]:
    """Return every cell's number in each repeat."""
    rows = rows_of(f"{by_reading(table, reading)}.repeats.csv")
    places = rows[PLACE].itertuples(index=False, name=None)
    return {
        place: np.array(values.split(), dtype=float)
        for place, values in zip(places, rows["values"], strict=True)
    }


@pytest.mark.parametrize("path", COMPARED, ids=lambda path: path.name.partition(".")[0])
def test_ratios_are_of_the_repeats(path: Path) -> None:
    """Geometric means over the repeats of the ratio of two learners' numbers, to four digits."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    for (table, reading), pairs in rows[rows["ratio"] != ""].groupby(["table", "reading"]):
        numbers = repeats(table, reading)
        for pair in pairs.to_dict("records"):
            place = tuple(pair[name] for name in PLACE[:3])
            own, other = (numbers[*place, pair[name]] for name in ("algorithm", "other"))
            with np.errstate(divide="ignore"):  # an error of 0 has the ratio 0 or infinity
                ratio = np.exp(np.mean(np.log(own / other)))
            assert float(pair["ratio"]) == pytest.approx(ratio, rel=1e-3), (reading, pair)


def means(stem: str) -> dict[tuple[str, ...], str]:
    """Return our means of a table, as printed, by their place and reading."""
    rows = rows_of(f"{stem}.csv")
    places = rows[[*PLACE, "reading"]].itertuples(index=False, name=None)
    return dict(zip(places, rows["ours_mean"], strict=True))


@pytest.mark.parametrize("table", sorted(MARGINS["table"].unique()))
def test_margins_are_of_the_means_in_the_tables(table: str) -> None:
    """Under the table's own rule and, where that table is committed too, without hindsight."""
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
                for row in ruled.to_dict("records"):
                    learner = row[prefix + role]
                    place = (*(row[name] for name in PLACE[:3]), learner, row["reading"])
                    if place not in ours:
                        assert any(learner in labels for labels in combined.values()), place
                        continue
                    assert ours[place] == row[f"{prefix}{role}_mean"], place
                    compared += 1
    assert compared
