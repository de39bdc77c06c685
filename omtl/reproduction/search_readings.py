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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
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
from omtl.tables.play import play_cells
from omtl.tables.proofread import MEAN, suspects
from omtl.tables.published_results import folder_for
from omtl.tables.reading_importance import page
from omtl.tables.request import ParallelOptions, Request, request_for
from omtl.tables.scoring import scored
from omtl.tables.verdict import JUDGED, OURS, TIMING, shares_of_scale
from omtl.util.errors import UserError
from omtl.util.files import write_whole
from omtl.util.paths import CHECKOUT, CONF, EXPERIMENTS, RESULTS
from omtl.util.providers import extension_of
from omtl.util.result_files import as_csv, read_csv, write_all
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

    def row(self) -> dict[str, Any]:
        """Return the trial as a row of the record."""
        return {
            "column": self.column,
            "answers": json.dumps(self.answers, sort_keys=True),
            "distance": f"{self.distances.mean():.5f}",
            "standard_error": f"{standard_error(self.distances):.5f}",
            **{verdict: self.verdicts[verdict] for verdict in JUDGED},
        }


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
    tried = list(trials.tried.values())
    cells = [
        (number, *place, f"{mean:.6g}")
        for number, trial in enumerate(tried)
        for *place, mean in trial.cells
    ]
    return SearchResult(
        found,
        pd.DataFrame([trial.row() for trial in tried]),
        pd.DataFrame(cells, columns=["trial", "algorithm", "task", "metric", "ours"]),
    )


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


def answers_of_other_tables(paper: str, table: str, reading: str) -> dict[str, str]:
    """Return the answers of a paper's reading that cannot affect a table's columns."""
    columns = {column.published for column in describe("table", table).columns}
    if f"{paper}/{reading}" not in options("reading"):
        return {}
    asked = questions(paper)
    return {
        name: answer
        for name, answer in Reading.named(f"{paper}/{reading}").answers.items()
        if columns.isdisjoint(asked[name].columns)
    }


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
    """Write a search's answers as the paper's readings, and what is told of its record."""
    paper, folder = describe("table", table).paper, readings_folder(table)
    paths = []
    for reading, answers in found.answers.items():
        path = folder / f"{reading}.yaml"
        every = {**answers, **answers_of_other_tables(paper, table, reading)}
        config = {"name": reading, "paper": paper, "answers": every}
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
