"""The board: who beats whom without hindsight, on all or selected data sets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from omtl.evidence.battles import numbers
from omtl.evidence.board import BoardPlan, beside_median
from omtl.evidence.board_queries import count_sharing, sharing, summary_lines
from omtl.evidence.comparisons import REGION
from omtl.measures.metrics import METRICS
from omtl.reproduction.board import BoardResult, from_results
from omtl.site.sources import Sources

LONGER = {
    "related": "synthetic, related tasks",
    "outlier": "synthetic, one task apart",
    "opposed": "synthetic, opposed tasks",
    "changing": "synthetic, changing with time",
    "own": "other",
}
"""Kinds of streams of which one word says too little; the others are shown by their own."""


def board_content(sources: Sources) -> dict[str, Any] | None:
    """Return the page of the default board, or None if it was not played.

    Its `rows` are the ranking, with the time relative to the median learner and three lines on each
    learner; `kinds` are the kinds of streams that occur, in words; `battles` is the data for the
    script that ranks a subset and opens a cell; `sharing` and `shared` are what sharing gains on
    each data set, and how often.
    """
    if not (sources.results / "board" / "cells.csv").is_file():
        return None
    made = from_results(BoardPlan(), sources.results)
    config = made.board.config
    names = _names(made.data)
    times, memory = made.ratios, beside_median(made.cells, "bytes")
    learning_lines = summary_lines(made.cells, config["metric"], names)
    rows = [
        {
            **row,
            "lines": learning_lines[row["algorithm"]],
            "time": times.get(row["algorithm"], math.nan),
            "memory": memory.get(row["algorithm"], math.nan),
        }
        for row in made.ranking.to_dict("records")
    ]
    gains = sharing(made.cells, config["families"])
    points = [
        (row["label"], row["elo"], float(f"{row['time']:.4g}"))
        for row in rows
        if math.isfinite(row["time"])
    ]
    return {
        "rows": rows,
        "data": _titled(made.data, names),
        "kinds": {kind: LONGER.get(kind, kind) for kind in made.data["kind"].unique()},
        "battles": _battles(made, names) | {"front": points},
        "notes": made.notes,
        "sharing": _titled(gains, names),
        "shared": count_sharing(gains).to_dict("records"),
        "meta": config,
    }


def _titled(rows: pd.DataFrame, names: Mapping[str, str]) -> list[dict[Hashable, Any]]:
    return rows.assign(title=rows["dataset"].map(names)).to_dict("records")


def _names(data: pd.DataFrame) -> dict[str, str]:
    """Return the data sets' titles: their labels, with the config's name where labels repeat."""
    labels = dict(zip(data["dataset"], data["label"], strict=True))
    times = Counter(labels.values())
    return {
        name: f"{label} ({name.replace('_', ' ')})" if times[label] > 1 else label
        for name, label in labels.items()
    }


def _battles(made: BoardResult, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the numbers of all battles, and the words of each cell's command."""
    learners, values = numbers(made.cells)
    about = made.cells.drop_duplicates("algorithm").set_index("algorithm")
    of_cell = made.cells.set_index(["dataset", "algorithm"])
    chosen, curves = of_cell["chosen"], of_cell["curve"]
    config = made.board.config
    kept = {row["dataset"]: row for row in made.data.to_dict("records")}
    return {
        "lower": METRICS[config["metric"]].lower_is_better,
        "region": REGION,
        "learners": [{"name": n, "label": about.loc[n, "label"]} for n in learners],
        "grids": {name: made.board.grid_words(name) for name in learners},
        "data": [
            {
                "name": dataset,
                "title": names[dataset],
                **{fact: kept[dataset][fact] for fact in ("kind", "rows", "tasks", "features")},
                "words": made.board.overrides(dataset),
                "values": [[_short(v) for v in row] for row in each.tolist()],
                "chosen": [chosen.get((dataset, name), "") for name in learners],
                "seen": kept[dataset].get("seen", ""),
                "curves": [curves.get((dataset, name), "") for name in learners],
            }
            for dataset, each in values.items()
        ],
    }


def _short(value: float) -> float | None:
    return None if math.isnan(value) else float(f"{value:.6g}")
