"""Checks shared by all data sets: of options, and of parsed counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from omtl.util.errors import UserError

Choice = TypeVar("Choice")


def chosen(
    where: str, what: str, given: Iterable[Choice] | None, known: Collection[Choice]
) -> tuple[Choice, ...]:
    """Return the given choices, after checking that they are known, distinct and not empty.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    what : str
        What is chosen, as a plural, for the message.
    given : iterable, optional
        The choices; default: all.
    known : collection
        The possible choices.

    Raises
    ------
    UserError
        If a choice is unknown or repeated, or there is none.
    """
    choices = tuple(known if given is None else given)
    unknown = [choice for choice in choices if choice not in known]
    if unknown or not choices or len(set(choices)) != len(choices):
        fault = f"{unknown[0]!r} is not among" if unknown else "choose one or more, each once, of"
        raise UserError(f"{where}: {what}: {fault} {', '.join(map(str, known))}.")
    return choices


def expect_counts(where: str, expected: Mapping[str, int], found: Mapping[str, int]) -> None:
    """Check that a parsed data set has the expected counts.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    expected, found : mapping of str to int
        Counts by name.

    Raises
    ------
    UserError
        If a count differs or is on one side only.
    """
    wrong = [
        f"{what} {found.get(what, 0)} instead of {expected.get(what, 0)}"
        for what in {**expected, **found}
        if found.get(what) != expected.get(what)
    ]
    if wrong:
        shown = "; ".join(wrong[:5]) + ("; ..." if len(wrong) > 5 else "")
        raise UserError(
            f"{where}: the files parse to other counts than they must: {shown}. As the files are "
            f"verified, mend the parser or the table of counts in data_fetchers/{where}.py."
        )


def by_name(counts: Mapping[str, Iterable[Any]], *kinds: str) -> dict[str, int]:
    """Return counts of several kinds with their names, such as ``{"field 1: places": 690}``.

    Parameters
    ----------
    counts : mapping of str to iterable of int
        The counts of each name, one of each kind.
    *kinds : str
        What is counted.
    """
    return {
        f"{name}: {kind}": int(count)
        for name, own in counts.items()
        for kind, count in zip(kinds, own, strict=True)
    }
