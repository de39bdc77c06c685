"""Exceptions that the user can fix."""


class UserError(Exception):
    """A mistake that the user can fix.

    Its text is one sentence or two: what is wrong, where, and what to do. The commands print it
    without a traceback and exit with status 2.
    """


class WriteError(UserError):
    """A file cannot be written: the disk is full, or its folder is not writable."""
