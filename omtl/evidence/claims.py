"""Judging a paper's comparative statements on our numbers, each an entry of ``claims.yaml``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import stats

from omtl.experiment.config import choose
from omtl.experiment.papers import paper_file
from omtl.experiment.schema import check_claims
from omtl.figures.numbers import Shown
from omtl.measures.metrics import METRICS
from omtl.tables.plan import describe, label_of, published
from omtl.tables.scoring import Scored
from omtl.util.errors import UserError

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"

TRUE, FALSE, NO_NUMBERS = "true", "false", "no numbers"
"""Whether a claim is true of the paper's own printed numbers; a figure prints none."""

CONFIDENCE = 0.95
"""Level of the interval of a mean difference over shared repeats."""

COLUMNS = ("paper", "claim", "place", "says", "in_print", "reading", "outcome")
"""Columns of ``<table or figure>.claims.csv``; its comparisons are in ``results/statistics``."""


@dataclass(frozen=True)
class Comparison:
    """What a claim says of two learners on a data set, and how sure it is on our numbers.

    `low` and `high` bound the mean over the repeats of the paired difference, or the ratio, that
    `relation` names. `differences` are those of the repeats, of which the mean must be between
    `bounds`; those of a `ratio` are of logarithms, and so are its bounds. Where the repeats are of
    one data set (`repeats_are_of`), the interval is conditional on it: another sample of the same
    kind may move the mean by more.
    """

    relation: str
    outcome: str
    low: float = np.nan
    high: float = np.nan
    differences: np.ndarray = field(default_factory=lambda: np.empty(0), compare=False, repr=False)
    bounds: tuple[float, float] = field(default=(-np.inf, np.inf), compare=False, repr=False)
    ratio: bool = field(default=False, compare=False, repr=False)
    repeats_are_of: str = field(default="", compare=False, repr=False)


def claims_of(paper: str) -> list[dict[str, Any]]:
    """Return a paper's claims.

    Raises
    ------
    UserError
        If a key is wrong, or a table has no row or column that is named.
    """
    path = paper_file(paper, "claims.yaml")
    claims = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []
    check_claims(claims, path)
    for claim in claims:
        if "table" in claim:
            check_names(claim, f"{path}, {claim['id']}")
    return claims


def words_of(claim: Mapping[str, Any]) -> str:
    """Return a claim in one line: the paper's words, with how they are taken, or ours."""
    words = claim.get("quote") or claim["says"]
    if "taken_as" in claim:
        words = f"{words} (Taken as {claim['taken_as']}.)"
    return " ".join(words.split())


def check_names(claim: Mapping[str, Any], where: str) -> None:
    """Refuse a claim that names an algorithm or a data set which its table lacks.

    Raises
    ------
    UserError
        With the claim's place, `where`, and the closest known name.
    """
    table, either = describe("table", claim["table"]), claim.get("either", {})
    rows = [label_of(row) for row in table["rows"] if "group" not in row]
    columns = [column["published"] for column in table["columns"]]
    named = [name for forms in either.values() for name in forms]
    datasets = [part["dataset"] for part in claim["all"]]
    for part in claim["all"]:
        for key in ("lower", "higher", "ratio", "than"):
            for name in part.get(key, []):
                row, _, elsewhere = name.partition(" on ")
                named += [one for one in row.split(" / ") if one not in either]
                datasets += [elsewhere] if elsewhere else []
    try:
        for name in named:
            choose("algorithm", name, rows)
        for name in datasets:
            choose("data set", name, columns)
    except UserError as fault:
        raise UserError(f"{where}: {fault}") from fault


def compare(
    relation: str,
    one: np.ndarray | None,
    other: np.ndarray | None,
    bounds: tuple[float, float],
    ratio: bool,
) -> Comparison:
    """Return whether the mean difference, or ratio, of two cells or points lies between bounds.

    Both have a number for each of the same repeats: the differences are paired. A ratio is the
    geometric mean of those of the repeats.
    """
    if one is None or other is None or not one.size or not other.size:
        return Comparison(relation, UNDECIDED)
    differences, (least, most) = one - other, bounds
    if ratio:
        with np.errstate(divide="ignore"):
            differences, least, most = np.log(one / other), np.log(least), np.log(most)
        low, high = np.exp(_interval(differences))
    else:
        low, high = _interval(differences)
    outcome = UNDECIDED
    if bounds[0] < low and high < bounds[1]:
        outcome = HOLDS
    elif high < bounds[0] or low > bounds[1]:
        outcome = FAILS
    return Comparison(relation, outcome, low, high, differences, (least, most), ratio)


def _interval(difference: np.ndarray) -> tuple[float, float]:
    """Return the interval of the mean of paired differences (Student's t)."""
    mean = float(difference.mean())
    if difference.size < 2:
        return -np.inf, np.inf
    half = stats.t.ppf((1.0 + CONFIDENCE) / 2.0, difference.size - 1) * stats.sem(difference)
    return mean - float(half), mean + float(half)


def _told(part: Mapping[str, Any]) -> tuple[str, str, tuple[float, float]]:
    """Return which rows a part of a claim compares, its sign, and between what bounds they lie."""
    by = float(part.get("by", 0.0))
    if "lower" in part:
        return "lower", "<", (-np.inf, -by)
    if "higher" in part:
        return "higher", ">", (by, np.inf)
    return "ratio", "/", (float(part.get("at_least", 0.0)), float(part.get("at_most", np.inf)))


def judge_claim(claim: Mapping[str, Any], scored: Sequence[Scored]) -> list[Comparison]:
    """Return the outcome of each of a claim's comparisons.

    A part compares each of its rows `lower`, `higher` (by at least `by`) or `ratio` (`at_least`,
    `at_most`) with each of `than`, on its `dataset`, for each of its `tasks`. A row is named by its
    algorithm. ``<algorithm> on <data set>`` is the same task's row of another data set; ``<one> /
    <other>``, there or elsewhere, is how much of the other's number the one's is; and a name of the
    claim's `either` is the row of those algorithms whose mean is better in the place.
    """
    over = {s.cell.dataset: s.cell.experiment.repeats_are_of for s in scored}
    return _judge_rows(claim, ((s.cell.place, s.values) for s in scored), compare, over)


def in_print(claim: Mapping[str, Any]) -> tuple[str, str]:
    """Return whether a claim is true of its paper's printed means, and what is not, with numbers.

    A difference of 0 is neither lower nor higher; a margin or ratio may be just reached.
    """
    if "table" not in claim:
        return NO_NUMBERS, ""
    untrue = []

    def judge(
        relation: str,
        one: np.ndarray | None,
        other: np.ndarray | None,
        bounds: tuple[float, float],
        ratio: bool,
    ) -> Comparison:
        if one is None or other is None:
            return Comparison(relation, UNDECIDED)
        (mine,), (theirs,) = one, other
        found = mine / theirs if ratio else mine - theirs
        least, most = bounds[0] and bounds[0] - ROUNDING, bounds[1] and bounds[1] + ROUNDING
        if least < found < most:
            return Comparison(relation, HOLDS)
        untrue.append(f"{relation}: {mine:g} and {theirs:g}")
        return Comparison(relation, FAILS)

    printed = (
        (tuple(row[key] for key in PLACE), np.array([float(row["mean"])]))
        for row in published(claim["table"])
    )
    outcome = outcome_of(_judge_rows(claim, printed, judge))
    return {HOLDS: TRUE, FAILS: FALSE}.get(outcome, NO_NUMBERS), "; ".join(untrue)


PLACE = ("dataset", "algorithm", "task", "metric")

ROUNDING = 1e-9
"""By so much a difference of printed numbers may miss a margin that it just reaches."""


def _judge_rows(
    claim: Mapping[str, Any],
    numbers: Iterable[tuple[tuple[str, ...], np.ndarray]],
    judge: Callable[..., Comparison],
    over: Mapping[str, str] | None = None,
) -> list[Comparison]:
    """Return the outcome of each of a claim's comparisons of cells, given their numbers."""
    values = dict(numbers)

    def best(rivals: Sequence[np.ndarray], metric: str) -> np.ndarray:
        sign = 1.0 if METRICS[metric].lower_is_better else -1.0
        return min(rivals, key=lambda rival: sign * float(rival.mean()))

    def number(name: str, dataset: str, task: str, metric: str) -> np.ndarray | None:
        row, _, elsewhere = name.partition(" on ")
        found = []
        for algorithm in row.split(" / "):
            forms = claim.get("either", {}).get(algorithm, [algorithm])
            rivals = [
                values.get((elsewhere or dataset, form, task, metric), np.empty(0))
                for form in forms
            ]
            if not all(rival.size for rival in rivals):
                return None
            found.append(best(rivals, metric))
        return found[0] if len(found) == 1 else found[0] / found[1]

    def places(part: Mapping[str, Any]) -> list[Place]:
        metric, dataset = part.get("metric", claim.get("metric", "error")), part["dataset"]
        rows = next(part[rows] for rows in ("lower", "higher", "ratio") if rows in part)
        return [
            (
                dataset if task == "all" else f"{dataset} {task}",
                {name: number(name, dataset, task, metric) for name in (*rows, *part["than"])},
            )
            for task in part.get("tasks", ["all"])
        ]

    return _judged(claim, places, judge, over or {})


def judge_claim_on_figure(claim: Mapping[str, Any], shown: Sequence[Shown]) -> list[Comparison]:
    """Return the outcome of each of a claim's comparisons of lines of a figure.

    A part compares lines, as `judge_claim` does rows, in its `panel`, in those of its axes whose
    titles are in `parts` (all of them by default), at each x of `at`; ``<line> at <x>`` is a line
    of the same axes at another x.
    """
    values = {
        (panel.label, part.title, float(x), line.label): line.values[:, i]
        for panel in shown
        for part in panel.axes
        for line in part.lines
        if line.values.size
        for i, x in enumerate(line.x)
    }
    titles = {panel.label: [part.title for part in panel.axes] for panel in shown}

    def lines_at(panel: str, title: str, x: float) -> dict[str, np.ndarray | None]:
        of_axes = {at: v for at, v in values.items() if at[:2] == (panel, title)}
        elsewhere: dict[str, np.ndarray | None]
        elsewhere = {f"{name} at {its_x:g}": v for (_, _, its_x, name), v in of_axes.items()}
        return elsewhere | {name: v for (_, _, its_x, name), v in of_axes.items() if its_x == x}

    def places(part: Mapping[str, Any]) -> list[Place]:
        panel = part["panel"]
        return [
            (
                f"{title} at {x:g}" if title else f"({panel}) at {x:g}",
                lines_at(panel, title, float(x)),
            )
            for title, x in product(part.get("parts", titles.get(panel, [""])), part["at"])
        ]

    over = {panel.label: panel.repeats_are_of for panel in shown}
    return _judged(claim, places, compare, over)


Place = tuple[str, dict[str, np.ndarray | None]]
"""Where things are compared: what it is called, and by name the numbers of the repeats."""


def _judged(
    claim: Mapping[str, Any],
    places: Callable[[Mapping[str, Any]], list[Place]],
    judge: Callable[..., Comparison],
    over: Mapping[str, str],
) -> list[Comparison]:
    """Return the outcome of each of a claim's comparisons, in each of the places of its parts.

    `over` tells of a part's data set or panel what the repeats are of.
    """
    found = []
    for part in claim["all"]:
        rows, sign, bounds = _told(part)
        for (place, values), one, other in product(places(part), part[rows], part["than"]):
            of, than = values.get(one), values.get(other)
            relation = f"{place}: {one} {sign} {other}"
            if rows == "ratio":
                relation += f" in [{bounds[0]:g}, {bounds[1]:g}]"
            elif "by" in part:
                relation += f" by {part['by']:g}"
            one_of = over.get(part.get("dataset", part.get("panel")), "")
            comparison = judge(relation, of, than, bounds, ratio=rows == "ratio")
            found.append(replace(comparison, repeats_are_of=one_of))
    return found


def outcome_of(comparisons: Sequence[Comparison]) -> str:
    """Return a claim's outcome: it fails with any of its comparisons, and holds with all."""
    outcomes = {comparison.outcome for comparison in comparisons}
    return FAILS if FAILS in outcomes else UNDECIDED if UNDECIDED in outcomes else HOLDS


def ledger(paper: str, table: str, reading: str, scored: Sequence[Scored]) -> pd.DataFrame:
    """Return the rows of the claims ledger that a table's cells decide."""
    return _ledger(paper, reading, "table", table, lambda claim: judge_claim(claim, scored))


def ledger_of_figure(paper: str, figure: str, reading: str, shown: Sequence[Shown]) -> pd.DataFrame:
    """Return the rows of the claims ledger that a figure's lines decide."""
    return _ledger(
        paper, reading, "figure", figure, lambda claim: judge_claim_on_figure(claim, shown)
    )


def _ledger(
    paper: str,
    reading: str,
    kind: str,
    name: str,
    judge: Callable[[Mapping[str, Any]], list[Comparison]],
) -> pd.DataFrame:
    rows = []
    for claim in claims_of(paper):
        if claim.get(kind) == name:
            told = (paper, claim["id"], claim["place"], words_of(claim), in_print(claim)[0])
            rows.append((*told, reading, outcome_of(judge(claim))))
    return pd.DataFrame(rows, columns=COLUMNS)
