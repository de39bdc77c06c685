"""A paper's tables, beside ours, and what is known about a number."""

from __future__ import annotations

import html
import io
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pandas as pd
from rich.console import Console

from omtl.api.names import known_name
from omtl.api.plots import axes_for, draw_agreement
from omtl.api.views import WIDEST, DisplayedResult, View
from omtl.compute.store import Store
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.config import load_option, options, resolve_jobs
from omtl.experiment.descriptions import CLOSEST
from omtl.reproduction import explain as explaining
from omtl.reproduction.reproduce import TableRun, play_table
from omtl.tables.agreement import agreement_sentence
from omtl.tables.cells import as_rows, cell_names_in, each_cell, long_repeats, planned, with_numbers
from omtl.tables.layout import STYLES, captioned_latex, mark_of, show
from omtl.tables.notes import notes_on_sources
from omtl.tables.plan import descriptions
from omtl.tables.request import Request
from omtl.tables.verdict import CLOSE, JUDGED, MATCH, MISSING, NEAR, OFF, OURS
from omtl.util import user_folder
from omtl.util.errors import UserError
from omtl.util.screen import plural, say

if TYPE_CHECKING:
    from typing import Literal, Unpack

    from matplotlib.axes import Axes


class RequestOptions(TypedDict, total=False):
    """Which numbers are wanted, and how they are computed.

    ``reading`` is a standard reading or another of the paper, by default the closest one;
    ``repeats`` the number of the paper's repeats, by default as many as published, or for a table
    ``"auto"``, as many of these as each verdict needs; ``selection`` a selection rule, by default
    the table's own. ``parallel`` names an option of ``conf/parallel`` with ``jobs`` workers, for a
    cluster at an ``address``. ``one_draw`` shuffles one draw of synthetic data, as the papers do;
    ``times`` replaces the times in ``results/``; ``slow`` includes the cells that take hours;
    ``search`` names a search of large grids, instead of the table's own.
    """

    reading: str
    repeats: int | Literal["auto"] | None
    seed: int
    selection: str | None
    parallel: str
    jobs: int | None
    address: str | None
    one_draw: bool
    times: bool
    slow: bool
    search: str | None


def request_for(**given: Unpack[RequestOptions]) -> Request:
    """Return a request for a table or figure.

    Raises
    ------
    UserError
        If there is no such option.
    """
    user_folder.find()
    selection, search = given.get("selection"), given.get("search")
    known = {name.rpartition("/")[2] if "/" in name else name for name in options("reading")}
    reading = given.get("reading", CLOSEST)
    return Request(
        reading if "/" in reading else known_name("reading", reading, known),
        given.get("repeats"),
        given.get("seed", 0),
        selection and known_name("selection", selection, options("selection")),
        parallel_for(given.get("parallel", "threads"), given.get("jobs"), given.get("address")),
        Store.default(),
        given.get("one_draw", False),
        given.get("times", False),
        given.get("slow", False),
        search and known_name("search", search, options("search")),
    )


def parallel_for(
    parallel: str = "threads", jobs: int | None = None, address: str | None = None
) -> dict[str, Any]:
    """Return the config of a parallel engine.

    Raises
    ------
    UserError
        If there is none, or it takes no address.
    """
    found = load_option("parallel", parallel)
    if address is not None:
        if "address" not in found:
            raise UserError(
                f"--parallel {parallel} runs on this machine only, so it takes no --address; "
                "use --parallel dask or ray"
            )
        found = {**found, "address": address}
    return resolve_jobs(found, jobs)


@dataclass(frozen=True, repr=False)
class Table(DisplayedResult):
    """A table of a paper, reproduced.

    Parameters
    ----------
    run : TableRun
        The table as it was played and judged.
    is_cell : bool
        Whether it is a single cell of the table.
    """

    run: TableRun
    is_cell: bool = False

    @property
    def name(self) -> str:
        """The table's id."""
        return self.run.description.id

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each cell: the published number, ours, the difference, the verdict."""
        cells = self.run.cells
        rows = as_rows(cells)
        return with_numbers(rows.assign(stopped=cells["stopped"]) if "stopped" in cells else rows)

    @cached_property
    def repeats(self) -> pd.DataFrame:
        """A row for each of our repeats of each cell."""
        return long_repeats(self.run.cells)

    @property
    def claims(self) -> pd.DataFrame:
        """The claims that the table decides: true in print, and of our numbers?"""
        return self.run.claims

    @property
    def notes(self) -> list[str]:
        """What to know about the numbers: why cells are off or missing, what claims came to."""
        return [*self.run.layout.notes, *self.run.said_of_claims()]

    @property
    def is_broken(self) -> bool:
        """Whether units failed for another reason than missing data."""
        return self.run.outcome.is_broken

    @property
    def summary(self) -> list[str]:
        """How many cells agree, how many claims hold, and what to type next."""
        found = self.run.layout.agreement
        bounds = [agreement_sentence(found)] if found else []
        return [self._within(), *bounds, *self._claims(), f"next: {self._next()}"]

    def _within(self) -> str:
        tally = Counter(self.run.cells["verdict"][self.run.cells["kind"] != OURS])
        judged = sum(tally[verdict] for verdict in JUDGED)
        if not judged and not tally[MISSING]:
            return "no cell is compared with its published number"
        agree = f"{tally[MATCH] + tally[NEAR]} of {plural(judged, 'cell')} within {CLOSE:.0%} of"
        rest = [f"{tally[v]} {v}" for v in (OFF, MISSING) if tally[v]]
        return f"{agree} the published number{'; ' + ', '.join(rest) if rest else ''}"

    def _claims(self) -> list[str]:
        if self.claims.empty:
            return []
        tally = Counter(self.claims["outcome"])
        rest = [f"{tally[o]} {word}" for o, word in ((FAILS, "fail"), (UNDECIDED, "undecided"))]
        return [f"{tally[HOLDS]} of {plural(len(self.claims), 'claim')} hold; {', '.join(rest)}"]

    def _next(self) -> str:
        cells, names = self.run.cells, self.cell_names
        wrong = [n for n, v in zip(names, cells["verdict"], strict=True) if v == OFF]
        command = shlex.join(["omtl", "explain", self.name, *(wrong or names)[:1]])
        return f"`{command}` says why; --full shows all {plural(len(self.notes), 'note')}"

    @property
    def cell_names(self) -> list[str]:
        """The names of the cells, for `explain`."""
        return cell_names_in(self.run.cells)

    def explain(self, cell: str) -> Explanation:
        """Return what is known about a cell."""
        return Explanation(explaining.explain_cell(self.name, cell, self.run.request))

    def show(self, full: bool = False) -> None:
        """Print the table beside the published one, with a summary or with all notes."""
        show(self.run.layout._replace(notes=[]), Console())
        said = self.summary_of_cell if self.is_cell else self.summary
        for line in self.notes if full else [*notes_on_sources(self.run.cells), *said]:
            say(line)

    @property
    def summary_of_cell(self) -> list[str]:
        """The verdict on the only cell, and why; nothing where it is missing, as a note says so."""
        (cell,) = each_cell(self.run.cells)
        if cell.verdict == MISSING:
            return []
        why = explaining.why_of(cell, self.run.description)
        return [f"{cell.verdict}: {why}" if why else cell.verdict]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw our numbers against the published ones, coloured by verdict; return the axes."""
        colours = {verdict: colour for verdict, (_, colour) in STYLES.items()}
        return draw_agreement(self.frame, colours, axes_for(ax))

    def to_latex(self) -> str:
        """Return published and our numbers as a LaTeX table (booktabs)."""
        return captioned_latex(self.run.layout)

    def write(self) -> list[Path]:
        """Write the table's files to ``results/``, as ``omtl table`` does; return the paths."""
        return self.run.write()

    @property
    def view(self) -> View:
        """The table: for each column the published number, ours and the verdict's mark."""
        layout = self.run.layout
        heads = [text for head in layout.heads for text in (head, "ours", "")]
        rows = [
            [
                line.label,
                *(
                    text
                    for cell in line.cells or [None] * len(layout.heads)
                    for text in (
                        ("", "", "")
                        if cell is None
                        else (cell.shown_published, cell.shown_ours, mark_of(cell))
                    )
                ),
            ]
            for line in layout.lines
        ]
        notes = self.summary[:-1]
        return View(["", *heads], rows, f"{layout.title} ({layout.subtitle})", notes=notes)

    def __repr__(self) -> str:
        """Return the table as text."""
        file = io.StringIO()
        console = Console(file=file, width=WIDEST)
        show(self.run.layout._replace(notes=[]), console)
        return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


@dataclass(frozen=True, repr=False)
class Explanation(DisplayedResult):
    """What is known about a number: the verdict and why, its sources, how to make it again.

    Parameters
    ----------
    facts : dict
        By name.
    """

    facts: dict[str, Any]

    @property
    def lines(self) -> list[str]:
        """The facts as lines of text, nested ones indented."""
        return fact_lines(self.facts)

    @property
    def view(self) -> View:
        """The facts, one a row."""
        return View(["", ""], [[name, str(value)] for name, value in self.facts.items()])

    def show(self) -> None:
        """Print the facts."""
        for line in self.lines:
            say(line)

    def __repr__(self) -> str:
        """Return the facts as text."""
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        """Return the facts as HTML."""
        return f"<pre>{html.escape(repr(self))}</pre>"


def fact_lines(facts: dict[str, Any], indent: str = "") -> list[str]:
    """Return a mapping as lines: nested mappings are indented, short ones stay on one line."""
    lines = []
    for name, value in facts.items():
        if isinstance(value, list) and any(isinstance(one, dict) for one in value):
            for one in value:
                lines += fact_lines({name: one}, indent)
        elif isinstance(value, list) and value and isinstance(value[0], str):
            lines += [f"{indent}{name}:", *(f"{indent}  {one}" for one in value)]
        elif isinstance(value, dict) and len(str(value)) > 60:
            lines += [f"{indent}{name}:", *fact_lines(value, indent + "  ")]
        elif isinstance(value, dict):
            lines.append(f"{indent}{name}: {', '.join(f'{k}={v}' for k, v in value.items())}")
        else:
            lines.append(f"{indent}{name}: {value}")
    return lines


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
    known = known_name("table", name, descriptions("table"))
    return Table(play_table(known, request_for(**given), cell), cell is not None)


def explain(
    name: str, cell: str, *, full: bool = False, **given: Unpack[RequestOptions]
) -> Explanation:
    """Return what is known about a number, or a claim; nothing is computed.

    Parameters
    ----------
    name, cell : str
        The table's id, and the cell's name in it (`cell_names`); or the id of a table or figure,
        and that of a claim that it decides.
    full : bool
        Whether to add configs, seeds, hashes of data and code, and machines.
    **given
        As in `omtl.table`.

    Raises
    ------
    UserError
        If there is no such table, cell, reading or rule.

    Examples
    --------
    >>> import omtl
    >>> omtl.explain("dom-table1", "dom-i (ring) on synthetic").facts["verdict"]
    'match'
    """
    request = request_for(**given)
    claims = _claims_by(name)
    if cell.casefold() in claims:
        return Explanation(explaining.explain_claim(claims[cell.casefold()], request.reading))
    known = known_name("table", name, descriptions("table"))
    return Explanation(explaining.explain_cell(known, cell, request, full))


def cell_names(name: str, **given: Unpack[RequestOptions]) -> Sequence[str]:
    """Return the names of a table's cells, then the ids of the claims that it decides."""
    known = known_name("table", name, descriptions("table"))
    cells = planned(known, request_for(**given))
    return [*cell_names_in(cells), *_claims_by(known)]


def _claims_by(name: str) -> dict[str, pd.Series]:
    """Return the rows of the ledger of claims that a table or figure decides, by the claim's id."""
    from omtl.results import claims

    ledger = claims()
    rows = ledger[ledger["decided_by"] == name.casefold()]
    return {str(row["claim"]): row for _, row in rows.iterrows()}
