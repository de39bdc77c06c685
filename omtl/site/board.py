"""The board: who beats whom without hindsight, on all or selected data sets."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from omtl.evidence.board import BoardPlan
from omtl.evidence.compared_learners import labels_apart
from omtl.evidence.comparisons import REGION
from omtl.evidence.ratings import beside_median, count_sharing, numbers, sharing, summary_lines
from omtl.measures.metrics import METRICS
from omtl.reproduction.board import Board, from_results
from omtl.site.sources import Sources
from omtl.site.text import short

LONGER = {
    "related": "synthetic, related tasks",
    "outlier": "synthetic, one task apart",
    "opposed": "synthetic, opposed tasks",
    "changing": "synthetic, changing with time",
    "own": "other",
}
"""Kinds of streams for which one word says too little; the others are shown by their own."""


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
    config, names = made.plan.config, _names(made.data)
    times, memory = made.ratios, beside_median(made.frame, "bytes")
    rows = made.ranking.assign(
        time=made.ranking["algorithm"].map(times),
        memory=made.ranking["algorithm"].map(memory),
        lines=made.ranking["algorithm"].map(summary_lines(made.frame, config.metric, names)),
    )
    timed = rows[rows["time"].notna()]
    kinds = {kind: LONGER.get(kind, kind) for kind in made.data["kind"].unique()}
    data = made.data.assign(title=made.data["dataset"].map(names))
    gains = sharing(made.frame, config.families)
    return {
        "rows": rows.to_dict("records"),
        "data": data.assign(in_words=data["kind"].map(kinds)).to_dict("records"),
        "kinds": kinds,
        "battles": {
            **_battles(made, data),
            "front": list(zip(timed["label"], timed["elo"], timed["time"], strict=True)),
        },
        "notes": made.notes,
        "sharing": gains.assign(title=gains["dataset"].map(names)).to_dict("records"),
        "shared": count_sharing(gains).to_dict("records"),
        "meta": config,
    }


def _names(data: pd.DataFrame) -> dict[str, str]:
    """Return the data sets' titles: their labels, with the config's name where labels repeat."""
    titles = labels_apart([*data["label"]], [*data["dataset"].str.replace("_", " ")])
    return dict(zip(data["dataset"], titles, strict=True))


def _battles(made: Board, data: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of all battles, and the words of each cell's command."""
    learners, values = numbers(made.frame)
    labels = dict(zip(made.frame["algorithm"], made.frame["label"], strict=True))
    texts = made.frame.set_index(["algorithm", "dataset"])[["chosen", "curve"]]

    def of_data_set(row: Mapping[Hashable, Any]) -> dict[str, Any]:
        name = row["dataset"]
        mine = texts.xs(name, level="dataset").reindex(learners, fill_value="")
        return {
            "name": name,
            **{fact: row[fact] for fact in ("title", "kind", "rows", "tasks", "features")},
            "seen": row.get("seen", ""),
            "words": made.plan.overrides(name),
            "values": [[short(v) for v in of_learner] for of_learner in values[name].tolist()],
            "chosen": list(mine["chosen"]),
            "curves": list(mine["curve"]),
        }

    return {
        "lower": METRICS[made.plan.config.metric].lower_is_better,
        "region": REGION,
        "learners": [{"name": name, "label": labels[name]} for name in learners],
        "grids": {name: made.plan.grid_words(name) for name in learners},
        "data": [of_data_set(row) for row in data.to_dict("records") if row["dataset"] in values],
    }
