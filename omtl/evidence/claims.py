"""The papers' comparative statements, entries of ``claims.yaml``, judged on our numbers.

A claim is a set of comparisons (`omtl.evidence.comparisons`) of rows of a table or of lines of a
figure. It holds where all of them do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED, compare_pairs
from omtl.experiment.config import paper_file
from omtl.experiment.descriptions import CLOSEST, FILES, Claim, Part
from omtl.experiment.schema import check_names, read_file
from omtl.measures.metrics import METRICS
from omtl.tables.cells import each_cell, places_in
from omtl.tables.plan import describe, descriptions, published, row_labels

if TYPE_CHECKING:
    from omtl.figures.numbers import ShownPanel

TRUE, FALSE, NO_NUMBERS = "true", "false", "no numbers"
"""Whether a claim is true of the paper's printed numbers; figures have none."""

ROUNDING = 1e-9
"""Tolerance for a difference of printed numbers that just reaches a margin."""

COLUMNS = ("paper", "claim", "place", "says", "in_print", "reading", "outcome")
"""Columns of ``<table or figure>.claims.csv``; its comparisons are in ``results/statistics``."""

Values = Mapping[tuple[Any, ...], np.ndarray]
"""The numbers of the repeats: of cells by data set, algorithm, task and metric; of points by panel,
title of the axes, x and line."""

Place = tuple[str, Callable[[str], np.ndarray]]
"""Where things are compared: what it is called, and the numbers there of what is named."""

NOTHING = np.empty(0)
"""The numbers of something that was not run."""


def claims_of(paper: str) -> tuple[Claim, ...]:
    """Return a paper's claims.

    Raises
    ------
    UserError
        If a key is wrong, or a table has no row or column that is named.
    """
    path = paper_file(paper, "claims.yaml")
    claims: tuple[Claim, ...] = read_file(FILES["claims"], path) if path.exists() else ()
    for claim in claims:
        check_claim(claim, f"{path}, {claim.id}")
    return claims


def check_claim(claim: Claim, where: str) -> None:
    """Refuse a claim that names what its table or figure lacks.

    Raises
    ------
    UserError
        With the claim's place, `where`, and the closest known name.
    """
    if claim.figure:
        check_names(where, ("figure", [claim.figure], descriptions("figure")))
        panels = [panel.label for panel in describe("figure", claim.figure).panels]
        check_names(where, ("panel", [part.panel for part in claim.all], panels))
        return
    check_names(where, ("table", [claim.table], descriptions("table")))
    table, printed = describe("table", claim.table), published(claim.table)
    named = [name for forms in claim.either.values() for name in forms]
    datasets = [part.dataset for part in claim.all]
    for name in (name for part in claim.all for name in (*part.compared, *part.than)):
        row, _, elsewhere = name.partition(" on ")
        named += [one for one in row.split(" / ") if one not in claim.either]
        datasets += [elsewhere] if elsewhere else []
    metrics = [part.metric or claim.metric for part in claim.all]
    check_names(
        where,
        ("algorithm", named, row_labels(table)),
        ("data set", datasets, [column.published for column in table.columns]),
        ("task", [task for part in claim.all for task in part.tasks], _of("task", printed)),
        ("metric of the table", metrics, _of("metric", printed)),
    )


def _of(key: str, rows: Iterable[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))


Numbers: TypeAlias = "pd.DataFrame | Sequence[ShownPanel]"
"""What decides claims: the cells of a table with our numbers, or the panels of a figure."""


def judge_claim(claim: Claim, numbers: Numbers) -> pd.DataFrame:
    """Return the comparisons of a claim (`omtl.evidence.comparisons.compare_pairs`).

    Each is named in the columns ``claim`` and ``comparison``, the statement as text, and
    ``repeats_are_of``: if its repeats share one data set, its interval is conditional on it.

    A part compares each of its rows `lower`, `higher` (by at least `by`) or `ratio` (`at_least`,
    `at_most`) with each of `than`.

    Of a table, on its `dataset`, for each of its `tasks`. A row is named by its algorithm.
    ``<algorithm> on <data set>`` is the same task's row of another data set; ``<one> / <other>``,
    there or elsewhere, is how much of the other's number the one's is; and a name of the claim's
    `either` is the row of those algorithms whose mean is better in the place.

    Of a figure, lines in its `panel`, in those of its axes whose titles are in `parts` (all of them
    by default), at each x of `at`; ``<line> at <x>`` is a line of the same axes at another x.

    Parameters
    ----------
    claim : Claim
    numbers : DataFrame or sequence of ShownPanel
        The cells of the table (`omtl.tables.scoring.played`), or the panels of the figure, that
        decides the claim.

    Raises
    ------
    UserError
        If a panel that misses nothing has no axes or line that the claim names.
    """
    if isinstance(numbers, pd.DataFrame):
        by_place = dict(zip(places_in(numbers), numbers["values"], strict=True))
        of = zip(numbers["dataset"], numbers["experiment"], strict=True)
        over = {dataset: experiment.repeats_are_of for dataset, experiment in of}
        return _comparisons(claim, by_place, over)
    for panel in numbers:
        if not panel.missing:
            _check_lines(claim, panel)
    values = {
        (panel.label, axes.title, float(x), line.label): line.values[:, i]
        for panel in numbers
        for axes in panel.axes
        for line in axes.lines
        if line.values.size
        for i, x in enumerate(line.x)
    }
    return _comparisons(claim, values, {panel.label: panel.repeats_are_of for panel in numbers})


def _check_lines(claim: Claim, shown: ShownPanel) -> None:
    """Refuse a claim that names axes or a line that a panel has not."""
    parts = [part for part in claim.all if part.panel == shown.label]
    lines = [name.partition(" at ")[0] for part in parts for name in (*part.compared, *part.than)]
    check_names(
        f"claim {claim.id}, panel {shown.label}",
        ("part", [title for part in parts for title in part.parts], [a.title for a in shown.axes]),
        ("line", lines, [line.label for axes in shown.axes for line in axes.lines]),
    )


def _comparisons(claim: Claim, values: Values, over: Mapping[str, str]) -> pd.DataFrame:
    """Return the comparisons of a claim, given what the repeats of data sets and panels are of."""
    pairs = []
    for part in claim.all:
        places = _in_panel(part, values) if part.panel else _on_data_set(claim, part, values)
        for (place, named), one, other in product(places, part.compared, part.than):
            pairs.append(
                {
                    "claim": claim.id,
                    "comparison": statement(place, one, other, part),
                    "repeats_are_of": over.get(part.dataset or part.panel, ""),
                    "bounds": part.bounds,
                    "is_ratio": bool(part.ratio),
                    "values": named(one),
                    "others": named(other),
                }
            )
    return compare_pairs(pairs)


def statement(place: str, one: str, other: str, part: Part) -> str:
    """Return as text that a part of a claim says that one is below, above or so much of another."""
    least, most = part.bounds
    if part.ratio:
        return f"{place}: {one} / {other} in [{least:g}, {most:g}]"
    sign, by = ("<", -most) if least == -np.inf else (">", least)
    return f"{place}: {one} {sign} {other}" + (f" by {by:g}" if by else "")


def _on_data_set(claim: Claim, part: Part, values: Values) -> Iterator[Place]:
    """Yield the places of a part that compares rows of a table."""
    metric, dataset = part.metric or claim.metric, part.dataset
    sign = METRICS[metric].sign

    def best(row: str, on: str, task: str) -> np.ndarray:
        forms = claim.either.get(row, [row])
        each = [values.get((on, form, task, metric), NOTHING) for form in forms]
        if not all(one.size for one in each):
            return NOTHING
        return min(each, key=lambda one: sign * float(one.mean()))

    for task in part.tasks or ["all"]:

        def named(name: str, task: str = task) -> np.ndarray:
            rows, _, elsewhere = name.partition(" on ")
            found = [best(row, elsewhere or dataset, task) for row in rows.split(" / ")]
            if not all(one.size for one in found):
                return NOTHING
            return found[0] if len(found) == 1 else found[0] / found[1]

        yield dataset if task == "all" else f"{dataset} {task}", named


def _in_panel(part: Part, values: Values) -> Iterator[Place]:
    """Yield the places of a part that compares lines of a figure."""
    panel = part.panel
    titles = list(dict.fromkeys(title for label, title, *_ in values if label == panel))
    for title, x in product(part.parts or titles or [""], part.at):

        def named(name: str, title: str = title, x: float = x) -> np.ndarray:
            line, _, elsewhere = name.partition(" at ")
            return values.get((panel, title, float(elsewhere or x), line), NOTHING)

        yield f"{title} at {x:g}" if title else f"({panel}) at {x:g}", named


def in_print(claim: Claim) -> tuple[str, str]:
    """Return whether a claim is true of its paper's printed means, and what is not, with numbers.

    A difference of 0 is neither lower nor higher; a margin or ratio may be just reached.
    """
    if not claim.table:
        return NO_NUMBERS, ""
    printed = {
        tuple(row[key] for key in ("dataset", "algorithm", "task", "metric")): np.array(
            [float(row["mean"])]
        )
        for row in published(claim.table)
    }
    untrue, found = [], _comparisons(claim, printed, {})
    for one in each_cell(found[found["n_repeats"] > 0]):
        (mine,), (other,) = one.values, one.others
        is_so = mine / other if one.is_ratio else mine - other
        least, most = one.bounds[0] and one.bounds[0] - ROUNDING, one.bounds[1]
        if not least < is_so < (most and most + ROUNDING):
            untrue.append(f"{one.comparison}: {mine:g} and {other:g}")
    if untrue:
        return FALSE, "; ".join(untrue)
    return TRUE if found["n_repeats"].all() else NO_NUMBERS, ""


def stand_ins(claim: Claim) -> list[str]:
    """Return the stand-in data that a claim is decided on; empty if all are the paper's."""
    if claim.figure:
        panels = {panel.label: panel for panel in describe("figure", claim.figure).panels}
        return sorted({panels[p.panel].title for p in claim.all if panels[p.panel].stand_in})
    kinds = {column.published: column.kind for column in describe("table", claim.table).columns}
    return sorted({p.dataset for p in claim.all if kinds.get(p.dataset) == "substitute"})


def outcome_of(outcomes: Iterable[str]) -> str:
    """Return a claim's outcome: it fails if any of its comparisons fails, and holds if all hold."""
    found = set(outcomes)
    return next((one for one in (FAILS, UNDECIDED) if one in found), HOLDS)


def decided_by(paper: str, name: str) -> list[Claim]:
    """Return a paper's claims that a table or figure decides."""
    return [one for one in claims_of(paper) if one.decided_by == name]


def judge_claims(paper: str, name: str, numbers: Numbers) -> pd.DataFrame:
    """Return the comparisons of all claims that a table or figure decides."""
    found = [judge_claim(claim, numbers) for claim in decided_by(paper, name)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def why_it_fails(claim: Claim, reading: str, outcome: str) -> str:
    """Return why a claim fails in our numbers as published; empty elsewhere."""
    return " ".join(claim.why.split()) if (reading, outcome) == (CLOSEST, FAILS) else ""


def in_sentences(outcomes: pd.DataFrame) -> list[str]:
    """Return what came of each claim (`claim_outcomes`), with the reason where it fails."""
    said = []
    for row in outcomes.to_dict("records"):
        claim = next(one for one in claims_of(row["paper"]) if one.id == row["claim"])
        why = why_it_fails(claim, row["reading"], row["outcome"])
        said.append(
            f"claim in print {row['in_print']}, ours {row['outcome']}: {row['says']} "
            f"({row['place']})" + (f" Why: {why}" if why else "")
        )
    return said


def claim_outcomes(paper: str, name: str, reading: str, numbers: Numbers) -> pd.DataFrame:
    """Return a row for each claim that a table or figure decides, with its outcome (`COLUMNS`)."""
    rows = [
        {
            "paper": paper,
            "claim": claim.id,
            "place": claim.place,
            "says": claim.words,
            "in_print": in_print(claim)[0],
            "reading": reading,
            "outcome": outcome_of(judge_claim(claim, numbers)["outcome"]),
        }
        for claim in decided_by(paper, name)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)
