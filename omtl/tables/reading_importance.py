"""How much each open choice matters: its share of the variance of the distance to the paper.

Made from the record of a search of readings alone. For each column of the table, an additive
model of the choices is fitted to the distances of all readings that were tried; what it explains
is shared out among the choices by the Shapley value, as the trials of a search are not a balanced
design (Lindeman, Merenda and Gold 1980; Grömping 2007). The rest are interactions of choices.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import comb

import numpy as np
import pandas as pd

from omtl.experiment.readings import Question
from omtl.tables.verdict import JUDGED
from omtl.util.result_files import markdown_table

REST = "(choices acting together)"
"""The row of what an additive model leaves unexplained."""

DEPENDENT = 1e-9
"""What others leave of an indicator, of 1, up to which it is their linear combination."""

RANKED = 5
"""How many readings of a column the page names, best first."""


def _explained(indicators: Sequence[np.ndarray], distances: np.ndarray) -> np.ndarray:
    """Return the share of the variance that an additive model of each set of answers explains.

    Set number k, of 2^n, consists of the indicators i whose bit i of k is set. The sets share
    their work: each doubling takes one more question out of all Gram matrices so far.
    """
    columns = np.hstack([*indicators, distances[:, np.newaxis]])
    columns = columns - columns.mean(axis=0)
    columns /= np.linalg.norm(columns, axis=0)
    left = (columns.T @ columns)[np.newaxis]
    for indicator in indicators:
        without = left
        for _ in range(indicator.shape[1]):
            left = _eliminated(left)
        left = np.concatenate([without[:, indicator.shape[1] :, indicator.shape[1] :], left])
    return 1.0 - left[:, 0, 0]


def _eliminated(gram: np.ndarray) -> np.ndarray:
    """Return Gram matrices (sets, c, c) of what the first column leaves of the others."""
    pivot, row = gram[:, :1, :1], gram[:, :1, 1:]
    independent = pivot > DEPENDENT
    slope = np.divide(row, pivot, out=np.zeros_like(row), where=independent)
    return gram[:, 1:, 1:] - row.transpose(0, 2, 1) * slope


def shares(record: pd.DataFrame, column: str, asked: Mapping[str, Question]) -> dict[str, float]:
    """Return each question's share of the variance of a column's distances, and what is left over.

    The Shapley values of the share that is explained, so they add up to it. Cost: a model for each
    set of questions that the trials answer differently.
    """
    trials = record[record["column"] == column]
    distances = trials["distance"].astype(float).to_numpy()
    if distances.std() == 0.0:
        return {}
    given = [json.loads(text) for text in trials["answers"]]
    answers = {
        name: [str(each.get(name, question.literal)) for each in given]
        for name, question in asked.items()
        if column in question.columns
    }
    indicators = {
        name: pd.get_dummies(pd.Series(each), drop_first=True, dtype=float).to_numpy()
        for name, each in answers.items()
        if len(set(each)) > 1
    }
    n = len(indicators)
    explained = _explained(list(indicators.values()), distances)
    sets = np.arange(2**n)
    sizes = np.sum([sets >> bit & 1 for bit in range(n)], axis=0)
    weights = np.array([1.0 / (n * comb(n - 1, size)) for size in range(n)])
    found = {}
    for bit, name in enumerate(indicators):
        others = sets[sets >> bit & 1 == 0]
        gains = explained[others | 1 << bit] - explained[others]
        found[name] = float(weights[sizes[others]] @ gains)
    return {**found, REST: float(1.0 - explained[-1])}


def shares_of_variance(record: pd.DataFrame, asked: Mapping[str, Question]) -> pd.DataFrame:
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
    asked: Mapping[str, Question],
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
    percent = (100.0 * parts).round().map(lambda share: "" if np.isnan(share) else f"{int(share)}%")
    lines += markdown_table(["choice", *parts.columns], percent.reset_index().to_numpy().tolist())
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


def _choice(name: str, question: Question, chosen: Mapping[str, Mapping[str, str]]) -> str:
    """Return a question with what the paper says, and the answers that there are and are taken."""
    literal = question.literal
    taken = [
        f"{reading.replace('_', ' ')}: `{answers.get(name, literal)}`"
        for reading, answers in chosen.items()
    ]
    offered = [
        f"`{option}`" + (f" ({label})" if (label := question.support.get(option)) else "")
        for option in question.options
    ]
    found = f" Found by looking: {question.post_hoc.strip()}." if question.post_hoc else ""
    return (
        f"**{name}.** {question.asks} The paper: {question.says}. Literal: `{literal}`; "
        f"{'; '.join(taken)}; of {', '.join(offered)}.{found}"
    )
