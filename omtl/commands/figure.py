"""Reproduce a figure, and say which of its claims hold.

Examples
--------
omtl figure dom-fig2
omtl figure rom-figtheorems --jobs 1
"""

from __future__ import annotations

from typing import Any

from omtl.commands._options import DRY_RUN, PARALLEL, REQUEST, option, tell_written

GROUP = "check a paper"
OPTIONS = (option("figure", metavar="FIGURE"), *(*REQUEST, *PARALLEL, DRY_RUN))


def run(figure: str, **given: Any) -> bool:
    """Compute a figure's missing units, print its claims and write its files.

    Parameters
    ----------
    figure
        id of the figure; `omtl list figures` shows all
    **given
        The options that several commands have.
    """
    from omtl.api import figures

    made = figures.figure(figure, **given)
    made.show()
    tell_written(made.write())
    return made.is_broken
