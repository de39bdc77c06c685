"""What is asked for: which numbers of a table or figure, and how they are computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from omtl.compute.store import Store
from omtl.experiment.config import options
from omtl.experiment.descriptions import Description, FigureDescription, known_readings
from omtl.experiment.readings import CLOSEST, Reading, by_reading, by_rule
from omtl.experiment.schema import NOT_NEGATIVE, POSITIVE, refuse_unfit
from omtl.experiment.selection import NO_HINDSIGHT, is_without_hindsight, plays_a_path
from omtl.experiment.specs import SERIAL, ParallelSpec, SelectionSpec
from omtl.util import user_folder
from omtl.util.errors import UserError, choose, known_name

if TYPE_CHECKING:
    from typing import Unpack


class ParallelOptions(TypedDict, total=False):
    """How units are computed.

    ``parallel`` names an option of ``conf/parallel``, by default threads, with ``jobs`` workers, by
    default one per core; ``address`` is that of a cluster.
    """

    parallel: str
    jobs: int | None
    address: str | None


class RequestOptions(ParallelOptions, total=False):
    """Which numbers are wanted, and how they are computed (`ParallelOptions`).

    ``reading`` is a standard reading or another of the paper, by default the closest one;
    ``repeats`` the number of the paper's repeats, by default as many as published, or for a table
    ``"auto"``, as many of these as each verdict needs; ``selection`` a selection rule, by default
    the table's own. ``one_draw`` shuffles one draw of synthetic data, as the papers do; ``times``
    replaces the times in ``results/``; ``slow`` includes the cells that take hours; ``search``
    names a search of large grids, instead of the table's own.
    """

    reading: str | None
    repeats: int | Literal["auto"] | None
    seed: int
    selection: str | None
    one_draw: bool
    times: bool
    slow: bool
    search: str | None


AUTO: Literal["auto"] = "auto"
"""As many repeats as each verdict needs (`omtl.tables.scoring.play_until_settled`)."""


def rule_without_hindsight(own: str, reading: Reading | None = None) -> str:
    """Return the name of the rule without hindsight: a table's own rule if it has none."""
    rule = reading(SelectionSpec.named(own)) if reading else SelectionSpec.named(own)
    if is_without_hindsight(rule):
        return own
    return "cv5_each" if rule.rule == "cross_validation" else NO_HINDSIGHT


@dataclass(frozen=True)
class Request:
    """Which numbers of a table or figure to compute, and how.

    Parameters
    ----------
    reading : str
        The reading's name.
    repeats : int, "auto" or None
        Number of the paper's repeats, for each of which some tables play several; None for as
        many as published; "auto" for as many of these as each verdict of a table needs.
    seed : int
    selection : str or None
        The selection rule's name; None for the table's own.
    parallel : ParallelSpec
    store : Store
        The store of finished units.
    one_draw : bool
        Whether all repeats on synthetic data shuffle one draw, as in the papers.
    times : bool
        Whether times just measured replace those in ``results/``.
    slow : bool
        Whether cells that are `too_slow` by their table's description are played too.
    search : str or None
        The name of a search of the table's large grids; None for the table's own, if it has one.
    """

    reading: str = CLOSEST
    repeats: int | Literal["auto"] | None = None
    seed: int = 0
    selection: str | None = None
    parallel: ParallelSpec = SERIAL
    store: Store = field(default_factory=Store.default, repr=False)
    one_draw: bool = False
    times: bool = False
    slow: bool = False
    search: str | None = None

    def __post_init__(self) -> None:
        """Refuse a number of repeats or a seed out of range; raise UserError."""
        if self.repeats not in (None, AUTO):
            refuse_unfit("repeats", self.repeats, POSITIVE)
        refuse_unfit("seed", self.seed, NOT_NEGATIVE)

    def is_full(self, description: Description) -> bool:
        """Whether this is the run whose results are in git, by the table's own rule."""
        return self.is_published(description) and self.rule(description) == description.selection

    def is_published(self, description: Description) -> bool:
        """Whether the results of this run are in git: by the table's rule, or by `NO_HINDSIGHT`."""
        return (
            self.repeats in (None, self.all_repeats(description))
            and self.seed == 0
            and not self.one_draw
            and self.search is None
            and self.rule(description) in (description.selection, NO_HINDSIGHT)
        )

    def rule(self, description: Description) -> str:
        """Return the name of the selection rule."""
        return self.selection or description.selection

    def n_repeats(self, description: Description) -> int:
        """Return the number of repeats, or how many there may be."""
        if self.repeats is None or self.repeats == AUTO:
            return self.all_repeats(description)
        return self.repeats

    def all_repeats(self, description: Description) -> int:
        """Return the paper's number of repeats, or that of a figure made cheaper."""
        cheaper = description.cheaper if isinstance(description, FigureDescription) else {}
        found = cheaper.get(self.reading)
        return found.repeats if found else description.repeats

    def stem(self, description: Description) -> str:
        """Return the names of result files, without suffix."""
        named = by_rule(description.id, self.rule(description), description.selection)
        return by_reading(named, self.reading)

    def check(self, description: Description) -> None:
        """Check that a table or figure can be made with the rule.

        Raises
        ------
        UserError
            On an unknown reading; if `NO_HINDSIGHT` is asked for, and another rule is the one
            without hindsight for this description (`rule_without_hindsight`); if a figure's rule
            plays several points in turn.
        """
        own, reading = description.selection, Reading.of(description.paper, self.reading)
        wanted = rule_without_hindsight(own, reading)
        if self.selection == NO_HINDSIGHT != wanted:
            raise UserError(
                f"{description.id} is tuned without hindsight by {wanted}, not {NO_HINDSIGHT}; "
                f"use --selection {wanted}"
            )
        rule = reading(SelectionSpec.named(self.rule(description)))
        if isinstance(description, FigureDescription) and plays_a_path(rule):
            raise UserError(
                f"figure {description.id}: selection {rule.name} plays several points in turn, and "
                f"lines are of one; use --selection {wanted}"
            )


def request_for(**given: Unpack[RequestOptions]) -> Request:
    """Return a request for a table or figure.

    Raises
    ------
    UserError
        If there is no such option, or a number is out of range.
    """
    user_folder.find()
    for name in given:
        choose("option", name, list(RequestOptions.__annotations__))
    asked: dict[str, Any] = dict(given)
    how = {name: asked.pop(name) for name in ParallelOptions.__annotations__ if name in asked}
    for group in ("selection", "search"):
        if asked.get(group):
            asked[group] = known_name(group, asked[group], options(group))
    reading = asked.pop("reading", None) or CLOSEST
    if "/" not in reading:
        reading = known_name("reading", reading, known_readings())
    return Request(reading, parallel=parallel_for(**how), **asked)


def parallel_for(
    parallel: str = "threads", jobs: int | None = None, address: str | None = None
) -> ParallelSpec:
    """Return a parallel engine.

    Raises
    ------
    UserError
        If there is none, or it takes no address.
    """
    given = {"parallel.*.jobs": jobs, "parallel.*.address": address}
    typed = {key: value for key, value in given.items() if value is not None}
    return ParallelSpec.named(known_name("parallel", parallel, options("parallel"))).patched(typed)
