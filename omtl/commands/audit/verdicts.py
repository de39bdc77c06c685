"""Judge the results in results/ again, from their repeats; nothing is played.

Examples
--------
omtl audit verdicts
omtl audit verdicts dom-table1
"""

from __future__ import annotations

from collections.abc import Sequence

from omtl.commands._options import option, tell_written

OPTIONS = (option("tables", nargs="*", metavar="TABLE"),)


def run(tables: Sequence[str]) -> None:
    """Write the files of published tables with the verdicts of the rule as it is.

    Parameters
    ----------
    tables
        their ids; default: all
    """
    from omtl.api.tables import judge_again
    from omtl.experiment.descriptions import descriptions
    from omtl.util.errors import UserError

    judged = [judge_again(table) for table in tables or descriptions("table")]
    if not any(judged):
        raise UserError(
            "results/reproduced has no such table; run `omtl table TABLE --repeats paper` first"
        )
    for paths in filter(None, judged):
        tell_written(paths)
