"""The board end to end: play missing units, rank, show, write; or rank existing results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from omtl.compute.store import Store
from omtl.evidence.board import (
    DIGITS,
    LEAST_LOSS,
    LOSS,
    SECONDS,
    BoardPlan,
    board_cells,
    data_facts,
    read_cells,
)
from omtl.evidence.comparisons import REGION
from omtl.evidence.ratings import REGRET, REGRET_IN_WORDS, beside_median, order_notes, ranking
from omtl.experiment.specs import ParallelSpec
from omtl.reproduction.submission import joined, submissions
from omtl.tables.cells import as_text
from omtl.util.errors import UserError, known_name
from omtl.util.host import host
from omtl.util.paths import CHECKOUT, RESULTS, results_to_read
from omtl.util.result_files import as_csv, read_csv, write_all
from omtl.util.user_folder import own_folder
from omtl.util.views import DisplayedResult, View

EXPLAINED = (
    "Elo is relative to the learners that compete here; intervals resample data sets and repeats. "
    "Real and synthetic are the ratings on those data sets alone. In the shares, numbers within "
    f"{REGION:.0%} of each other are a tie. Edge and ties are the shares of choices at an edge of "
    "the grid and between tied points. Time is that of the whole grid, relative to the median "
    "learner."
)


@dataclass(frozen=True, repr=False)
class Board(DisplayedResult):
    """Learners ranked over data sets, as they were played or read.

    Parameters
    ----------
    plan : BoardPlan
    frame : DataFrame
        A row for each learner on each data set (`omtl.evidence.board.CELLS`).
    ranking : DataFrame
        A row for each learner, the best first: Elo with its interval, wins, ties, losses.
    seconds, data : DataFrame
        The time of each learner on each data set, and what the data sets are like.
    notes : list of str
        Notes for the reader, one sentence each.
    is_broken : bool
        Whether units failed for another reason than missing data.
    """

    plan: BoardPlan
    frame: pd.DataFrame
    ranking: pd.DataFrame
    seconds: pd.DataFrame
    data: pd.DataFrame
    notes: list[str]
    is_broken: bool = False

    @property
    def ratios(self) -> dict[str, float]:
        """The time of each learner relative to the median learner."""
        return beside_median(self.seconds, "seconds")

    @property
    def is_kept(self) -> bool:
        """Whether it is the whole board, whose numbers belong in ``results/board``."""
        whole = self.plan == BoardPlan(board=self.plan.board)
        return whole and (CHECKOUT is None or own_folder() is None)

    def write(self, folder: Path | str | None = None, times: bool = False) -> list[Path]:
        """Write the board's files, by default where results are kept; return the paths.

        Times that are there stay unless `times`.
        """
        folder = Path(folder or RESULTS / self.plan.folder)
        about = {
            "board": self.plan.written,
            "seed": self.plan.seed,
            "repeats": self.plan.repeats or self.plan.config.repeats,
            "cpu": host()["cpu"],
        }
        texts = {
            "cells.csv": as_csv(self.frame, DIGITS),
            "ranking.csv": as_csv(self.ranking, DIGITS),
            "data.csv": as_csv(self.data, DIGITS),
            "board.meta.json": json.dumps(about, indent=1) + "\n",
        }
        cell = ["dataset", "algorithm"]
        shown = self.seconds.assign(seconds=self.seconds["seconds"].map("{:.3g}".format))
        if not times and (folder / "times.csv").exists():
            shown = shown.set_index(cell)
            shown.update(read_csv(folder / "times.csv").set_index(cell)[["seconds"]])
            shown = shown.reset_index()
        texts["times.csv"] = as_csv(shown)
        return write_all(folder, texts)

    @property
    def view(self) -> View:
        """The ranking, the best first."""
        groups = [name for name in ("real", "synthetic") if self.ranking[name].notna().all()]
        more = [name for name in (*self.plan.more, REGRET) if name in self.ranking]
        forms = dict.fromkeys(("elo", "low", "high", *groups), ".0f") | dict.fromkeys(more, ".4g")
        forms |= dict.fromkeys(("win", "tie", "loss", "edge", "ties"), ".0%") | {"time": ".2g"}
        times, places = self.ranking["algorithm"].map(self.ratios), range(1, len(self.ranking) + 1)
        shown = as_text(self.ranking.assign(time=times, place=places), forms)
        intervals = "[" + shown["low"] + ", " + shown["high"] + "]"
        shown["95% interval"] = intervals.where(self.ranking["low"].notna(), "none")
        shown["edge"] = (shown["edge"] + " " + shown["grid"]).str.strip()
        columns = ["place", "label", "elo", "95% interval", *groups, *more, "win", "tie", "loss"]
        columns += ["data_sets", "points", "edge", "ties", "time"]
        named = {"place": "", "label": "learner", "elo": "Elo", "data_sets": "data sets"}
        heads, rows = (
            [named.get(name, name) for name in columns],
            shown[columns].to_numpy().tolist(),
        )
        spare = ["ties", "points", "time", "data sets", "edge"]
        notes = [EXPLAINED, *self.notes]
        return View(heads, rows, right=[heads[0], *heads[2:]], spare=spare, notes=notes)


def make_board(board: BoardPlan, parallel: ParallelSpec, store: Store | None = None) -> Board:
    """Play missing units, and rank the learners, with the submissions to the whole board.

    Raises
    ------
    UserError
        If no two learners have numbers.
    """
    if len(board.entrants) < 2:
        raise UserError("a board needs at least two learners; `omtl run` plays one")
    store = store or Store.default()
    outcome = board.play(store, parallel)
    found = board_cells(board, store, outcome)
    seconds = found[["dataset", "algorithm", SECONDS]].dropna(ignore_index=True)
    found = found.drop(columns=SECONDS)
    whys = found[found["why"] != ""].drop_duplicates("why")
    notes = [f"{row.label} on {row.dataset}: {row.why}" for row in whys.itertuples()]
    pulled = store.note_on([unit for units in board.units.values() for unit in units])
    notes += [f"some of the numbers were {pulled}"] if pulled else []
    part = f"{board.folder}/submissions"
    handed_in = [] if board.learners else submissions(results_to_read(part) / part, board.board)
    competing, left_out = joined(found, handed_in)
    facts = data_facts(board, store, parallel.n_jobs)
    ranked, of_order = _ranked(competing, board, facts)
    notes += [*left_out, *of_order]
    return Board(board, found, ranked, seconds, facts, notes, outcome.is_broken)


def _ranked(
    found: pd.DataFrame, board: BoardPlan, data: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Return the ranking, and notes on its order."""
    more = [name for name in board.more if name != LOSS]
    if len(data) and LEAST_LOSS in data:
        least = data.set_index("dataset")[LEAST_LOSS]
        found = found.assign(**{REGRET: found[LOSS] - found["dataset"].map(least)})
        more.append(REGRET)
    ranked = ranking(found, board.config.metric, board.seed, more)
    if ranked.empty:
        whys = [why for why in found["why"] if why]
        raise UserError(whys[0] if whys else "a board needs at least two learners with results")
    about = [REGRET_IN_WORDS] if REGRET in more else []
    return ranked, [*about, *order_notes(found, ranked, board.config, board.seed)]


def from_results(board: BoardPlan, results: Path | None = None) -> Board:
    """Rank the requested learners and data sets from ``results/board``.

    Parameters
    ----------
    board : BoardPlan
    results : Path, optional
        The folder of results; by default the one written here, or else the package's.

    Raises
    ------
    UserError
        If there is no board, or it has none of these.
    """
    folder = (results or results_to_read(f"{board.folder}/cells.csv")) / board.folder
    if not (folder / "cells.csv").is_file():
        raise UserError(f"{folder} has no board; run `omtl board` first")
    entries = submissions(folder / "submissions", board.board)
    found, notes = joined(read_cells(folder / "cells.csv"), entries)
    tables = [found, *(pd.read_csv(folder / name) for name in ("times.csv", "data.csv"))]
    for column, asked in (("algorithm", board.learners), ("dataset", board.data)):
        known = sorted({*_names(found[column])})
        names = [known_name(f"{column} of the board", name, known) for name in asked]
        if names:
            tables = [t[_names(t[column]).isin(names)] if column in t else t for t in tables]
    found, seconds, data = tables
    ranked, of_order = _ranked(found, board, data)
    return Board(board, found, ranked, seconds, data, [*notes, *of_order])


def _names(entrants: pd.Series) -> pd.Series:
    """Return the names of entrants' configs: ``dom1`` of ``dom1@ring``."""
    return entrants.str.partition("@")[0]
