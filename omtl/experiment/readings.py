"""Readings: how a paper's open questions are answered, as functions of specifications.

And how readings, and the files of results under them, are named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from omtl.experiment.config import options, paper_file
from omtl.experiment.descriptions import check_places, shown_as
from omtl.experiment.schema import check_names, read_file
from omtl.experiment.specs import Spec
from omtl.util.errors import UserError, choose

S = TypeVar("S", bound=Spec)

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
        choose("literal", self.literal, self.options)
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


def questions(paper: str) -> Mapping[str, Question]:
    """Return a paper's open questions by name, from its ``readings.yaml``.

    Raises
    ------
    UserError
        If a key is wrong, or a question names a column or a place which there is not.
    """
    return read_file(Readings, paper_file(paper, "readings.yaml"), _checked_questions).questions


def _checked_questions(read: Readings, path: Path) -> Readings:
    columns = dict(shown_as(path.parent.name))
    for name, question in read.questions.items():
        where = f"{path}, question {name}"
        check_names(where, ("column", question.columns, columns))
        check_places(where, question.options.values())
    return read


@dataclass(frozen=True, kw_only=True)
class Reading(Spec):
    """A reading: answers to the open questions of a paper; of any paper if it answers none."""

    group: ClassVar[str] = "reading"
    paper: str | None
    answers: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse answers to the questions of no paper."""
        if self.answers and self.paper is None:
            raise UserError(
                f"it is of no paper, so nothing asks {next(iter(self.answers))!r}; name a reading "
                "of a paper, such as reading=dom/as_read"
            )

    @classmethod
    def of(cls, paper: str, name: str) -> Self:
        """Return a reading of a paper: ``conf/reading/<paper>/<name>.yaml``, or the one for all.

        Raises
        ------
        UserError
            If there is none; with the closest known name.
        """
        own = f"{paper}/"
        known = {
            option.removeprefix(own): option
            for option in options("reading")
            if "/" not in option or option.startswith(own)
        }
        return cls.named(known[choose("reading", name, sorted(known))])

    @property
    def asked(self) -> Mapping[str, Question]:
        """The questions of its paper; none where it answers none."""
        return questions(self.paper or "") if self.answers else {}

    @property
    def patch(self) -> dict[str, Any]:
        """The config values that the answers set, by ``group.name.path.to.value``.

        Raises
        ------
        UserError
            If an answer belongs to no question, or is not one of its options.
        """
        found: dict[str, Any] = {}
        asked = self.asked
        for question, answer in self.answers.items():
            known = asked[choose(f"question of {self.paper}", question, asked)].options
            found |= known[choose(f"answer to {question!r}", str(answer), known)]
        return found

    def __call__(self, spec: S) -> S:
        """Return a specification as this reading has it."""
        return spec.patched(self.patch)

    def for_column(self, column: str) -> Self:
        """Return the reading with only its answers that can affect a column of a table."""
        asked = self.asked
        return self._with_answers(lambda name: name not in asked or column in asked[name].columns)

    def for_dataset(self, dataset: str, typed: Collection[str] = ()) -> Self:
        """Return the reading with only its answers that can affect a data set.

        Answers to questions without columns stay, and so do all if the paper does not have the
        data set.

        Parameters
        ----------
        dataset : str
            A name in ``conf/dataset``.
        typed : collection of str
            Questions whose answers stay in any case, because they were typed.
        """
        shown = shown_as(self.paper or "") if self.answers else set()
        if not (named := {name for name, its in shown if its == dataset}):
            return self
        asked = self.asked
        return self._with_answers(
            lambda name: (
                name in typed
                or name not in asked
                or not asked[name].columns
                or not named.isdisjoint(asked[name].columns)
            )
        )

    def _with_answers(self, keeps: Callable[[str], bool]) -> Self:
        answers = {name: answer for name, answer in self.answers.items() if keeps(name)}
        return self if answers == self.answers else replace(self, answers=answers)
