"""Names that users give, matched without regard to case."""

from __future__ import annotations

from collections.abc import Iterable

from omtl.experiment.schema import choose
from omtl.tables.plan import descriptions
from omtl.util.errors import UserError


def known_name(what: str, name: str, known: Iterable[str]) -> str:
    """Return the known name; case counts only where names differ in nothing else.

    Parameters
    ----------
    what : str
        What is named, for the message.
    name : str
        What was typed.
    known : iterable of str
        What there is.

    Raises
    ------
    UserError
        If there is none, with the closest known names, or it is no text.
    """
    if not isinstance(name, str):
        raise UserError(f"{what}: {name!r} must be a name")
    names = list(known)
    alike = [one for one in names if one.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else choose(what, name, names)


def known_table(name: str) -> str:
    """Return the id of a table; raise UserError if there is no such table."""
    return known_name("table", name, descriptions("table"))


def known_id(name: str) -> str:
    """Return the id of a table or figure; raise UserError if there is no such one."""
    return known_name("table or figure", name, [*descriptions("table"), *descriptions("figure")])
