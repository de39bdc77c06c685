"""A paper's tables, beside ours: played, judged, shown and written."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import KeysView
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from omtl.api.explanations import Explanation, explain_cell
from omtl.api.plots import axes_for, draw_agreement
from omtl.compute.engine import News, Outcome
from omtl.compute.store import cached
from omtl.evidence.claims import claim_outcomes, claims_of, in_sentences
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.config import paper_file
from omtl.experiment.descriptions import TableDescription, describe, diagnoses, known_table
from omtl.experiment.readings import questions
from omtl.tables.agreement import agreement_sentence
from omtl.tables.cells import (
    as_rows,
    cell_names_in,
    description_of,
    each_cell,
    first_cell,
    is_searched,
    long_repeats,
    only,
    planned,
    with_numbers,
)
from omtl.tables.layout import TableLayout, captioned_latex, counts, lay_out, with_texts
from omtl.tables.notes import notes, notes_on_sources, why_of
from omtl.tables.published_results import (
    folder_for,
    runs_of,
    stem_of,
    with_published_times,
    with_results,
    write_machine,
    write_rows,
    write_table,
)
from omtl.tables.request import AUTO, Request, RequestOptions, request_for
from omtl.tables.scoring import (
    check_is_measured,
    play_cells,
    play_until_settled,
    record,
    scored,
    units_of,
)
from omtl.tables.verdict import JUDGED, MATCH, MISSING, NEAR, NEAR_WITHIN, OFF, OURS, VALUE
from omtl.util.errors import UserError
from omtl.util.host import peak_mib
from omtl.util.paths import RESULTS
from omtl.util.screen import plural, say, width
from omtl.util.views import DisplayedResult, View

if TYPE_CHECKING:
    from typing import Unpack

    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class Table(DisplayedResult):
    """A table of a paper, reproduced: its cells played and judged.

    Parameters
    ----------
    request : Request
    planned : DataFrame
        Its cells before they were played.
    cells : DataFrame
        The judged cells.
    outcome : Outcome
        The units that were computed, and those that failed.
    seconds : float
        How long it took.
    is_cell : bool
        Whether it is a single cell of the table, which decides no claim.
    """

    request: Request
    planned: pd.DataFrame
    cells: pd.DataFrame
    outcome: Outcome
    seconds: float
    is_cell: bool = False

    @property
    def name(self) -> str:
        """The table's id."""
        return self.description.id

    @cached_property
    def description(self) -> TableDescription:
        """What the table's file says of it."""
        return description_of(self.cells)

    @cached_property
    def layout(self) -> TableLayout:
        """The table in its paper's layout, with all notes on its cells."""
        return lay_out(self.cells, notes(self.cells))

    @cached_property
    def claims(self) -> pd.DataFrame:
        """The claims that the table decides: true in print, and of our numbers?"""
        return claims_of_cells(self.cells).iloc[: None if not self.is_cell else 0]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each cell: the published number, ours, the difference, the verdict."""
        cells = self.cells
        rows = as_rows(cells)
        return with_numbers(rows.assign(stopped=cells["stopped"]) if "stopped" in cells else rows)

    @cached_property
    def repeats(self) -> pd.DataFrame:
        """A row for each of our repeats of each cell."""
        return long_repeats(self.cells)

    @property
    def notes(self) -> list[str]:
        """What to know about the numbers: why cells are off or missing, what claims came to."""
        said, n_repeats = in_sentences(self.claims), self.request.n_repeats(self.description)
        undecided = int((self.claims["outcome"] == UNDECIDED).sum())
        if undecided and n_repeats < self.description.repeats:
            are = "claim is" if undecided == 1 else "claims are"
            said.append(
                f"{undecided} {are} undecided with {plural(n_repeats, 'repeat')}: "
                f"the paper has {self.description.repeats}, and more may decide"
            )
        return [*self.layout.notes, *said]

    @property
    def is_broken(self) -> bool:
        """Whether units failed for another reason than missing data."""
        return self.outcome.is_broken

    @property
    def summary(self) -> list[str]:
        """How many cells agree, how many claims hold, what to type next; of one cell, why."""
        if self.is_cell:
            (cell,) = each_cell(self.cells)
            why = why_of(cell, self.description)  # a note says why it is missing
            verdict = ": ".join(filter(None, [cell.verdict, why]))
            return [] if cell.verdict == MISSING else [verdict]
        cells, claims = self.cells, self.claims
        tally = Counter(cells["verdict"][cells["kind"] != OURS])
        judged = sum(tally[verdict] for verdict in JUDGED)
        lines = ["no cell is compared with its published number"]
        if judged or tally[MISSING]:
            close = (
                f"{tally[MATCH] + tally[NEAR]} of {plural(judged, 'cell')} within {NEAR_WITHIN:.0%}"
            )
            rest = ", ".join(f"{tally[word]} {word}" for word in (OFF, MISSING) if tally[word])
            lines = ["; ".join(filter(None, [f"{close} of the published number", rest]))]
        if (found := self.layout.agreement) is not None:
            lines.append(agreement_sentence(found))
        if not claims.empty:
            came_to = Counter(claims["outcome"])
            lines.append(
                f"{came_to[HOLDS]} of {len(claims)} claims hold; "
                f"{came_to[FAILS]} fail, {came_to[UNDECIDED]} undecided"
            )
        is_off = (cells["verdict"] == OFF).to_numpy()
        name = self.cell_names[int(is_off.argmax())]  # the first one if none is off
        command = shlex.join(["omtl", "explain", self.name, name])
        more = plural(len(self.notes), "note")
        return [*lines, f"next: `{command}` says why; --full shows all {more}"]

    @property
    def cell_names(self) -> list[str]:
        """The names of the cells, for `explain`."""
        return cell_names_in(self.cells)

    def explain(self, cell: str) -> Explanation:
        """Return what is known about a cell."""
        return Explanation(explain_cell(self.name, cell, self.request))

    def show(self, full: bool = False) -> None:
        """Print the table beside the published one, with a summary or with all notes."""
        self.layout.show()
        for line in self.notes if full else [*notes_on_sources(self.cells), *self.summary]:
            say(line)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw our numbers against the published ones, coloured by verdict; return the axes."""
        return draw_agreement(self.frame, axes_for(ax))

    def to_latex(self) -> str:
        """Return published and our numbers as a LaTeX table (booktabs)."""
        return captioned_latex(self.layout)

    def write(self) -> list[Path]:
        """Write the table's files to ``results/``, as ``omtl table`` does; return the paths.

        Times in ``results/`` stay unless the request replaces them. Where units failed, nothing in
        ``results/`` is replaced: the files go to ``results/partial``.
        """
        request, cells, made = self.request, self.cells, self
        is_published = request.is_published(self.description) and not self.outcome.failed
        if is_published and not request.times:
            cells = with_published_times(cells, request)
            made = self if cells is self.cells else replace(self, cells=cells)
        folder = folder_for(is_published)
        paths = write_table(cells, made.layout, made.claims, folder)
        last_run = {
            "units_computed": self.outcome.computed,
            "units_reused": self.outcome.reused,
            "seconds": round(self.seconds, 3),
            "peak_mib": peak_mib(),
            "parallel": request.parallel.as_mapping(),
        }
        write_machine(cells, folder, self.outcome.seconds, last_run)
        if self.planned["search"].notna().any():
            paths.append(folder_for(is_published, "search") / f"{stem_of(cells)}.points.csv")
            write_rows(paths[-1], record(self.planned, request.store), request.reading)
        return paths

    @property
    def view(self) -> View:
        """The table: for each column the published number, ours and the verdict's mark."""
        return replace(self.layout.view, notes=self.summary if self.is_cell else self.summary[:-1])

    def __repr__(self) -> str:
        """Return the table as text."""
        layout = self.layout
        parts = [part.text() for part in layout.parts(width())]
        return "\n\n".join([f"{layout.title}\n{layout.subtitle}", *parts, layout.legend.plain])


def claims_of_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes of the claims that a table's cells decide."""
    of = description_of(cells)
    return claim_outcomes(of.paper, of.id, first_cell(cells).reading, cells)


def check_files(paper: str) -> None:
    """Refuse a paper's wrong questions, claims and diagnoses before anything is played."""
    if paper_file(paper, "readings.yaml").exists():
        questions(paper)
    claims_of(paper)
    diagnoses(paper)


def played_table(name: str, request: Request, cell: str | None = None) -> Table:
    """Play the units that a table lacks, or one of its cells by name, and judge its cells.

    Raises
    ------
    UserError
        On an unknown table, cell, reading or rule.
    """
    started = time.perf_counter()
    request = replace(request, store=cached(request.store))
    cells = planned(name, request)
    check_files(description_of(cells).paper)
    asked = cells if cell is None else only(cells, cell)
    for one in each_cell(asked.drop_duplicates(["metric", "dataset"])):
        check_is_measured(one.experiment.protocol, one.metric)
    if request.repeats == AUTO:
        judged, outcome = play_until_settled(asked, request)
    else:
        outcome = play_cells(asked, request, verdict_news(asked, request))
        judged = scored(asked, request.store, outcome.failed)
    took = time.perf_counter() - started
    return Table(request, asked, judged, outcome, took, cell is not None)


def verdict_news(cells: pd.DataFrame, request: Request) -> News:
    """Return what tells the verdicts of cells whose repeats are all stored, one at each call."""

    @cache
    def waiting() -> dict[Any, set[str]]:
        known = [cell.kind == VALUE and not is_searched(cell) for cell in each_cell(cells)]
        parts = ((index, cells.loc[[index]]) for index in cells.index[known])
        return {index: {unit.key for unit in units_of(part)} for index, part in parts}

    def news(stored: KeysView[str]) -> str:
        done = next((index for index, keys in waiting().items() if keys <= stored), None)
        if done is None:
            return ""
        del waiting()[done]
        judged = scored(cells.loc[[done]], request.store)
        (cell,), (name,) = (
            each_cell(with_texts(judged, description_of(cells))),
            cell_names_in(judged),
        )
        return f"{name}: {cell.shown_ours}, printed {cell.shown_published}: {cell.verdict}"

    return news


def table(name: str, *, cell: str | None = None, **given: Unpack[RequestOptions]) -> Table:
    """Reproduce a table of a paper: play what is not stored yet, compare with the published one.

    Parameters
    ----------
    name : str
        The table's id, such as ``"dom-table1"`` (`omtl.paper`).
    cell : str, optional
        The name of the only cell to play: ``"DOM-I (Ring) on Synthetic"``.
    **given
        ``reading``, ``repeats``, ``seed``, ``selection``, ``jobs``, ... (`RequestOptions`).

    Returns
    -------
    Table
        ``.frame``, ``.repeats``, ``.claims``, ``.plot()``, ``.to_latex()``, ``.explain(cell)``.

    Raises
    ------
    UserError
        If there is no such table, cell, reading or rule.

    Examples
    --------
    >>> import omtl
    >>> found = omtl.table("dom-table1", cell="PA on Synthetic", repeats=2)
    >>> found.frame[["published_mean", "ours_mean", "verdict"]].values.tolist()
    [[12.66, 12.7972, 'match']]
    """
    request = request_for(**given)
    if cell is not None and not isinstance(cell, str):
        raise UserError(f"cell={cell!r} must be the name of one cell, or None for all")
    return played_table(known_table(name), request, cell)


def judge_again(table: str) -> list[Path]:
    """Write the files of a table's published runs anew, with the verdicts of the rule as it is.

    Our numbers, the configs and what learners told of tasks stay as they were.

    Raises
    ------
    UserError
        If there is no such table.
    """
    of, paths = describe("table", known_table(table)), list[Path]()
    for run in runs_of(RESULTS, of.id):
        cells = with_results(planned(run.table, run.request), run)
        findings = [  # which only the units have
            line.removeprefix("- ")
            for line in run.text("md").splitlines()
            if any(f": {phrase}: " in line for phrase in of.findings.values())
        ]
        layout, claims = lay_out(cells, notes(cells, findings)), claims_of_cells(cells)
        as_it_was = run.meta | {"verdicts": counts(cells)}
        paths += write_table(cells, layout, claims, run.folder, as_it_was)
    return paths
