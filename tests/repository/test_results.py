"""The files of results agree with each other, and with other code; prints are as transcribed."""

from __future__ import annotations

import csv
import hashlib
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omtl.experiment.descriptions import by_reading
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


PUBLISHED = sorted((RESULTS / "published").glob("*.csv"))
CHECKED = Path(__file__).parents[1] / "golden" / "published.sha256"
"""Hashes of the files that were compared with the papers, number by number; `sha256sum -c`."""

COLUMNS = ["table", "dataset", "algorithm", "task", "metric", "mean", "std"]


def test_the_numbers_are_those_compared_with_the_papers() -> None:
    """Whoever changes one compares the file with the paper again, and then updates its hash."""
    checked = [line.split() for line in CHECKED.read_text(encoding="utf-8").splitlines()]
    found = [[hashlib.sha256(path.read_bytes()).hexdigest(), path.name] for path in PUBLISHED]
    assert found == checked


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_each_cell_is_printed_once_with_numbers(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    assert "\r" not in text and "\n\n" not in text and text.endswith("\n")
    header, *rows = csv.reader(text.splitlines())
    assert header == COLUMNS
    assert {row[0] for row in rows} == {path.stem}
    assert len({tuple(row[:5]) for row in rows}) == len(rows) > 0
    for *_, mean, std in rows:
        float(mean)
        assert not std or float(std) > 0.0


FOLDER = RESULTS / "reproduced"
PLACES = ["dataset", "algorithm", "task", "metric"]
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
    repeats = pd.read_csv(FOLDER / kept, dtype={"task": str}).set_index(PLACES)["values"]
    places = rows[PLACES].itertuples(index=False, name=None)
    values = [np.array(str(repeats[place]).split(), float) for place in places]
    return rows.assign(values=values, mean=[one.mean() for one in values])


def distances(ours: np.ndarray, printed: np.ndarray, metric: str) -> np.ndarray:
    """Return how far our numbers are from printed ones, as shares."""
    return np.abs(ours - printed) / sizes_of(printed, metric)


def perfect_reading(cells: pd.DataFrame) -> float:
    """Return how many cells come within 10% of a print by us, on average over 2,000 prints."""
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
    """Return how many cells come within 10% of permuted rows on average.

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
        placebos = RESULTS / "readings" / f"{table}.placebo.csv"
        floor = recorded(placebos, told["reading"])
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
