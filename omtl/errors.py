"""The one exception that a user's mistake raises."""


class UserError(Exception):
    """A mistake that its user can mend.

    Its text is one sentence or two: what is wrong, where, and what to do. The commands print it
    without a traceback and exit with status 2.
    """
