"""The published numbers in ``results/published`` are whole, well formed and unaltered."""

from __future__ import annotations

import csv
import re
from decimal import Decimal
from itertools import product
from typing import NamedTuple

import pytest

from omtl.util.paths import RESULTS

PUBLISHED = RESULTS / "published"
COLUMNS = ["table", "dataset", "algorithm", "task", "metric", "mean", "std"]
METRICS = {"error", "auc", "nsv", "ace", "seconds", "time"} | {
    *("accuracy", "correlation", "mistakes", "queries", "right", "wrong"),
    *("absolute_error", "test_absolute_error"),
}
COUNTS = {
    "rom-table1": 115,
    "rom-table2": 27,
    "osmtl-table1": 63,
    "dom-table1": 49,
    "aklo-table1": 30,
    "aklo-table2": 30,
    "omtrsl-table1": 8,
    "omtl-table2": 9,
    "omtl-table3": 21,
    "omtl-table4": 42,
    "omtl-table5": 21,
    "amtl-table1": 6,
    "pfmtl-table1": 26,
}
TOTAL = 447
TABLES = sorted(path.stem for path in PUBLISHED.glob("*.csv"))


class Key(NamedTuple):
    """What names one cell of a table."""

    dataset: str
    algorithm: str
    task: str
    metric: str


def _rom_table1() -> list[Key]:
    """Return the cells of ROM's table I: three blocks, COML tuned twice in the last two."""
    head = ["PT-Individual", "PA-Individual", "Multi-P", "OMTL-B"]
    tail = ["ROM-PGD", "ROM-RDA"]
    blocks = {
        "Synthetic (delta2=0.09)": [*head, "COML", *tail],
        "Synthetic (delta2=1.00)": [*head, "COML-1", "COML-2", *tail],
        "Synthetic (delta2=12.25)": [*head, "COML-1", "COML-2", *tail],
    }
    return [
        Key(dataset, algorithm, f"task{task}", "error")
        for dataset, algorithms in blocks.items()
        for algorithm in algorithms
        for task in range(1, 6)
    ]


def _rom_table2() -> list[Key]:
    """Return the cells of ROM's table II."""
    algorithms = [
        "PT-individual",
        "PT-global",
        "PA-individual",
        "PA-global",
        "Multi-P",
        "OMTL-B",
        "COML",
        "ROM-PGD",
        "ROM-RDA",
    ]
    datasets = ["MHC-I", "TDT2", "Each Movie"]
    return [Key(d, a, "all", "error") for a, d in product(algorithms, datasets)]


def _osmtl_table1() -> list[Key]:
    """Return the cells of OSMTL's table 1."""
    algorithms = ["PA-ONE", "PA-ITL", "OSGL", "FOML", "OMTRL", "OSMTL-t", "OSMTL-e"]
    datasets = ["Landmine Detection", "Spam Detection", "Sentiment Analysis"]
    metrics = ["auc", "nsv", "seconds"]
    return [Key(d, a, "all", m) for a, d, m in product(algorithms, datasets, metrics)]


def _dom_table1() -> list[Key]:
    """Return the cells of DOM's table 1, which prints no ring for Sentiment (five holes)."""
    methods = ["NS", "DST", "DA", "DOM-I", "DOM-II"]
    spread = [f"{m} ({net})" for m, net in product(methods, ["Full", "Grid", "Ring"])]
    cells = product(["PM", "PA", "COML", *spread], ["Synthetic", "MHC-I", "Sentiment"])
    return [
        Key(d, a, "all", "error")
        for a, d in cells
        if not (d == "Sentiment" and a.endswith("(Ring)"))
    ]


def _aklo(metric: str) -> list[Key]:
    """Return the cells of either of AKLO's tables."""
    datasets = ["Syn1", "Syn2", "Landmine", "Spam", "Shoes"]
    algorithms = ["ITOL", "TOL", "Unif Sample", "Unif Sum", "AKLO Sample", "AKLO Sum"]
    return [Key(d, a, "all", metric) for d, a in product(datasets, algorithms)]


def _omtrsl_table1() -> list[Key]:
    """Return the cells of OMTRSL's table 1."""
    algorithms = ["mtLMNN", "OGRSL", "OSTRSL", "OMTRSL"]
    return [Key(d, a, "all", "time") for d, a in product(["isolet", "news20"], algorithms)]


def _omtl(*metrics: str) -> list[Key]:
    """Return the cells of OMTL's tables 3, 4 or 5."""
    algorithms = ["STL", "IPL", "CMTL", "BatchOpt", "OMTL-Cov", "OMTL-Log", "OMTL-Von"]
    datasets = ["20newsgroups", "Sentiment", "Spam"]
    return [Key(d, a, "all", m) for a, d, m in product(algorithms, datasets, metrics)]


def _omtl_table2() -> list[Key]:
    """Return the cells of OMTL's table 2: the three pairs of tasks, each once."""
    pairs = ["1 and 2", "1 and 3", "2 and 3"]
    learners = ["CMTL", "OMTL-Log", "OMTL-Von"]
    return [Key(pair, a, "all", "correlation") for a, pair in product(learners, pairs)]


CELLS: dict[str, list[Key]] = {
    "rom-table1": _rom_table1(),
    "rom-table2": _rom_table2(),
    "osmtl-table1": _osmtl_table1(),
    "dom-table1": _dom_table1(),
    "aklo-table1": _aklo("ace"),
    "aklo-table2": _aklo("seconds"),
    "omtrsl-table1": _omtrsl_table1(),
    "omtl-table2": _omtl_table2(),
    "omtl-table3": _omtl("accuracy"),
    "omtl-table4": _omtl("accuracy", "queries"),
    "omtl-table5": _omtl("mistakes"),
    "amtl-table1": [
        Key("Spam", a, "all", m)
        for a, m in product(["PEER", "HUMBLE"], ["right", "queries", "wrong"])
    ],
    "pfmtl-table1": [
        Key(data, a, "all", m)
        for data, algorithms in (
            ("Synthetic", ["ITL", "Aggr", "Lazy"]),
            ("Lenk", ["ITL", "Aggr", "Lazy", "Aggr_KT", "Lazy_KT"]),
            ("Schools", ["ITL", "Aggr", "Lazy", "Aggr_KT", "Lazy_KT"]),
        )
        for a, m in product(algorithms, ["absolute_error", "test_absolute_error"])
    ],
}

# How a mean and a spread are printed, by table and metric; an empty spread is none printed.
TWO = r"\d+\.\d{2}"
PRINTED: dict[tuple[str, str], tuple[str, str]] = {
    ("rom-table1", "error"): (TWO, TWO),
    ("rom-table2", "error"): (TWO, TWO),
    ("osmtl-table1", "auc"): (r"0\.\d{4}", r"0\.\d{2,3}"),
    ("osmtl-table1", "nsv"): (r"\d+\.\d|458", TWO),
    ("osmtl-table1", "seconds"): (r"\d+\.\d{1,2}|128", ""),
    ("dom-table1", "error"): (TWO, TWO),
    ("aklo-table1", "ace"): (TWO, TWO),
    ("aklo-table2", "seconds"): (r"\d\.\d{3}", r"0\.\d{3}|\d\.\d{2}e-[345]"),
    ("omtrsl-table1", "time"): (r"\d+\.\d", ""),
    ("omtl-table2", "correlation"): (r"-?0\.\d{4}", ""),
    ("omtl-table3", "accuracy"): (TWO, TWO),
    ("omtl-table4", "accuracy"): (TWO, TWO),
    ("omtl-table4", "queries"): (r"\d+", ""),
    ("omtl-table5", "mistakes"): (r"\d+", ""),
    ("amtl-table1", "right"): (r"0\.\d{4}", r"0\.\d{3}"),
    ("amtl-table1", "queries"): (r"\d+\.\d", TWO),
    ("amtl-table1", "wrong"): (r"0\.\d{4}", r"0\.\d{3}"),
    ("pfmtl-table1", "absolute_error"): (TWO, ""),
    ("pfmtl-table1", "test_absolute_error"): (TWO, ""),
}

# By table and metric: the sum of the means, of the spreads, and of the means and of the spreads
# each times its place (1, 2, ...) among the metric's rows, which notices two swapped rows too.
SUMS: dict[tuple[str, str], tuple[str, str, str, str]] = {
    ("rom-table1", "error"): ("1389.77", "19.77", "83609.08", "1210.53"),
    ("rom-table2", "error"): ("623.65", "7.45", "7744.98", "98.77"),
    ("osmtl-table1", "auc"): ("16.6341", "0.537", "190.1652", "4.676"),
    ("osmtl-table1", "nsv"): ("26000.6", "755.08", "237380.1", "10581.50"),
    ("osmtl-table1", "seconds"): ("199.73", "0", "2938.11", "0"),
    ("dom-table1", "error"): ("940.60", "10.68", "22975.06", "248.64"),
    ("aklo-table1", "ace"): ("764.22", "55.34", "11258.73", "943.95"),
    ("aklo-table2", "seconds"): ("13.995", "0.0895494", "266.880", "1.8240981"),
    ("omtrsl-table1", "time"): ("6005.0", "0", "29702.6", "0"),
    ("omtl-table2", "correlation"): ("-0.9827", "0", "-5.9320", "0"),
    ("omtl-table3", "accuracy"): ("1623.65", "28.07", "18400.05", "246.21"),
    ("omtl-table4", "accuracy"): ("1618.98", "30.36", "18251.19", "312.69"),
    ("omtl-table4", "queries"): ("387124", "0", "4088920", "0"),
    ("omtl-table5", "mistakes"): ("193089", "0", "2057214", "0"),
    ("amtl-table1", "right"): ("1.7364", "0.038", "2.6231", "0.069"),
    ("amtl-table1", "queries"): ("2155.4", "46.84", "3202.0", "61.58"),
    ("amtl-table1", "wrong"): ("0.3990", "0.011", "0.5725", "0.017"),
    ("pfmtl-table1", "absolute_error"): ("81.56", "0", "707.21", "0"),
    ("pfmtl-table1", "test_absolute_error"): ("78.46", "0", "676.95", "0"),
}

SPOT: list[tuple[str, Key, str, str]] = [
    (
        "rom-table1",
        Key("Synthetic (delta2=0.09)", "PT-Individual", "task1", "error"),
        "14.10",
        "0.11",
    ),
    ("rom-table1", Key("Synthetic (delta2=1.00)", "COML-2", "task5", "error"), "20.48", "0.15"),
    ("rom-table1", Key("Synthetic (delta2=12.25)", "COML-2", "task5", "error"), "40.26", "0.51"),
    ("rom-table1", Key("Synthetic (delta2=12.25)", "ROM-PGD", "task5", "error"), "13.61", "0.11"),
    ("rom-table2", Key("MHC-I", "ROM-PGD", "all", "error"), "28.30", "0.16"),
    ("rom-table2", Key("TDT2", "PT-global", "all", "error"), "39.22", "0.58"),
    ("rom-table2", Key("Each Movie", "ROM-RDA", "all", "error"), "18.85", "0.34"),
    ("osmtl-table1", Key("Landmine Detection", "PA-ONE", "all", "auc"), "0.5473", "0.12"),
    ("osmtl-table1", Key("Landmine Detection", "OSMTL-e", "all", "nsv"), "458", "36.79"),
    ("osmtl-table1", Key("Sentiment Analysis", "OSMTL-t", "all", "auc"), "0.9354", "0.01"),
    ("osmtl-table1", Key("Sentiment Analysis", "OMTRL", "all", "seconds"), "128", ""),
    ("dom-table1", Key("Synthetic", "DOM-I (Full)", "all", "error"), "5.91", "0.12"),
    ("dom-table1", Key("MHC-I", "DOM-I (Full)", "all", "error"), "27.27", "0.16"),
    ("dom-table1", Key("Sentiment", "NS (Grid)", "all", "error"), "25.21", "0.59"),
    ("dom-table1", Key("MHC-I", "DOM-II (Ring)", "all", "error"), "27.72", "0.13"),
    ("aklo-table1", Key("Syn1", "ITOL", "all", "ace"), "41.10", "1.80"),
    ("aklo-table1", Key("Shoes", "AKLO Sum", "all", "ace"), "20.74", "3.24"),
    ("aklo-table2", Key("Syn1", "ITOL", "all", "seconds"), "0.029", "1.57e-4"),
    ("aklo-table2", Key("Landmine", "Unif Sample", "all", "seconds"), "0.361", "2.36e-3"),
    ("aklo-table2", Key("Spam", "AKLO Sample", "all", "seconds"), "2.467", "0.011"),
    ("omtrsl-table1", Key("news20", "mtLMNN", "all", "time"), "5371.4", ""),
    ("omtl-table2", Key("1 and 2", "OMTL-Log", "all", "correlation"), "-0.9059", ""),
    ("omtl-table3", Key("Sentiment", "OMTL-Log", "all", "accuracy"), "73.49", "0.53"),
    ("omtl-table4", Key("Spam", "OMTL-Von", "all", "accuracy"), "89.14", "1.66"),
    ("omtl-table4", Key("20newsgroups", "CMTL", "all", "queries"), "10171", ""),
    ("amtl-table1", Key("Spam", "HUMBLE", "all", "right"), "0.8867", "0.031"),
    ("omtl-table5", Key("Spam", "OMTL-Cov", "all", "mistakes"), "337", ""),
    ("pfmtl-table1", Key("Lenk", "Lazy_KT", "all", "absolute_error"), "3.16", ""),
    ("pfmtl-table1", Key("Schools", "ITL", "all", "test_absolute_error"), "11.73", ""),
]


def read(table: str) -> list[dict[str, str]]:
    """Return the rows of a published table."""
    with (PUBLISHED / f"{table}.csv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def key(row: dict[str, str]) -> Key:
    """Return what names a row's cell."""
    return Key(row["dataset"], row["algorithm"], row["task"], row["metric"])


def test_tables() -> None:
    """The tables are there, with as many numbers as their papers print."""
    assert set(COUNTS) <= set(TABLES)
    assert sum(len(read(table)) for table in COUNTS) == TOTAL == sum(COUNTS.values())


@pytest.mark.parametrize("table", TABLES)
def test_file(table: str) -> None:
    """A file is UTF-8 with LF line ends, a header, seven fields a line and no blank line."""
    data = (PUBLISHED / f"{table}.csv").read_bytes()
    text = data.decode("utf-8")
    assert "\r" not in text
    assert "\n\n" not in text
    assert text.endswith("\n")
    header, *rows = csv.reader(text.splitlines())
    assert header == COLUMNS
    assert len(rows) == COUNTS.get(table, len(rows)) > 0
    for row in rows:
        assert len(row) == len(COLUMNS)
        assert row[0] == table
        assert all(field == field.strip() for field in row)


@pytest.mark.parametrize("table", COUNTS)
def test_cells(table: str) -> None:
    """A table has each cell that the paper prints, once, in the paper's order, and no other."""
    found = [key(row) for row in read(table)]
    assert len(set(found)) == len(found)
    assert {cell.metric for cell in found} <= METRICS
    assert set(found) == set(CELLS[table])
    assert found == CELLS[table]


def test_dom_holes() -> None:
    """DOM prints no ring for Sentiment: five methods, and nothing else is missing."""
    rows = read("dom-table1")
    algorithms = {row["algorithm"] for row in rows}
    missing = algorithms - {row["algorithm"] for row in rows if row["dataset"] == "Sentiment"}
    assert missing == {f"{m} (Ring)" for m in ("NS", "DST", "DA", "DOM-I", "DOM-II")}
    for dataset in ("Synthetic", "MHC-I"):
        assert {row["algorithm"] for row in rows if row["dataset"] == dataset} == algorithms


@pytest.mark.parametrize("table", COUNTS)
def test_numbers(table: str) -> None:
    """Each number parses and has the digits that the paper prints, trailing zeros included."""
    for row in read(table):
        mean, std = PRINTED[table, row["metric"]]
        assert re.fullmatch(mean, row["mean"]), row
        assert re.fullmatch(std, row["std"]), row
        assert row["metric"] == "correlation" or Decimal(row["mean"]) > 0
        assert not row["std"] or Decimal(row["std"]) > 0
        if row["metric"] in {"error", "ace"}:
            assert Decimal(row["mean"]) < 100
        if row["metric"] == "auc":
            assert Decimal(row["mean"]) < 1


@pytest.mark.parametrize(("table", "metric"), SUMS)
def test_sums(table: str, metric: str) -> None:
    """The sums of a table's numbers are those of the transcription that was checked."""
    rows = [row for row in read(table) if row["metric"] == metric]
    means = [Decimal(row["mean"]) for row in rows]
    stds = [Decimal(row["std"] or "0") for row in rows]
    found = (
        sum(means),
        sum(stds),
        sum(place * mean for place, mean in enumerate(means, start=1)),
        sum(place * std for place, std in enumerate(stds, start=1)),
    )
    assert found == tuple(Decimal(text) for text in SUMS[table, metric])


def test_sums_cover() -> None:
    """Every metric of every table is summed."""
    assert set(SUMS) == {(table, row["metric"]) for table in COUNTS for row in read(table)}


@pytest.mark.parametrize(("table", "cell", "mean", "std"), SPOT)
def test_spot(table: str, cell: Key, mean: str, std: str) -> None:
    """Single numbers, read from the papers by eye, stand where they should."""
    row = next(row for row in read(table) if key(row) == cell)
    assert (row["mean"], row["std"]) == (mean, std)
