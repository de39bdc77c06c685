"""The committed statistics are of the committed repeats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omtl.experiment.naming import by_reading
from omtl.util.paths import RESULTS

COMPARED = sorted((RESULTS / "statistics").glob("*.equivalence.csv"))
PLACE = ["metric", "dataset", "task", "algorithm"]


def repeats(table: str, reading: str) -> dict[tuple[str, ...], np.ndarray]:
    """Every cell's number in each repeat."""
    path = RESULTS / "reproduced" / f"{by_reading(table, reading)}.repeats.csv"
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
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
        for _, pair in pairs.iterrows():
            place = tuple(pair[PLACE[:3]])
            own, other = (numbers[*place, pair[name]] for name in ("algorithm", "other"))
            with np.errstate(divide="ignore"):  # an error of 0 has the ratio 0 or infinity
                ratio = np.exp(np.mean(np.log(own / other)))
            assert float(pair["ratio"]) == pytest.approx(ratio, rel=1e-3), (reading, *pair)
