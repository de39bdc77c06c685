"""Checks that all data sets share: of options, of the lines of a file, and of parsed counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from data_fetchers._catalogue import expected_counts
from omtl.util.errors import UserError

Choice = TypeVar("Choice")
Line = TypeVar("Line")


def checked_choices(
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


def read_lines(
    where: str, text: str, read: Callable[[str], Line], form: str, first: int = 1
) -> list[Line]:
    """Return what a function makes of each line of a text.

    Parameters
    ----------
    where : str
        The data set or the file, for the message.
    text : str
    read : callable
        Raises ValueError or KeyError if the line has another form.
    form : str
        The form of a line, for the message.
    first : int
        The number of the first line, for the message.

    Raises
    ------
    UserError
        If a line has another form.
    """
    found = []
    # Not splitlines: it also splits at characters that may occur within a line.
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=first):
        try:
            found.append(read(line))
        except (ValueError, KeyError) as fault:
            raise UserError(f"{where}: line {number} is not {form}: {line[:60]!r}.") from fault
    return found


def check_counts(where: str, found: Mapping[str, int]) -> None:
    """Check what a data set's files parsed to against ``counts.csv``.

    Parameters
    ----------
    where : str
        The data set's name.
    found : mapping of str to int
        All counts, or those of some parts of the data set.

    Raises
    ------
    UserError
        If a count differs from the table's or is not there.
    """
    expected = expected_counts(where)
    wrong = [
        f"{what} {count} instead of {expected.get(what, 0)}"
        for what, count in found.items()
        if count != expected.get(what)
    ]
    if wrong:
        shown = "; ".join(wrong[:5]) + ("; ..." if len(wrong) > 5 else "")
        raise UserError(
            f"{where}: the files parse to other counts than they must: {shown}. As the files are "
            f"verified, fix the parser, or data_fetchers/counts.csv."
        )
