"""Reproducing from end to end: compute what the store lacks, compare, show, write."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from omtl.compute import memory
from omtl.compute.store import Store
from omtl.evidence.claims import ledger
from omtl.evidence.hindsight_gap import honest_rule
from omtl.evidence.statistics import make_statistics
from omtl.experiment.config import named_reading
from omtl.experiment.selection import HONEST
from omtl.figures.plan import plan_figure
from omtl.figures.play import play_figure
from omtl.reproduction.make_figure import Made, make_figure
from omtl.tables import plan
from omtl.tables.committed import keep_times
from omtl.tables.halving import play, record
from omtl.tables.layout import lay_out
from omtl.tables.render import show
from omtl.tables.scoring import Scored, score_table
from omtl.tables.writing import Written, folder_for, write_rows
from omtl.util.errors import UserError


@dataclass(frozen=True)
class Wanted:
    """How a table or figure is wanted.

    Parameters
    ----------
    reading : str
        The reading's name.
    repeats : int or None
        Number of repeats; None for as many as published.
    seed : int
    selection : str or None
        The selection rule's name; None for the table's own.
    parallel : mapping
        An option of ``conf/parallel``.
    one_draw : bool
        Whether all repeats on synthetic data shuffle one draw, as the papers' do.
    times : bool
        Whether times that were just taken replace those that are kept.
    """

    reading: str
    repeats: int | None
    seed: int
    selection: str | None
    parallel: Mapping[str, Any]
    one_draw: bool = False
    times: bool = False

    def planned(self, table: str) -> plan.Table:
        """Return a table's plan.

        Raises
        ------
        UserError
            On an unknown table or reading.
        """
        reading = named_reading(plan.describe("table", table)["paper"], self.reading)
        return plan.plan_table(table, reading, 0 if self.one_draw else None)

    def is_full(self, description: Mapping[str, Any]) -> bool:
        """Whether this is the run whose results are kept in git."""
        return self.is_kept(description) and self.rule(description) == description["selection"]

    def is_kept(self, description: Mapping[str, Any]) -> bool:
        """Whether this is a run whose table is kept in git: also that by the honest rule."""
        return (
            self.repeats in (None, description["repeats"])
            and self.seed == 0
            and not self.one_draw
            and self.rule(description) in (description["selection"], HONEST)
        )

    def rule(self, description: Mapping[str, Any]) -> str:
        """Return the name of the selection rule.

        Raises
        ------
        UserError
            If it is the honest one, and the description's own is honest as it is.
        """
        own = description["selection"]
        honest = honest_rule(own, named_reading(description["paper"], self.reading))
        if self.selection == HONEST != honest:
            raise UserError(
                f"{description['id']} is chosen without hindsight by {honest}, not {HONEST}; "
                f"say --selection {honest}"
            )
        return self.selection or own

    def n_repeats(self, description: Mapping[str, Any]) -> int:
        """Return the number of repeats."""
        return self.repeats or description["repeats"]

    def asked(self, description: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is asked of a table or figure, as the functions that make it take it.

        Raises
        ------
        UserError
            On an unknown reading or rule.
        """
        return {
            "reading": named_reading(description["paper"], self.reading),
            "parallel": dict(self.parallel),
            "seed": self.seed,
            "n_repeats": self.n_repeats(description),
            "selection": self.rule(description),
        }


@dataclass(frozen=True)
class Reproduced:
    """A reproduced table.

    `broken` says whether units failed for another reason than missing data.
    """

    scored: list[Scored]
    claims: pd.DataFrame
    paths: list[Path]
    broken: bool


def reproduce_table(name: str, wanted: Wanted, store: Store, console: Console) -> Reproduced:
    """Reproduce a table, print it beside the published one, and write its files.

    Raises
    ------
    UserError
        On an unknown table, reading or rule.
    """
    table = wanted.planned(name)
    description = table.description
    n_repeats = wanted.n_repeats(description)
    selection = wanted.rule(description)
    started = time.perf_counter()
    memory.begin()
    outcome = play(table, store, wanted.parallel, wanted.seed, n_repeats, selection)
    scored = score_table(table, store, wanted.seed, n_repeats, outcome.failed, selection)

    def written(scored: list[Scored]) -> Written:
        layout = lay_out(table, scored, selection, wanted.seed, n_repeats)
        claims = ledger(description["paper"], table.id, wanted.reading, scored)
        return Written(table, selection, wanted.seed, n_repeats, scored, layout, claims)

    made = written(scored)
    show(made.layout, console)
    claims = made.claims
    for claim in claims.to_dict("records"):
        console.print(
            f"claim in print {claim['in_print']}, ours {claim['outcome']}: {claim['says']} "
            f"({claim['place']})",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )
    last_run = {
        "units_computed": outcome.computed,
        "units_reused": outcome.reused,
        "seconds": round(time.perf_counter() - started, 3),
        "peak_mib": None if outcome.peak_mib is None else round(outcome.peak_mib),
        "parallel": dict(wanted.parallel),
    }
    kept = wanted.is_kept(description)
    folder = folder_for(kept)
    if kept and not wanted.times:
        earlier = keep_times(table, scored, selection, wanted.seed, n_repeats)
        if earlier is not scored:
            console.print("times in results/ stay as they are: --times replaces them by these")
            made = written(earlier)
    paths = made.write(folder)
    made.write_machine(folder, outcome.seconds, last_run)
    if any(cell.search for cell in table.cells):
        points = record(table, store, wanted.seed, n_repeats, selection)
        path = folder_for(kept, "search") / f"{made.stem}.points.csv"
        write_rows(path, points)
        paths.append(path)
    broken = any(not failure.missing_data for failure in outcome.failed.values())
    return Reproduced(scored, claims, paths, broken)


def compute_figure(name: str, wanted: Wanted, store: Store) -> None:
    """Compute the units that a figure lacks.

    Raises
    ------
    UserError
        On an unknown figure, reading or rule.
    """
    asked = wanted.asked(plan.describe("figure", name))
    play_figure(plan_figure(name, asked.pop("reading")), store, **asked)


def reproduce_figure(name: str, wanted: Wanted, store: Store) -> Made:
    """Reproduce a figure and write its files.

    Raises
    ------
    UserError
        On an unknown figure, reading or rule.
    """
    description = plan.describe("figure", name)
    folder = folder_for(wanted.is_full(description), "figures")
    return make_figure(name, store=store, folder=folder, **wanted.asked(description))


def reproduce_statistics(name: str, wanted: Wanted, store: Store) -> list[Path]:
    """Write the statistics of a table or figure; return the paths. Nothing is computed.

    Raises
    ------
    UserError
        On an unknown table, figure, reading or rule, or where there are no numbers of it.
    """
    kind = "figure" if name in plan.descriptions("figure") else "table"
    description = plan.describe(kind, name)
    folder = folder_for(wanted.is_full(description), "statistics", apart=True)
    asked = wanted.asked(description)
    del asked["parallel"]  # nothing is computed
    keep = wanted.is_full(description) and not wanted.times
    return make_statistics(name, store=store, folder=folder, kept_times=keep, **asked)
