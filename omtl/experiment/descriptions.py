"""The descriptions in ``experiments/``: tables, figures, claims and diagnoses, typed, and print."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from math import inf, isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, overload

from omtl.experiment.config import load_option, options, paper_file, paper_files
from omtl.experiment.schema import (
    NOT_NEGATIVE,
    POSITIVE,
    check_names,
    keys_of,
    read_file,
    read_text,
    refuse_other_name,
    refuse_twice,
    typed,
)
from omtl.experiment.specs import SPECS, ProtocolSpec, known_settings
from omtl.util.errors import UserError, choose, known_name
from omtl.util.files import State, file_state
from omtl.util.providers import providers


@dataclass(frozen=True, kw_only=True)
class Description:
    """What tables and figures have in common."""

    id: str
    paper: str
    title: str
    protocol: str
    selection: str
    repeats: Annotated[int, POSITIVE]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table: the heading of a group, or a learner of the paper's or of ours.

    `algorithm` names several where the paper prints the best of them. `selection` names rules of
    the row's own, by the rule that the table is made by.
    """

    group: str = ""
    algorithm: str | tuple[str, ...] = ""
    network: str = ""
    published: str = ""
    ours: str = ""
    selection: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a row that is neither."""
        if not self.group and not (self.algorithm and self.label):
            raise UserError("a row has a group, or an algorithm with its name, published or ours")

    @property
    def label(self) -> str:
        """What the row is called: as the paper prints it, or we do."""
        return self.published or self.ours

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The names of its algorithms; none of a heading."""
        if isinstance(self.algorithm, tuple):
            return self.algorithm
        return (self.algorithm,) if self.algorithm else ()


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table: a data set, as it is `published`; `patch` sets config values."""

    dataset: str
    published: str
    kind: Literal["value", "substitute"] = "value"
    patch: Mapping[str, Any] = field(default_factory=dict)
    search: str = ""


@dataclass(frozen=True, kw_only=True)
class Print:
    """Statements of a paper's text that can be checked against its printed numbers.

    `examples` has the number of examples by column, `bold` the rows that are bold there. `repeats`
    is of how many runs the numbers are, where these are not the table's; 0 where they are.
    """

    examples: Mapping[str, int] = field(default_factory=dict)
    bold: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    spread: Literal["standard deviation", "standard error"] = "standard deviation"
    repeats: int = 0


@dataclass(frozen=True, kw_only=True)
class TooSlow:
    """Cells that take so long under some readings that they are played only if asked for.

    Without `columns` these are the cells of all columns, without `rows` those of all rows.
    """

    readings: tuple[str, ...]
    why: str
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The rows and columns in words; empty if they are the whole table."""
        return " on ".join(", ".join(names) for names in (self.rows, self.columns) if names)

    def has(self, reading: str, column: str, row: str) -> bool:
        """Whether a cell is among them."""
        return (
            reading in self.readings
            and column in (self.columns or (column,))
            and row in (self.rows or (row,))
        )


@dataclass(frozen=True, kw_only=True)
class TableDescription(Description):
    """A table of a paper.

    `spread` is what the ± is by its words, where no reading says otherwise, and `metric` what
    claims are about. `plays` is how many of our repeats stand for each of the paper's. `proposed`
    are the paper's own rows, `same_row` rows that stand for several where those are one, and
    `chosen_by` names the algorithm by which all rows' hyper-parameters are chosen. `findings` are
    phrases for what learners tell of tasks, by its name. `too_slow` are cells that are not played
    by default, with the reason; `searched_without` are rows that a search of readings leaves out.
    """

    caption: str
    spread: Literal["std", "standard_error", "unstated"]
    metric: str
    digits: Annotated[int, NOT_NEGATIVE] | Mapping[str, Annotated[int, NOT_NEGATIVE]]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    baselines: Literal["ours", "none"] = "ours"
    blocks: Literal["none", "dataset"] = "none"
    print: Print = Print()
    plays: Annotated[int, NOT_NEGATIVE] = 1
    proposed: tuple[str, ...] = ()
    same_row: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    chosen_by: str = ""
    findings: Mapping[str, str] = field(default_factory=dict)
    too_slow: tuple[TooSlow, ...] = ()
    searched_without: tuple[str, ...] = ()

    @property
    def printed_repeats(self) -> int:
        """Of how many runs the printed numbers are."""
        return self.print.repeats or self.repeats

    def digits_of(self, metric: str) -> int:
        """Return how many digits of a metric are shown after the point."""
        return self.digits if isinstance(self.digits, int) else self.digits[metric]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of a panel: a learner; the kinds of panels describe the other keys."""

    algorithm: str
    network: str = ""
    label: str = ""
    title: str = ""
    published: str = ""
    parameter: str = ""
    symbol: str = ""
    scale: str = ""
    marks: Mapping[float, str] = field(default_factory=dict)
    theory: Literal["none", "b_star"] = "none"
    varies: Literal["nothing", "queries"] = "nothing"
    by: str = ""
    by_symbol: str = ""
    warning: str = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A panel of a figure; its `kind`, of `omtl.figures.panels.PANEL_KINDS`, reads the others.

    With several `protocols` it has each line once under each. With `across`, the label of x, it has
    each line once for each column of the published table; x is the number that the column's name
    begins with.
    """

    kind: str
    label: str
    title: str
    dataset: str
    lines: tuple[Line, ...]
    published: str = ""
    metric: str = ""
    patch: Mapping[str, Any] = field(default_factory=dict)
    protocols: tuple[str, ...] = ()
    across: str = ""
    groups: Mapping[str, int] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    horizons: int = 0
    ridges: tuple[float, ...] = ()
    scales: tuple[float, ...] = ()
    ratios: tuple[float, ...] = ()
    rank: int = 0
    delta: float = 0.0
    repeat: int = 0
    stand_in: bool = False


@dataclass(frozen=True, kw_only=True)
class PanelGrid:
    """How the panels of a figure stand side by side; their size is in inches."""

    columns: Annotated[int, POSITIVE] = 2
    legend_columns: int = 3
    panel_size: tuple[float, ...] = (3.6, 3.1)


@dataclass(frozen=True, kw_only=True)
class Cheaper:
    """How a figure is played under a reading for which it would take too long, and why.

    It has fewer `repeats`; `patch` sets config values, such as a smaller grid.
    """

    repeats: int
    why: str
    patch: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FigureDescription(PanelGrid, Description):
    """A figure of a paper.

    `published` names the table whose numbers are marked, `chosen_in` the one by whose results
    hyper-parameters are chosen. `cheaper` is by reading.
    """

    caption: str = ""
    published: str = ""
    chosen_in: str = ""
    cheaper: Mapping[str, Cheaper] = field(default_factory=dict)
    panels: tuple[Panel, ...]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A comparison of a claim, of rows of a table or lines of a panel.

    Those in `lower`, `higher` (by at least `by`) or `ratio` (`at_least`, `at_most`) are compared
    with each of `than`.
    """

    dataset: str = ""
    panel: str = ""
    parts: tuple[str, ...] = ()
    at: tuple[float, ...] = ()
    lower: tuple[str, ...] = ()
    higher: tuple[str, ...] = ()
    ratio: tuple[str, ...] = ()
    than: tuple[str, ...]
    by: float = 0.0
    at_least: float = 0.0
    at_most: float = inf
    tasks: tuple[str, ...] = ()
    metric: str = ""

    def __post_init__(self) -> None:
        """Refuse a part that compares nothing, or in two ways."""
        if sum(map(bool, (self.lower, self.higher, self.ratio))) != 1:
            raise UserError("a part has either lower, higher or ratio")

    @property
    def side(self) -> str:
        """The key of the rows or lines that are compared with others."""
        return "lower" if self.lower else "higher" if self.higher else "ratio"

    @property
    def compared(self) -> tuple[str, ...]:
        """The rows or lines under this key."""
        return self.lower or self.higher or self.ratio

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what differences or ratios are said to be."""
        if self.ratio:
            return self.at_least, self.at_most
        return (-inf, -self.by) if self.lower else (self.by, inf)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A comparative statement of a paper, decided by a table or a figure.

    `either` has names for the better of several rows. `why` is why it fails as published, in our
    numbers.
    """

    id: str
    place: str
    why: str = ""
    says: str = ""
    quote: str = ""
    taken_as: str = ""
    table: str = ""
    figure: str = ""
    metric: str = "error"
    either: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    all: tuple[Part, ...]

    def __post_init__(self) -> None:
        """Refuse a claim in words of both, or of nobody."""
        if bool(self.says) == bool(self.quote):
            raise UserError("a claim has the paper's words (quote) or ours (says)")

    @property
    def decided_by(self) -> str:
        """The table or figure that decides it."""
        return self.table or self.figure

    @property
    def words(self) -> str:
        """The claim in one line: the paper's words, with how they are taken, or ours."""
        taken = f" (Taken as {self.taken_as}.)" if self.taken_as else ""
        return " ".join(f"{self.quote or self.says}{taken}".split())


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Why cells are off or many standard errors from print; of all metrics where none is named."""

    table: str
    readings: tuple[str, ...]
    dataset: str
    algorithms: tuple[str, ...]
    metrics: tuple[str, ...] = ()
    text: str


KINDS: Mapping[str, tuple[str, Any]] = {
    "table": ("table*.yaml", TableDescription),
    "figure": ("fig*.yaml", FigureDescription),
}
"""What is described: in which files of a paper, and as what."""


def descriptions(kind: str) -> dict[str, Path]:
    """Return the files that describe tables or figures, by id.

    Parameters
    ----------
    kind : {"table", "figure"}
    """
    pattern, _ = KINDS[kind]
    return {f"{path.parent.name}-{path.stem}": path for path in paper_files(pattern)}


def known_table(name: str) -> str:
    """Return the id of a table; raise UserError if there is no such table."""
    return known_name("table", name, descriptions("table"))


def known_id(name: str) -> str:
    """Return the id of a table or figure; raise UserError if there is no such one."""
    return known_name("table or figure", name, [*descriptions("table"), *descriptions("figure")])


@overload
def describe(kind: Literal["table"], name: str) -> TableDescription: ...
@overload
def describe(kind: Literal["figure"], name: str) -> FigureDescription: ...
@overload
def describe(kind: str, name: str) -> TableDescription | FigureDescription: ...
def describe(kind: str, name: str) -> TableDescription | FigureDescription:
    """Return the description of a table or figure.

    Raises
    ------
    UserError
        If there is none with this id, or a key is wrong.
    """
    known = descriptions(kind)
    path = known[choose(kind, name, known)]
    return read_file(KINDS[kind][1], path, _completed)


def _completed(
    description: TableDescription | FigureDescription, path: Path
) -> TableDescription | FigureDescription:
    """Return a description, that of a table with rows of ours, after checking its names."""
    paper = path.parent.name
    for key, due in {"id": f"{paper}-{path.stem}", "paper": paper}.items():
        refuse_other_name(path, key, getattr(description, key), due)
    if isinstance(description, FigureDescription):
        _check_figure(description, str(path))
        return description
    if description.baselines == "ours" and not any(row.ours for row in description.rows):
        ours = load_option("comparison", "beside_papers")["rows"]
        more = typed(tuple[Row, ...], ours, "comparison beside_papers", "rows")
        description = replace(description, rows=description.rows + more)
    _check_table(description, str(path))
    return description


def row_labels(table: TableDescription) -> list[str]:
    """Return what the rows of a table are called, without the headings of groups."""
    return [row.label for row in table.rows if not row.group]


def _check_table(table: TableDescription, where: str) -> None:
    """Refuse a description that names a metric, row, column or reading which there is not."""
    from omtl.measures.metrics import METRICS  # NumPy loads slowly, and names do without

    bold, slow = table.print.bold, table.too_slow
    rows = chain(
        *(table.proposed, table.searched_without, table.same_row, *table.same_row.values()),
        *(*bold.values(), *(cells.rows for cells in slow)),
    )
    columns = chain(table.print.examples, bold, *(cells.columns for cells in slow))
    printed = [column.published for column in table.columns]
    refuse_twice(f"{where}, row", row_labels(table))
    refuse_twice(f"{where}, column", printed)
    check_places(where, (column.patch for column in table.columns))
    for column in table.columns:
        played = {"dataset": column.dataset, "protocol": table.protocol}
        for group, name, *_ in (key.split(".") for key in column.patch):
            if group in played and name not in ("*", played[group]):
                raise UserError(
                    f"{where}, column {column.published}: its patch is of the {group} {name!r}, "
                    f"and the column plays {played[group]!r}"
                )
    check_names(
        where,
        ("metric", [table.metric], METRICS),
        ("row", rows, row_labels(table)),
        ("column", columns, printed),
        ("reading", chain(*(cells.readings for cells in slow)), known_readings()),
    )


def _check_figure(figure: FigureDescription, where: str) -> None:
    """Refuse a figure of two panels with one label, or with marks that its table lacks."""
    refuse_twice(f"{where}, panel", [panel.label for panel in figure.panels])
    lines = [line for panel in figure.panels for line in panel.lines]
    scales = [line.scale for line in lines if line.scale]
    check_names(where, ("scale", scales, ("linear", "log", "log1p")))
    if figure.published:
        table = describe("table", figure.published)
        rows = [line.published for line in lines if line.published]
        columns = [panel.published for panel in figure.panels if panel.published]
        check_names(
            where,
            (f"row of {table.id}", rows, row_labels(table)),
            (f"column of {table.id}", columns, [one.published for one in table.columns]),
        )


def known_readings() -> list[str]:
    """Return the names of the readings of any paper."""
    return list(dict.fromkeys(name.rpartition("/")[2] for name in options("reading")))


def shown_as(paper: str) -> list[tuple[str, str]]:
    """Return what a paper's tables and figures call data sets: pairs of a name and a data set."""
    tables = [describe("table", n) for n in descriptions("table") if n.startswith(f"{paper}-")]
    figures = [describe("figure", n) for n in descriptions("figure") if n.startswith(f"{paper}-")]
    columns = [(column.published, column.dataset) for table in tables for column in table.columns]
    return columns + [(panel.dataset, panel.dataset) for one in figures for panel in one.panels]


def published(table: str) -> list[dict[str, str]]:
    """Return the published numbers of a table, as printed, in the paper's order.

    Raises
    ------
    UserError
        If they cannot be read, or are not those of the table, each once.
    """
    known = descriptions("table")
    described = known[choose("table", table, known)]
    of = next(each for each in providers() if described.is_relative_to(each.experiments))
    path = of.published / f"{table}.csv"
    return _published(path, table, file_state(path))


PUBLISHED = ("table", "dataset", "algorithm", "task", "metric", "mean", "std")
"""The columns of a file of published numbers."""


@cache
def _published(path: Path, table: str, _: State) -> list[dict[str, str]]:
    rows = csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff")))
    if tuple(rows.fieldnames or ()) != PUBLISHED:
        raise UserError(f"{path}: its first line must be {','.join(PUBLISHED)}")
    found: list[dict[str, str]] = []
    for row in rows:
        where = f"{path}, line {rows.line_num}"
        if None in row or None in row.values():
            raise UserError(f"{where}: it does not have {len(PUBLISHED)} fields")
        refuse_other_name(where, "table", row["table"], table)
        for key in ("mean", "std"):
            if not is_number(row[key]) and (key == "mean" or row[key]):
                raise UserError(f"{where}: {key} {row[key]!r} must be a number")
        found.append(row)
    refuse_twice(str(path), [", ".join(row[key] for key in PUBLISHED[1:5]) for row in found])
    if not found:
        raise UserError(f"{path}: it has no number; write a line for each printed one")
    return found


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def check_places(where: str, patches: Iterable[Mapping[str, Any]]) -> None:
    """Refuse patches that set a value ``group.name.key`` which no config has; a name may be ``*``.

    Of a table a reading says what its ± is: ``table.<id>.spread``.

    Raises
    ------
    UserError
        With the place, `where`, and the closest known name.
    """
    for key in dict.fromkeys(key for patch in patches for key in patch):
        group, _, rest = key.partition(".")
        name, _, path = rest.partition(".")
        if group == "table":
            spread = ("value of a table", [path], ["spread"])
            check_names(where, (group, [name], descriptions("table")), spread)
            continue
        check_names(where, ("group", [group], SPECS))
        kind: Any = SPECS[group]
        known = ["*"] if name == "*" else options(group)
        keys = {*keys_of(kind).kinds, *(known_settings() if kind is ProtocolSpec else ())}
        values = (f"value of {group} {name}", [path.partition(".")[0]], sorted(keys))
        check_names(where, (group, [name], known), values)


def diagnoses(paper: str) -> tuple[Diagnosis, ...]:
    """Return a paper's written diagnoses of cells that are off or far from the printed number.

    They are in ``experiments/<paper>/diagnoses.yaml``.
    """
    path = paper_file(paper, "diagnoses.yaml")
    return read_file(tuple[Diagnosis, ...], path, _checked_diagnoses) if path.exists() else ()


def _checked_diagnoses(entries: tuple[Diagnosis, ...], path: Path) -> tuple[Diagnosis, ...]:
    from omtl.measures.metrics import METRICS

    for entry in entries:
        table = describe("table", entry.table)
        check_names(
            str(path),
            ("reading", entry.readings, known_readings()),
            ("data set", [entry.dataset], [column.published for column in table.columns]),
            ("algorithm", entry.algorithms, row_labels(table)),
            ("metric", entry.metrics, METRICS),
        )
    return entries
