"""Exceptions that the user can fix."""

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


def check_known(name: str, value: object, known: Collection[str]) -> None:
    """Raise a UserError unless an option has one of the known values.

    Parameters
    ----------
    name : str
        The option, such as ``protocol.loss``, for the message.
    value : object
        Its value.
    known : collection of str
        The possible values.
    """
    if value not in known:
        raise UserError(f"{name}={value!r} is not known; choose from {', '.join(known)}")
