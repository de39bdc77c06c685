"""Searching the readings of a table: which answers come closest to the published numbers.

From the literal answers, the search goes through the questions, gives each the answer that brings
the columns that it can move closest, and begins again until a whole round changes nothing. There is
a search for each standard reading, among the answers that it may take. Every reading of a column
that was tried is recorded, with our number for each cell. Units are stored, so a search that was
stopped goes on, and an answer that changes one learner computes only that learner.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from omtl.experiment.config import options, paper_file, paper_files
from omtl.experiment.descriptions import describe
from omtl.experiment.readings import (
    BLIND,
    LITERAL,
    READINGS,
    SEARCHED,
    Question,
    Reading,
    questions,
)
from omtl.experiment.specs import SearchSpec
from omtl.tables.cells import PLACE, description_of, place_of, planned
from omtl.tables.placebo_test import FARTHEST, write_placebo_test
from omtl.tables.proofread import MEAN, suspects
from omtl.tables.published_results import folder_for
from omtl.tables.request import ParallelOptions, Request, request_for
from omtl.tables.scoring import play_cells, scored
from omtl.tables.verdict import JUDGED, OURS, TIMING, shares_of_scale
from omtl.util.errors import UserError
from omtl.util.files import write_whole
from omtl.util.paths import CHECKOUT, CONF, EXPERIMENTS, RESULTS
from omtl.util.providers import extension_of
from omtl.util.result_files import as_csv, markdown_table, read_csv, write_all
from omtl.util.seeds import generator
from omtl.util.user_folder import own_folder

if TYPE_CHECKING:
    from typing import Unpack

SEARCHES = tuple(reading for reading in SEARCHED if reading in READINGS)
"""The standard readings that are searched for."""

REPEATS = 5
"""How many repeats of a table a full search looks at, at least; its seed is 0."""

POST_HOC = ("paper", "question", "asks", "support", "post_hoc")
"""Columns of the list of options that were found by looking at printed numbers."""

CERTAINTY = 2.0
"""An answer is changed only if the distance falls by so many standard errors over the repeats."""


class Trial(NamedTuple):
    """A reading of one column, and how far our numbers are from the published.

    `distances` has one number per repeat: the mean over a column's cells of the distance as a share
    of the metric's scale. `cells` are our means, by algorithm, task and metric.
    """

    column: str
    answers: dict[str, str]
    distances: np.ndarray
    verdicts: Counter
    cells: list[tuple[str, str, str, float]]


class SearchResult(NamedTuple):
    """What a search of a table's readings gave.

    Parameters
    ----------
    answers : dict
        The answers that are not literal, by standard reading.
    record : DataFrame
        A row for each trial: a reading of a column.
    cells : DataFrame
        Our number for each cell of each trial, which is named by its row of the record.
    """

    answers: dict[str, dict[str, str]]
    record: pd.DataFrame
    cells: pd.DataFrame


def search(
    table: str,
    request: Request,
    report: Callable[[str], None],
    draws: int = 0,
    wanted: Iterable[str] = SEARCHES,
) -> SearchResult:
    """Return the answers that bring a table closest, and the record of all trials.

    Parameters
    ----------
    table : str
        The table's id.
    request : Request
        Which repeats are looked at. Its reading is the one that the search begins from; of that
        reading's answers, those that may not be taken are literal.
    report : callable
        Called with a line of text on each trial.
    draws : int
        How many readings, drawn at random, are tried besides: they change nothing in the answers,
        but tell how much each choice matters away from the path of the search.
    wanted : iterable of str
        The standard readings that are searched for.
    """
    description = describe("table", table)
    begin = Reading.of(description.paper, request.reading).answers
    # Stand-in data are not to be brought close to what other data gave.
    columns = [column.published for column in description.columns if column.kind != "substitute"]
    asked = {
        name: replace(question, columns=tuple(moved))
        for name, question in questions(description.paper).items()
        if (moved := [column for column in question.columns if column in columns])
    }
    trials = _Trials(table, asked, request, report)
    for column in columns:
        trials.attempt(column, {})
    found = {name: trials.descend(begin, name) for name in wanted}
    rng = generator(request.seed, of="readings", table=table)
    for _ in range(draws):
        drawn = {name: str(rng.choice(list(q.options))) for name, q in asked.items()}
        for column in columns:
            trials.attempt(column, drawn)
    record, cells = [], []
    for number, trial in enumerate(trials.tried.values()):
        record.append(
            {
                "column": trial.column,
                "answers": json.dumps(trial.answers, sort_keys=True),
                "distance": f"{trial.distances.mean():.5f}",
                "standard_error": f"{standard_error(trial.distances):.5f}",
                **{verdict: trial.verdicts[verdict] for verdict in JUDGED},
            }
        )
        cells += [(number, *place, f"{mean:.6g}") for *place, mean in trial.cells]
    columns = ["trial", "algorithm", "task", "metric", "ours"]
    return SearchResult(found, pd.DataFrame(record), pd.DataFrame(cells, columns=columns))


@dataclass(frozen=True)
class _Trials:
    """The trials of a search: each reading of a column is tried once.

    `asked` are the questions by name, with the columns of the table that they can move.
    """

    table: str
    asked: dict[str, Question]
    request: Request
    report: Callable[[str], None]
    tried: dict[tuple[str, str], Trial] = field(default_factory=dict)

    def attempt(self, column: str, answers: Mapping[str, str]) -> Trial:
        """Return the trial of a column, under the answers that are not literal and can move it."""
        relevant = {
            q: a for q, a in self._departures(answers).items() if column in self.asked[q].columns
        }
        key = column, json.dumps(relevant, sort_keys=True)
        if key not in self.tried:
            self.tried[key] = shown = _try(self.table, column, relevant, self.request)
            self.report(f"{column}: {shown.distances.mean():.4f} {dict(shown.verdicts)} {relevant}")
        return self.tried[key]

    def descend(self, begin: Mapping[str, Any], reading: str) -> dict[str, str]:
        """Return the answers that the search for a reading ends with, of those it may take."""
        given = {str(q): str(a) for q, a in begin.items()}
        offered = {name: question.offered(reading) for name, question in self.asked.items()}
        answers = {
            name: given[name] if given.get(name) in offered[name] else question.literal
            for name, question in self.asked.items()
        }
        changed = True
        while changed:
            changed = False
            for name in self.asked:
                here = self._distances(name, answers)
                gains = {
                    option: here - self._distances(name, answers | {name: option})
                    for option in offered[name]
                }
                best = max(gains, key=lambda option: gains[option].mean())
                if gains[best].mean() > CERTAINTY * standard_error(gains[best]):
                    answers[name] = best
                    changed = True
        return self._departures(answers)

    def _distances(self, name: str, answers: Mapping[str, str]) -> np.ndarray:
        """Return the distances under some answers, over the columns that a question can move."""
        tried = [self.attempt(column, answers) for column in self.asked[name].columns]
        return np.mean([trial.distances for trial in tried], axis=0)

    def _departures(self, answers: Mapping[str, str]) -> dict[str, str]:
        """Return the answers that are not the literal ones."""
        return {q: a for q, a in answers.items() if a != self.asked[q].literal}


def search_readings(
    table: str,
    draws: int,
    begin: str | None,
    only: str | None,
    keep: bool,
    repeats: int | None,
    seed: int,
    **how: Unpack[ParallelOptions],
) -> list[Path]:
    """Search a paper's open questions; write the record, and the best answers as readings.

    Parameters
    ----------
    table : str
        Its id.
    draws : int
        Number of random readings to try in addition.
    begin : str or None
        The reading to start from; None for the literal one.
    only : str or None
        The only reading to search for.
    keep : bool
        Whether to keep the answers of a search with few repeats or another seed.
    repeats : int or None
        Per trial; None for `REPEATS`.
    seed : int
        Seed of the random readings.
    **how
        How to compute (`ParallelOptions`).

    Raises
    ------
    UserError
        If there is no such reading, or the answers cannot be kept.
    """
    n_repeats = repeats or REPEATS
    full = keep or (n_repeats >= REPEATS and seed == 0)
    if full:
        readings_folder(table)  # refused before anything is played
    request = request_for(reading=begin or LITERAL, repeats=n_repeats, seed=seed, **how)
    found = search(table, request, print, draws, [only] if only else SEARCHES)
    for reading, answers in found.answers.items():
        print(f"{reading}: {answers}")
    paths = write_search_record(table, found, full)
    if full:
        return [*paths, *write_answers(table, found, seed)]
    print(
        "the paper's readings stay unchanged: "
        f"only a search with {REPEATS} repeats and seed 0 changes them"
    )
    return paths


def write_search_record(table: str, found: SearchResult, full: bool) -> list[Path]:
    """Write the record of a search; one that is not full goes to ``results/partial``.

    That of a search for the blind reading alone is a file of its own.
    """
    folder = folder_for(full, "readings", apart=True)
    stem = f"{table}.{BLIND}" if [*found.answers] == [BLIND] else table
    parts = {f"{stem}.csv": as_csv(found.record), f"{stem}.cells.csv": as_csv(found.cells)}
    return write_all(folder, parts)


def readings_folder(table: str) -> Path:
    """Return the folder of a paper's readings: in ``conf/``, or in your own folder for your paper.

    Raises
    ------
    UserError
        If it is in an installed package, whose results are of its readings.
    """
    paper, mine = describe("table", table).paper, own_folder()
    place = paper_file(paper, "").resolve()
    is_of_extension = extension_of(place) is not None
    if mine is not None and not is_of_extension and not place.is_relative_to(EXPERIMENTS):
        return mine / "reading" / paper
    if CHECKOUT is None or is_of_extension:
        raise UserError(
            f"the readings of {paper} are part of an installed package; search with fewer than "
            f"{REPEATS} repeats, which changes no reading, or in a checkout"
        )
    return CONF / "reading" / paper


def write_answers(table: str, found: SearchResult, seed: int) -> list[Path]:
    """Write a search's answers as the paper's readings, and what is told of its record.

    Answers of the readings that cannot affect the table's columns stay as they are.
    """
    of, folder, paths = describe("table", table), readings_folder(table), list[Path]()
    paper, columns = of.paper, {column.published for column in of.columns}
    for reading, answers in found.answers.items():
        path, own = folder / f"{reading}.yaml", f"{paper}/{reading}"
        before = Reading.named(own).answers if own in options("reading") else {}
        elsewhere = {
            name: answer
            for name, answer in before.items()
            if columns.isdisjoint(questions(paper)[name].columns)
        }
        config = {"name": reading, "paper": paper, "answers": {**answers, **elsewhere}}
        head = (
            "# @package reading\n"
            "# Found by `omtl audit readings` on the paper's tables, among the literal answers and "
            f"those with support\n# {', '.join(SEARCHED[reading])}. Trials: "
            f"results/readings/{paper}-*.csv; post hoc options:\n# results/readings/post_hoc.csv.\n"
        )
        write_whole(path, head + yaml.safe_dump(config, sort_keys=False))
        paths.append(path)
    if [*found.answers] == [BLIND]:
        return paths
    return [*paths, *write_page(table), write_placebo_test(table, seed)]


def write_page(table: str) -> list[Path]:
    """Write the page of a recorded search, and the list of post hoc options; return their paths.

    Raises
    ------
    UserError
        If no search of the table is recorded.
    """
    paper = describe("table", table).paper
    csv = RESULTS / "readings" / f"{table}.csv"
    if not csv.exists():
        raise UserError(f"no search of {table} is recorded; run: omtl audit readings {table}")
    chosen = {reading: Reading.of(paper, reading).answers for reading in SEARCHES}
    text = page(table, read_csv(csv), questions(paper), chosen)
    return write_all(csv.parent, {f"{table}.md": text, "post_hoc.csv": as_csv(post_hoc_options())})


def post_hoc_options() -> pd.DataFrame:
    """Return what was found by looking at printed numbers outside a search, by question."""
    rows = [
        (
            *(path.parent.name, name, question.asks),
            ", ".join(f"{option}: {label}" for option, label in question.support.items()),
            " ".join(question.post_hoc.split()),
        )
        for path in paper_files("readings.yaml")
        for name, question in questions(path.parent.name).items()
        if question.post_hoc
    ]
    return pd.DataFrame(rows, columns=POST_HOC)


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean of one number per repeat; 0 for a single repeat."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


def compared_cells(cells: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the cells of a column that a search compares, with large grids searched.

    They are the paper's judged cells, without rows that take too long (`searched_without`) and
    numbers that may be a slip of the print.
    """
    of = description_of(cells)
    odd = [place_of(one) for one in suspects(of.id) if one["of"] == MEAN]
    is_suspect = pd.MultiIndex.from_frame(cells[PLACE]).isin(odd)
    compared = cells[
        (cells["dataset"] == column)
        & ~cells["kind"].isin([OURS, TIMING])
        & ~cells["algorithm"].isin(of.searched_without)
        & ~is_suspect
    ]
    halving = SearchSpec.named("halving")  # large grids in full would make trials too dear
    searches: Any = [search or halving for search in compared["search"]]
    return compared.assign(search=searches)


def _try(table: str, column: str, answers: dict[str, str], request: Request) -> Trial:
    reading = Reading(name="trial", paper=describe("table", table).paper, answers=answers)
    plan = compared_cells(planned(table, request, reading, plays=1), column)
    cells = scored(plan, request.store, play_cells(plan, request).failed)
    run = cells[cells["n_repeats"] > 0]
    if run.empty:
        raise UserError(f"{table}: no cell of {column} could be run: {cells['why'].iat[0]}")
    away = np.stack(list(run["values"])) - run["published_mean"].to_numpy(float)[:, np.newaxis]
    gaps = np.abs(shares_of_scale(away, run["scale"].to_numpy()[:, np.newaxis]))
    distances = np.mean(np.minimum(gaps, FARTHEST), axis=0)
    numbers = run[["algorithm", "task", "metric", "ours_mean"]].itertuples(index=False, name=None)
    return Trial(column, answers, distances, Counter(cells["verdict"]), list(numbers))


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


def page(
    table: str,
    record: pd.DataFrame,
    asked: Mapping[str, Question],
    chosen: Mapping[str, Mapping[str, str]],
) -> str:
    """Return the page on what a table's paper leaves open, in Markdown.

    Of the readings of a column the more cells match or are near the better; of those, the closer
    all of the column's cells are the better, so a reading pays for every cell that it moves away.

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
    found = {column: shares(record, column, asked) for column in dict.fromkeys(record["column"])}
    names = [name for name in (*asked, REST) if any(name in part for part in found.values())]
    parts = pd.DataFrame(found, index=pd.Index(names, name="question"), dtype=float)
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
    best, order = [], ["reproduced", "match", "distance"]
    tried = record.astype({"match": int, "near": int, "distance": float})
    tried = tried.assign(reproduced=tried["match"] + tried["near"])
    tried = tried.sort_values(order, ascending=[False, False, True], kind="stable")
    for column in parts.columns:
        for row in tried[tried["column"] == column].head(RANKED).to_dict("records"):
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
