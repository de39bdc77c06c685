"""The descriptions in ``experiments/``: tables, figures, claims, diagnoses and questions, typed.

And how readings, and the files of results under them, are named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

from omtl.experiment import schema
from omtl.util.errors import UserError, check_known

SUPPORT = ("silent", "ambiguous", "contradicts", "contrived")
"""The support of a non-literal answer in a paper's text: it says nothing, its words allow both, it
says something else, or nobody would write the answer before seeing the printed rows."""

READINGS: Mapping[str, tuple[str, ...]] = {
    "as_written": (),
    "as_read": SUPPORT[:2],
    "as_published": SUPPORT,
}
"""The standard readings, each with the non-literal answers that it may use, by their support in the
paper's text."""

BLIND = "blind"
"""The reading without answers to questions of which an option was found by looking at printed
numbers, and without contrived ones."""

SEARCHED = {name: taken for name, taken in READINGS.items() if taken} | {BLIND: SUPPORT[:3]}
"""The readings that are searched for, with the support of the answers that they may take."""

OF_TABLES = ("as_written", "as_read", BLIND, "as_published")
"""The readings under which tables are made; `BLIND` where its search was made."""

LITERAL, CLOSEST = next(iter(READINGS)), "as_published"
"""The reading with only literal answers, and the one closest to the published numbers, whose files
do not carry its name."""


def by_rule(name: str, selection: str, own: str) -> str:
    """Return the name with the selection rule's, unless that is the table's or figure's own."""
    return name if selection == own else f"{name}.{selection}"


def by_reading(name: str, reading: str) -> str:
    """Return the name with the reading's, unless that is the closest one."""
    return name if reading == CLOSEST else f"{name}.{reading}"


@dataclass(frozen=True, kw_only=True)
class Description:
    """What tables and figures have in common."""

    id: str
    paper: str
    title: str
    protocol: str
    selection: str
    repeats: int


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
    digits: int | Mapping[str, int]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    baselines: Literal["ours", "none"] = "ours"
    blocks: Literal["none", "dataset"] = "none"
    print: Print = Print()
    plays: int = 1
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

    columns: int = 2
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


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a paper leaves open; its options set config values.

    `support` says of each option besides the literal one what the paper's text says of it.
    """

    asks: str
    says: str
    literal: str
    columns: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]
    support: Mapping[str, str] = field(default_factory=dict)
    post_hoc: str = ""

    def __post_init__(self) -> None:
        """Refuse an option without its support in the paper's text, or a literal one with one."""
        check_known("literal", self.literal, self.options)
        departures = self.options.keys() - {self.literal}
        for option in sorted(departures | self.support.keys()):
            if option not in departures:
                raise UserError(
                    f"support names {option!r}, which is not an option besides the literal one"
                )
            if self.support.get(option) not in SUPPORT:
                raise UserError(
                    f"option {option!r} has support {self.support.get(option)!r}; write one of "
                    f"{', '.join(SUPPORT)}"
                )

    def offered(self, reading: str) -> list[str]:
        """Return the options that a reading in `SEARCHED` may take, with the literal one."""
        if reading == BLIND and self.post_hoc:
            return [self.literal]
        return [o for o in self.options if self.support.get(o) in (None, *SEARCHED[reading])]


@dataclass(frozen=True, kw_only=True)
class Readings:
    """The questions of a paper by their names."""

    questions: Mapping[str, Question]


FILES: Mapping[str, Any] = {
    "table": TableDescription,
    "figure": FigureDescription,
    "claims": tuple[Claim, ...],
    "diagnoses": tuple[Diagnosis, ...],
    "readings": Readings,
}
"""What the files of a paper hold."""


def schema_of_file(file: str) -> dict[str, Any]:
    """Return the JSON Schema of one of the `FILES` of a paper."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"omtl {file}"}
    return head | schema.json_schema(FILES[file])
