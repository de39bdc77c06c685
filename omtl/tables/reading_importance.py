"""How much each open choice matters: its share of the variance of the distance to the paper.

Made from the record of a search of readings alone. For each column of the table, an additive
model of the choices is fitted to the distances of all readings that were tried; what it explains
is shared out among the choices by the Shapley value, as the trials of a search are no balanced
design (Lindeman, Merenda and Gold 1980; Grömping 2007). The rest are interactions of choices.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pandas as pd

from omtl.experiment.config import support_of
from omtl.tables.verdict import JUDGED
from omtl.util.result_files import markdown_table

REST = "(choices acting together)"
"""The row of what an additive model leaves unexplained."""

RANKED = 5
"""How many readings of a column the page names, best first."""


def _explained(indicators: Sequence[np.ndarray], distances: np.ndarray) -> float:
    """Return the share of the variance that an additive model of some answers explains."""
    centred = distances - distances.mean()
    total = float(centred @ centred)
    if not indicators or total == 0.0:
        return 0.0
    design = np.hstack([np.ones((centred.size, 1)), *indicators])
    fitted = design @ np.linalg.lstsq(design, centred, rcond=None)[0]
    return float(1.0 - np.sum((centred - fitted) ** 2) / total)


def shares(record: pd.DataFrame, column: str, asked: Mapping[str, Any]) -> dict[str, float]:
    """Return each question's share of the variance of a column's distances, and what is left over.

    The Shapley values of the share that is explained, so they add up to it. Cost: a least-squares
    fit for each set of questions that the trials answer differently.
    """
    trials = record[record["column"] == column]
    distances = trials["distance"].astype(float).to_numpy()
    given = [json.loads(text) for text in trials["answers"]]
    answers = {
        name: [str(each.get(name, question["literal"])) for each in given]
        for name, question in asked.items()
        if column in question["columns"]
    }
    indicators = {
        name: pd.get_dummies(pd.Series(each), drop_first=True, dtype=float).to_numpy()
        for name, each in answers.items()
        if len(set(each)) > 1
    }
    names = tuple(indicators)
    n = len(names)
    explained = {
        subset: _explained([indicators[name] for name in subset], distances)
        for size in range(n + 1)
        for subset in combinations(names, size)
    }
    found = {
        name: sum(
            factorial(len(subset))
            * factorial(n - len(subset) - 1)
            / factorial(n)
            * (explained[tuple(o for o in names if o in subset or o == name)] - explained[subset])
            for subset in explained
            if name not in subset
        )
        for name in names
    }
    return {**found, REST: 1.0 - explained[names]} if distances.std() > 0.0 else {}


def shares_of_variance(record: pd.DataFrame, asked: Mapping[str, Any]) -> pd.DataFrame:
    """Return the share of each question (rows) in each column of a table, NaN where it is none."""
    parts = {column: shares(record, column, asked) for column in dict.fromkeys(record["column"])}
    rows = [name for name in (*asked, REST) if any(name in part for part in parts.values())]
    return pd.DataFrame(parts, index=pd.Index(rows, name="question"), dtype=float)


def ranked(record: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a column's readings, best first.

    The more cells match or are near the better; of those, the closer all of the column's cells are
    the better, so a reading pays for every cell that it moves away.
    """
    rows = record[record["column"] == column].astype({"match": int, "near": int, "distance": float})
    rows = rows.assign(reproduced=rows["match"] + rows["near"])
    order = ["reproduced", "match", "distance"]
    return rows.sort_values(order, ascending=[False, False, True], kind="stable")


def page(
    table: str,
    record: pd.DataFrame,
    asked: Mapping[str, Any],
    chosen: Mapping[str, Mapping[str, str]],
) -> str:
    """Return the page on what a table's paper leaves open, in Markdown.

    Parameters
    ----------
    table : str
        The table's id.
    record : DataFrame
        The record of its search.
    asked : mapping
        The paper's questions.
    chosen : mapping
        The answers that are not the literal ones, by reading.
    """
    parts = shares_of_variance(record, asked)
    lines = [
        f"# {table}: what the paper leaves open, and how much it matters",
        "",
        f"{len(record)} readings of a column were tried. A share is the part of the variance of",
        "the distance between our numbers and the published ones, over the readings tried for a",
        "column, that goes with one choice; what choices do only together is the last row. The",
        "trials are those of a search, most of them near its end, and no balanced design: a choice",
        "that was tried only where others were already made tells its share there.",
        "",
    ]
    rows = zip(parts.index, parts.to_numpy(), strict=True)
    lines += markdown_table(
        ["choice", *parts.columns], ([name, *map(_percent, row)] for name, row in rows)
    )
    for name in parts.index.drop(REST, errors="ignore"):
        lines += ["", _choice(name, asked[name], chosen)]
    lines += ["", "## The readings that reproduce most", ""]
    words = [word for word in JUDGED if word in record]
    best = []
    for column in parts.columns:
        for row in ranked(record, column).head(RANKED).to_dict("records"):
            answers = ", ".join(f"{q}: {a}" for q, a in json.loads(row["answers"]).items())
            distance = f"{row['distance']:.4f} ± {float(row['standard_error']):.4f}"
            best.append([column, *(str(row[word]) for word in words), distance, answers or "–"])
    lines += markdown_table(["column", *words, "distance", "answers that are not literal"], best)
    return "\n".join(lines) + "\n"


def _choice(name: str, question: Mapping[str, Any], chosen: Mapping[str, Mapping[str, str]]) -> str:
    """Return a question with what the paper says, and the answers that there are and are taken."""
    literal = question["literal"]
    taken = [
        f"{reading.replace('_', ' ')}: `{answers.get(name, literal)}`"
        for reading, answers in chosen.items()
    ]
    offered = [
        f"`{option}`" + (f" ({label})" if (label := support_of(question, option)) else "")
        for option in question["options"]
    ]
    found = f" Found by looking: {question['found'].strip()}." if "found" in question else ""
    return (
        f"**{name}.** {question['asks']} The paper: {question['says']}. Literal: `{literal}`; "
        f"{'; '.join(taken)}; of {', '.join(offered)}.{found}"
    )


def _percent(share: float) -> str:
    return "" if np.isnan(share) else f"{100.0 * share:.0f} %"
