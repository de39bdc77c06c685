"""Mistakes that the user can correct, and the look-up of names that users type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable


class UserError(Exception):
    """A mistake that the user can fix.

    Its text is one sentence or two: what is wrong, where, and what to do. The commands print it
    without a traceback and exit with status 2.

    Examples
    --------
    >>> import omtl
    >>> try:
    ...     omtl.run(algorithm="pa", repeats=0)
    ... except omtl.UserError as fault:
    ...     print(fault)
    the config: repeats=0 must be a positive whole number
    """


class WriteError(UserError):
    """A file cannot be written: the disk is full, or its folder is not writable."""


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that stand more than once, each once."""
    return [name for name, count in Counter(names).items() if count > 1]


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a "did you mean" with the closest known name, ignoring case, or nothing.

    The shortest that begins with the name is closest.
    """
    from difflib import get_close_matches  # right names do without

    by_lower = {one.lower(): one for one in known}
    longer = sorted((one for one in by_lower if name and one.startswith(name.lower())), key=len)
    close = longer or get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""


def choose(what: str, name: str, known: Collection[str], meant: Collection[str] = ()) -> str:
    """Return `name` if it is known; raise a UserError with the known names if it is not.

    Parameters
    ----------
    what : str
        What is named, for the message: ``algorithm``, ``protocol.loss``.
    name : str
    known : collection of str
    meant : collection of str
        The names to suggest; by default the closest known one.
    """
    if name in known:
        return name
    closest = did_you_mean(str(name), known)
    hint = f" (did you mean {' or '.join(map(repr, meant))}?)" if meant else closest
    raise UserError(f"no {what} {name!r}{hint}; choose from {', '.join(known)}")


def as_known(what: str, name: str, known: Iterable[str]) -> str:
    """Return a name in the case in which it is known; case counts if names differ in nothing else.

    Parameters
    ----------
    what : str
        What is named, for the message.
    name : str
        What was typed, which need not be known.
    known : iterable of str
        What there is.

    Raises
    ------
    UserError
        If it is no text.
    """
    if not isinstance(name, str):
        raise UserError(f"{what}: {name!r} must be a name")
    alike = [one for one in known if one.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else name


def known_name(what: str, name: str, known: Iterable[str]) -> str:
    """Return the known name, whatever its case (`as_known`).

    Raises
    ------
    UserError
        If there is none, with the closest known names, or it is no text.
    """
    names = list(known)
    return choose(what, as_known(what, name, names), names)
