"""Rank every learner over all data sets, tuned without hindsight.

Examples
--------
omtl board
omtl board --learners my_learner,pa,coml --data landmine,mhc
omtl board --from-results --learners pa,coml,arow
omtl board --submit my_learner
omtl board --verify results/board/submissions/my_learner.json
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from omtl.commands._options import (
    DRY_RUN,
    PARALLEL,
    TIMES,
    flag,
    listed_names,
    natural,
    option,
    positive,
    refuse_ignored,
    tell_written,
)

GROUP = "test my method"
NAMES: dict[str, Any] = {"type": listed_names, "default": (), "metavar": "NAMES"}
OPTIONS = (
    option("--learners", **NAMES),
    option("--data", **NAMES),
    option("--repeats", type=positive),
    option("--seed", type=natural),
    option("--board", metavar="NAME", default="default"),
    *PARALLEL,
    flag("from-results"),
    option("--to", type=Path, metavar="FOLDER"),
    option("--submit", metavar="NAME"),
    option("--verify", type=Path, metavar="FILE"),
    option("--cells", type=positive, metavar="N"),
    *(DRY_RUN, TIMES),
)
PLAYED = ("jobs", "parallel", "address", "repeats", "dry_run", "times")
"""Options of what plays learners."""


def run(**given: Any) -> bool:
    """Compute missing units and print the ranking; also write the whole board.

    Parameters
    ----------
    learners
        rank only these learners: a,b
    data
        use only these data sets: a,b
    repeats
        default: as the board's config says
    seed
        seed of shuffles and draws; default: 0
    board
        a name in conf/board
    from_results
        rank the numbers in results/board without running anything
    to
        write the files to this folder
    submit
        write this learner's results for a pull request
    verify
        replay a sample of a submission's numbers
    cells
        with --verify: how many; default: a tenth
    **given
        The values of all options.
    """
    from omtl.api.boards import board, planned_board
    from omtl.reproduction.submission import check_submission, submit
    from omtl.tables.request import parallel_for

    _refuse_ignored(given)
    asked = SimpleNamespace(**given)
    if asked.verify is not None:
        sentences, sound = check_submission(asked.verify, asked.seed, asked.cells)
        print("\n".join(sentences))
        return not sound
    chosen = {name: given[name] for name in ("data", "repeats", "board")}
    chosen["seed"] = asked.seed or 0
    how = {} if asked.from_results else {name: given[name] for name in PLAYED[:3]}
    if asked.submit is not None:
        plan = planned_board([asked.submit], **chosen)
        tell_written([submit(plan, parallel_for(**how), asked.to)])
        return False
    found = board(asked.learners, published=asked.from_results, **chosen, **how)
    found.show()
    if asked.to is not None or (found.is_kept and not asked.from_results):
        tell_written(found.write(asked.to, asked.times))
    return found.is_broken


def _refuse_ignored(given: dict[str, Any]) -> None:
    """Report options that have no effect together with others."""
    from omtl.compute.progress import is_dry

    if given["from_results"]:
        why, ignored = "--from-results only ranks numbers", [*PLAYED, "to", "verify", "submit"]
    elif given["verify"] is not None:
        why = "--verify only replays a submission"
        ignored = [*PLAYED, "board", "to", "learners", "data", "submit"]
    elif given["submit"] is not None:
        why, ignored = "--submit plays one learner", ["learners", "times"]
    else:
        why, ignored = "--cells is for --verify", []
    if given["verify"] is None:
        ignored.append("cells")
    refuse_ignored(OPTIONS, {**given, "dry_run": is_dry()}, why, *ignored)
