"""Compare a learner with every baseline, with intervals and tests.

Examples
--------
omtl compare algorithm=my_learner dataset=landmine
omtl compare algorithm=coml dataset=my_data --against pa,pm repeats=20
omtl compare algorithm=my_learner dataset=landmine,spam,sentiment --to paper/
omtl compare algorithm=my_learner dataset=landmine --also rom_rda_rates --json
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omtl.commands._options import DRY_RUN, JSON, listed_names, option, print_json, tell_written

GROUP = "test my method"
NAMES: dict[str, Any] = {"type": listed_names, "default": (), "metavar": "NAMES"}
OPTIONS = (
    option("overrides", nargs="+", metavar="NAME=VALUE"),
    option("--also", **NAMES),
    option("--against", **{**NAMES, "default": None}),
    option("--metric", default="error"),
    option("--to", type=Path, metavar="FOLDER"),
    *(DRY_RUN, JSON),
)


def run(
    overrides: Sequence[str],
    also: tuple[str, ...],
    against: tuple[str, ...] | None,
    metric: str,
    to: Path | None,
    as_json: bool,
) -> None:
    """Compute missing units and print the learner among the others, best first.

    Parameters
    ----------
    overrides
        the learner and the data, as for omtl run
    also
        add these algorithms: a,b
    against
        compare with these algorithms: a,b
    metric
        default: error; auc uses selection=cv5
    to
        also write CSV, LaTeX, learning curves and ranks to this folder
    as_json
        Whether to print JSON.
    """
    from omtl.api.comparisons import compare

    sets = [word for word in overrides if word.startswith("dataset=")]
    rest = [word for word in overrides if word not in sets]
    data = [name for word in sets for name in listed_names(word.partition("=")[2])]
    asked = data if sets else None
    found = compare(None, asked, *rest, against=against, also=also, metric=metric)
    print_json(found.as_json()) if as_json else found.show()
    if to is not None:
        paths = found.write(to)
        if not as_json:
            tell_written(paths)
