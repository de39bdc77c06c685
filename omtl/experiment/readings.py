"""Readings: how a paper's open questions are answered, as functions of specifications."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

from omtl.experiment.config import options, paper_file, paper_files
from omtl.experiment.descriptions import Question, Readings
from omtl.experiment.schema import check_names, choose, keys_of, read_file, read_yaml
from omtl.experiment.specs import SPECS, ProtocolSpec, Spec, known_settings

S = TypeVar("S", bound=Spec)

TABLE = "table"
"""The group of what a reading says about tables, and not about experiments."""


def questions(paper: str) -> Mapping[str, Question]:
    """Return a paper's open questions by name, from its ``readings.yaml``; raise UserError if it
    is wrong."""
    return read_file(Readings, paper_file(paper, "readings.yaml")).questions


def check_questions(asked: Mapping[str, Question], columns: Iterable[str], where: str) -> None:
    """Refuse questions of a paper with a wrong column or place of a config value.

    Parameters
    ----------
    asked : mapping
        The questions by name.
    columns : iterable of str
        What the columns and panels of the paper are called.
    where : str
        What to call their place.

    Raises
    ------
    UserError
        With the closest known name.
    """
    known = list(columns)
    for name, question in asked.items():
        here = f"{where}, question {name}"
        check_names(here, ("column", question.columns, known))
        check_places(here, question.options.values())


def check_places(where: str, patches: Iterable[Mapping[str, Any]]) -> None:
    """Refuse patches that set a value which no config has; raise UserError."""
    for key in dict.fromkeys(key for patch in patches for key in patch):
        _check_place(where, *key.split("."))


def _check_place(where: str, group: str, name: str = "", *path: str) -> None:
    """Refuse a place ``group.name.key`` that no config has; a name may be ``*``.

    Of a table a reading says what its ± is: ``table.<id>.spread``.
    """
    if group == TABLE:
        tables = [f"{path.parent.name}-{path.stem}" for path in paper_files("table*.yaml")]
        check_names(where, (group, [name], tables), ("value of a table", path, ["spread"]))
        return
    check_names(where, ("group", [group], SPECS))
    if name != "*":
        check_names(where, (group, [name], options(group)))
    kind = SPECS[group]
    keys = {*keys_of(kind).kinds, *(known_settings() if kind is ProtocolSpec else ())}
    check_names(where, (f"value of {group} {name}", path[:1] or [""], sorted(keys)))


@dataclass(frozen=True, kw_only=True)
class Reading(Spec):
    """A reading: answers to the open questions of a paper; of any paper if it answers none."""

    group: ClassVar[str] = "reading"
    paper: str | None
    answers: Mapping[str, Any] = field(default_factory=dict)

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
            known = asked[choose(f"question of {self.paper}", question, list(asked))].options
            found |= known[choose(f"answer to {question!r}", str(answer), list(known))]
        return found

    def __call__(self, spec: S) -> S:
        """Return a specification as this reading has it."""
        return spec.patched(self.patch)

    def spread_in(self, table: str, written: str) -> str:
        """Return what the ± of a table is: as `written`, unless an answer says otherwise."""
        return str(self.patch.get(f"{TABLE}.{table}.spread", written))

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
        shown = columns_with(self.paper, dataset) if self.answers else set()
        if not shown:
            return self
        asked, named = self.asked, {*shown, dataset}
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


NO_READING = Reading(name="none", paper=None)
"""A reading without answers."""


def columns_with(paper: str | None, dataset: str) -> set[str]:
    """Return the names under which a paper's tables and figures show a data set."""
    shown = [
        each
        for pattern, key in (("table*.yaml", "columns"), ("fig*.yaml", "panels"))
        for path in paper_files(pattern)
        if path.parent.name == paper
        for each in read_yaml(path)[key]
    ]
    return {each.get("published", dataset) for each in shown if each["dataset"] == dataset}
