"""The papers' comparative statements, entries of ``claims.yaml``, judged on our numbers.

A claim is a set of comparisons (`omtl.evidence.comparisons`) of rows of a table or of lines of a
figure. It holds where all of them do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED, compare_pairs
from omtl.experiment.config import paper_file
from omtl.experiment.descriptions import Claim, Part, describe, descriptions, published, row_labels
from omtl.experiment.readings import CLOSEST
from omtl.experiment.schema import check_names, read_file, refuse_twice
from omtl.measures.metrics import METRICS
from omtl.tables.cells import PLACE, each_cell, places_in
from omtl.util.errors import UserError

if TYPE_CHECKING:
    from omtl.figures.numbers import ShownPanel

TRUE, FALSE, NO_NUMBERS = "true", "false", "no numbers"
"""Whether a claim is true of the paper's printed numbers; figures have none."""

ROUNDING = 1e-9
"""Tolerance for a difference of printed numbers that just reaches a margin."""

COLUMNS = ("paper", "claim", "place", "says", "in_print", "reading", "outcome")
"""Columns of ``<table or figure>.claims.csv``; its comparisons are in ``results/statistics``."""

Numbers: TypeAlias = "pd.DataFrame | Sequence[ShownPanel]"
"""What decides claims: the cells of a table with our numbers, or the panels of a figure."""

Values = Mapping[tuple[Any, ...], np.ndarray]
"""The numbers of the repeats: of cells by data set, algorithm, task and metric; of points by panel,
title of the axes, x and line."""

SIDES = {"lower": "below", "higher": "above", "ratio": "over"}
"""What a part of a claim says of its rows and what they are compared with."""

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
    return read_file(tuple[Claim, ...], path, _checked_claims) if path.exists() else ()


def _checked_claims(claims: tuple[Claim, ...], path: Path) -> tuple[Claim, ...]:
    refuse_twice(f"{path}, claim", [claim.id for claim in claims])
    for claim in claims:
        check_claim(claim, f"{path}, {claim.id}")
    return claims


def decided_by(paper: str, name: str) -> list[Claim]:
    """Return a paper's claims that a table or figure decides."""
    return [one for one in claims_of(paper) if one.decided_by == name]


def check_claim(claim: Claim, where: str) -> None:
    """Refuse a claim that compares nothing, or names what its table or figure lacks.

    Raises
    ------
    UserError
        With the claim's place, `where`, and the closest known name.
    """
    if bool(claim.table) == bool(claim.figure):
        raise UserError(f"{where}: a claim is decided by either a table or a figure")
    needed = ("panel", "at", "than") if claim.figure else ("dataset", "than")
    if not claim.all or not all(getattr(part, key) for part in claim.all for key in needed):
        raise UserError(f"{where}: all needs at least one part, each with {', '.join(needed)}")
    kind = "figure" if claim.figure else "table"
    check_names(where, (kind, [claim.decided_by], descriptions(kind)))
    if claim.figure:
        panels = [panel.label for panel in describe("figure", claim.figure).panels]
        check_names(where, ("panel", [part.panel for part in claim.all], panels))
        return
    table, printed = describe("table", claim.table), pd.DataFrame(published(claim.table))
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
        ("task", [task for part in claim.all for task in part.tasks], printed["task"].unique()),
        ("metric of the table", metrics, printed["metric"].unique()),
    )


def judge_claims(claims: Iterable[Claim], numbers: Numbers) -> pd.DataFrame:
    """Return the comparisons of claims (`omtl.evidence.comparisons.compare_pairs`).

    Each is named in the columns ``claim`` and ``comparison``, the statement as text, and
    ``repeats_are_of``: if its repeats share one data set, its interval is conditional on it.

    A part of a claim compares each of its rows `lower`, `higher` (by at least `by`) or `ratio`
    (`at_least`, `at_most`) with each of `than`.

    Of a table, on its `dataset`, for each of its `tasks`. A row is named by its algorithm.
    ``<algorithm> on <data set>`` is the same task's row of another data set; ``<one> / <other>``,
    there or elsewhere, is how much of the other's number the one's is; and a name of the claim's
    `either` is the row of those algorithms whose mean is better in the place.

    Of a figure, lines in its `panel`, in those of its axes whose titles are in `parts` (all of them
    by default), at each x of `at`; ``<line> at <x>`` is a line of the same axes at another x.

    Parameters
    ----------
    claims : iterable of Claim
    numbers : DataFrame or sequence of ShownPanel
        The cells of the table (`omtl.tables.scoring.played`), or the panels of the figure, that
        decides the claims.

    Raises
    ------
    UserError
        If a panel that misses nothing has no axes, line or x that a claim names.
    """
    claims = [*claims]
    if isinstance(numbers, pd.DataFrame):
        values = dict(zip(places_in(numbers), numbers["values"], strict=True))
        of = zip(numbers["dataset"], numbers["experiment"], strict=True)
        over = {dataset: experiment.repeats_are_of for dataset, experiment in of}
        return compare_pairs(_pairs(claims, values, over))
    for panel in numbers:
        for claim in () if panel.missing else claims:
            _check_lines(claim, panel)
    points = {
        (panel.label, axes.title, float(x), line.label): line.values[:, i]
        for panel in numbers
        for axes in panel.axes
        for line in axes.lines
        if line.values.size
        for i, x in enumerate(line.x)
    }
    return compare_pairs(_pairs(claims, points, {one.label: one.repeats_are_of for one in numbers}))


def _check_lines(claim: Claim, shown: ShownPanel) -> None:
    """Refuse a claim that names axes, a line or an x that a panel has not."""
    parts = [part for part in claim.all if part.panel == shown.label]
    named = [name.partition(" at ") for part in parts for name in (*part.compared, *part.than)]
    lines = [line for line, *_ in named]
    places = [f"{x:g}" for part in parts for x in part.at]
    places += [elsewhere for *_, elsewhere in named if elsewhere]
    known = sorted({float(x) for axes in shown.axes for line in axes.lines for x in line.x})
    check_names(
        f"claim {claim.id}, panel {shown.label}",
        ("part", [title for part in parts for title in part.parts], [a.title for a in shown.axes]),
        ("line", lines, [line.label for axes in shown.axes for line in axes.lines]),
        ("x", places, [f"{x:g}" for x in known]),
    )


def _pairs(
    claims: Iterable[Claim], values: Values, over: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield what claims compare, given what the repeats of data sets and panels are of."""
    for claim, part in ((one, part) for one in claims for part in one.all):
        places = _places(claim, part, values)
        for (place, named), one, other in product(places, part.compared, part.than):
            yield {
                "claim": claim.id,
                "comparison": statement(place, one, other, part),
                "repeats_are_of": over.get(part.dataset or part.panel, ""),
                "bounds": part.bounds,
                "is_ratio": bool(part.ratio),
                "values": named(one),
                "others": named(other),
            }


def statement(place: str, one: str, other: str, part: Part) -> str:
    """Return as text that a part of a claim says that one is below, above or so much of another."""
    least, most = part.bounds
    if part.ratio:
        return f"{place}: {one} / {other} in [{least:g}, {most:g}]"
    sign, by = ("<", -most) if least == -np.inf else (">", least)
    return f"{place}: {one} {sign} {other}" + (f" by {by:g}" if by else "")


def predicate(claim: Claim) -> str:
    """Return a claim's predicate in words; parts that differ only in place become one."""

    def each(names: Sequence[str]) -> str:
        told = [
            f"{name} (the better of {', '.join(claim.either[name])})"
            if name in claim.either
            else name
            for name in names
        ]
        return f"each of {', '.join(told)}" if len(told) > 1 else told[0]

    places: dict[str, list[str]] = {}
    for part in claim.all:
        limits = [f"by {part.by:g}"] if part.by else []
        limits += [f"at least {part.at_least:g}"] if part.at_least else []
        limits += [f"at most {part.at_most:g}"] if part.at_most < np.inf else []
        metric = (part.metric or claim.metric) if claim.table else ""
        what = [metric, each(part.compared), SIDES[part.side], each(part.than)]
        if part.panel:
            where = ", ".join([f"panel {part.panel}", *part.parts])
            place = f"{where} at {', '.join(map(str, part.at))}"
        else:
            place = " ".join([part.dataset, ", ".join(part.tasks)]).strip()
        told = " ".join(filter(None, [*what, " and ".join(limits)]))
        places.setdefault(told, []).append(place)
    return "; ".join(f"{what}: on {', '.join(where)}" for what, where in places.items())


def _places(
    claim: Claim, part: Part, values: Values
) -> Iterator[tuple[str, Callable[[str], np.ndarray]]]:
    """Yield the places of a part: what each is called, and the numbers there of what is named."""
    if part.panel:
        titles = dict.fromkeys(title for panel, title, *_ in values if panel == part.panel)
        for title, x in product(part.parts or titles or [""], part.at):
            named = f"{title} at {x:g}" if title else f"({part.panel}) at {x:g}"
            yield named, partial(_of_line, values, (part.panel, title), x)
    else:
        for task in part.tasks or ["all"]:
            named = part.dataset if task == "all" else f"{part.dataset} {task}"
            yield named, partial(_of_rows, values, claim, part, task)


def _of_line(values: Values, axes: tuple[str, str], x: float, name: str) -> np.ndarray:
    """Return the numbers of a line of some axes, at an x unless its name has another."""
    line, _, elsewhere = name.partition(" at ")
    return values.get((*axes, float(elsewhere or x), line), NOTHING)


def _of_rows(values: Values, claim: Claim, part: Part, task: str, name: str) -> np.ndarray:
    """Return the numbers of a row on a part's data set, or how much of another's they are."""
    metric, (rows, _, elsewhere) = part.metric or claim.metric, name.partition(" on ")
    sign, found = METRICS[metric].sign, []
    for row in rows.split(" / "):
        forms = claim.either.get(row, [row])
        keys = [(elsewhere or part.dataset, form, task, metric) for form in forms]
        each = [values.get(key, NOTHING) for key in keys]
        if not all(one.size for one in each):
            return NOTHING
        found.append(min(each, key=lambda one: sign * float(one.mean())))
    n = min(one.size for one in found)  # some rows may have been settled after fewer repeats
    return reduce(np.divide, [one[:n] for one in found])


def in_print(claim: Claim) -> tuple[str, str]:
    """Return whether a claim is true of its paper's printed means, and what is not, with numbers.

    A difference of 0 is neither lower nor higher; a margin or ratio may be just reached.
    """
    if not claim.table:
        return NO_NUMBERS, ""
    printed = {
        tuple(row[key] for key in PLACE): np.array([float(row["mean"])])
        for row in published(claim.table)
    }
    untrue, found = [], compare_pairs(_pairs([claim], printed, {}))
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


def claim_outcomes(paper: str, name: str, reading: str, numbers: Numbers) -> pd.DataFrame:
    """Return a row for each claim that a table or figure decides, with its outcome (`COLUMNS`)."""
    claims = decided_by(paper, name)
    judged = judge_claims(claims, numbers)
    rows = [
        {
            "paper": paper,
            "claim": claim.id,
            "place": claim.place,
            "says": claim.words,
            "in_print": in_print(claim)[0],
            "reading": reading,
            "outcome": outcome_of(judged["outcome"][judged["claim"] == claim.id]),
        }
        for claim in claims
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def why_it_fails(claim: Claim, reading: str, outcome: str) -> str:
    """Return why a claim fails in our numbers as published; empty elsewhere."""
    return " ".join(claim.why.split()) if (reading, outcome) == (CLOSEST, FAILS) else ""


def in_sentences(outcomes: pd.DataFrame) -> list[str]:
    """Return what came of each claim (`claim_outcomes`), with the reason where it fails."""
    said = []
    claims = {(paper, one.id): one for paper in {*outcomes["paper"]} for one in claims_of(paper)}
    for row in outcomes.to_dict("records"):
        why = why_it_fails(claims[row["paper"], row["claim"]], row["reading"], row["outcome"])
        said.append(
            f"claim in print {row['in_print']}, ours {row['outcome']}: {row['says']} "
            f"({row['place']})" + (f" Why: {why}" if why else "")
        )
    return said
