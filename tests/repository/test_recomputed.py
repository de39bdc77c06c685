"""Verdicts, floor and ceiling, computed anew from the committed files by other code."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omtl.util.paths import RESULTS

FOLDER = RESULTS / "reproduced"
PLACE = ["dataset", "algorithm", "task", "metric"]
PERFECT = {"auc": 1.0, "right": 1.0, "accuracy": 100.0}
TABLES = sorted(path.name.partition(".")[0] for path in FOLDER.glob("*[0-9].agreement.csv"))


def sizes_of(numbers: np.ndarray, metric: str) -> np.ndarray:
    """Return what a difference from printed numbers is a share of."""
    if metric == "correlation":
        return np.ones_like(numbers)
    return np.abs(PERFECT[metric] - numbers if metric in PERFECT else numbers)


def compared(table: str, reading: str) -> pd.DataFrame:
    """Return the compared cells of a reading, with all repeats, from the files alone."""
    rows = pd.read_csv(FOLDER / f"{table}.csv", dtype={"task": str})
    rows = rows[(rows["reading"] == reading) & rows["verdict"].isin(["match", "near", "off"])]
    rows = rows[rows["ours_mean"].notna()]
    kept = f"{table}.repeats.csv" if reading == "as_published" else f"{table}.{reading}.repeats.csv"
    repeats = pd.read_csv(FOLDER / kept, dtype={"task": str}).set_index(PLACE)["values"]
    places = rows[PLACE].itertuples(index=False, name=None)
    values = [np.array(str(repeats[place]).split(), float) for place in places]
    return rows.assign(values=values, mean=[one.mean() for one in values])


def distances(ours: np.ndarray, printed: np.ndarray, metric: str) -> np.ndarray:
    """Return how far our numbers are from printed ones, as shares."""
    return np.abs(ours - printed) / sizes_of(printed, metric)


def perfect_reading(cells: pd.DataFrame) -> float:
    """Return how many cells come within 10 % of a print by us, on average over 2,000 prints."""
    rng, found = np.random.default_rng(7), 0.0
    for row in cells.to_dict("records"):
        values = row["values"]
        if row["n_draws"] > 1:
            printed = values
        else:
            size = int(row["published_repeats"])
            printed = values[rng.integers(0, values.size, (2000, size))].mean(axis=1)
        found += float((distances(row["mean"], printed, row["metric"]) <= 0.1).mean())
    return found


def permuted(cells: pd.DataFrame) -> float:
    """Return how many cells come within 10 % of permuted rows on average.

    Each row meets each other row of its data set, and itself, equally often.
    """
    found = 0.0
    for _, part in cells.groupby("dataset"):
        n_rows = part["algorithm"].nunique()
        for (_, metric), column in part.groupby(["task", "metric"]):
            ours, printed = column["mean"].to_numpy(), column["published_mean"].to_numpy()
            every = distances(ours[:, np.newaxis], printed, metric)
            found += float((every <= 0.1).sum()) / n_rows
    return found


@pytest.mark.parametrize("table", TABLES)
def test_verdicts_floor_and_ceiling_agree_with_other_code(table: str) -> None:
    """Exactly where they are exact, and within their chance where they are sampled."""
    for told in pd.read_csv(FOLDER / f"{table}.agreement.csv").to_dict("records"):
        cells = compared(table, told["reading"])
        far = np.array(
            [
                float(distances(row["mean"], row["published_mean"], row["metric"]))
                for row in cells.to_dict("records")
            ]
        )
        words = np.select([far <= 0.05, far <= 0.1], ["match", "near"], "off")
        assert words.tolist() == cells["verdict"].tolist()
        assert told["cells"] == len(cells)
        assert told["within"] == (far <= 0.1).sum()
        assert told["ceiling"] == pytest.approx(perfect_reading(cells), abs=1.0)
        luck = RESULTS / "readings" / f"{table}.luck.csv"
        floor = recorded(luck, told["reading"])
        assert told["floor"] == pytest.approx(permuted(cells) if floor is None else floor, abs=0.5)
        assert [told["pairs"], told["in_order"]] == order(cells)


def recorded(path: Path, reading: str) -> float | None:
    """Return what the closest of recorded trials finds of permuted rows; None without a record."""
    if not path.exists():
        return None
    rows = pd.read_csv(path)
    rows = rows[rows["reading"] == reading]
    return None if rows.empty else float(rows["permuted"].iloc[-1])


def order(cells: pd.DataFrame) -> list[int]:
    """Return the pairs of rows that are printed apart, and those in the printed order."""
    pairs = [
        (one[0] - other[0]) * (one[1] - other[1])
        for _, part in cells.groupby(["dataset", "task", "metric"])
        for one, other in combinations(zip(part["published_mean"], part["mean"], strict=True), 2)
        if one[0] != other[0]
    ]
    return [len(pairs), sum(product > 0 for product in pairs)]


def test_colours_rank_twenty_cells_as_their_distances_do() -> None:
    """Of twenty published cells at a time, none has a better colour than a nearer one."""
    cells = pd.concat([compared(t, "as_published") for t in TABLES])
    far = cells["share"].abs().to_numpy()
    rank = cells["verdict"].map({"match": 0, "near": 1, "off": 2}).to_numpy()
    rng = np.random.default_rng(0)
    for _ in range(100):
        taken = rng.choice(len(cells), 20, replace=False)
        ranked = rank[taken[np.argsort(far[taken], kind="stable")]]
        assert (np.diff(ranked) >= 0).all()
