"""Measure how much of each paper's margin comes from tuning in hindsight.

Examples
--------
omtl audit hindsight
omtl audit hindsight --repeats 5
"""

from __future__ import annotations

from omtl.commands._options import option, positive, tell_written

OPTIONS = (option("--repeats", type=positive),)


def run(repeats: int | None) -> None:
    """Write and print the margins under the papers' rule and without hindsight.

    Parameters
    ----------
    repeats
        the papers' repeats, for each of which some tables play several; default: as many as
        published
    """
    from omtl.evidence.hindsight_gap import write_hindsight_gap
    from omtl.tables.request import Request

    sentences, paths = write_hindsight_gap(Request(repeats=repeats))
    print("\n".join(sentences))
    tell_written(paths)
