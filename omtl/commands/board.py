"""``omtl board``: rank every learner over all data sets, tuned without hindsight."""

from __future__ import annotations

import argparse
from pathlib import Path

from omtl.commands._options import (
    PARALLEL,
    add_flags,
    add_parallel_options,
    given_parallel,
    listed_names,
    natural,
    positive,
    refuse_ignored,
    tell_written,
)
from omtl.util.status import DONE, FAILED

GROUP = "test my method"
HELP = "rank every learner over all data sets, tuned without hindsight"
EXAMPLES = (
    "board",
    "board --learners my_learner,pa,coml --data landmine,mhc",
    "board --from-results --learners pa,coml,arow",
    "board --submit my_learner",
    "board --verify results/board/submissions/my_learner.json",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options that choose learners, data sets and output."""
    add = command.add_argument
    add("--learners", metavar="NAMES", help="rank only these learners: a,b")
    add("--data", metavar="NAMES", help="use only these data sets: a,b")
    add("--repeats", type=positive, help="default: as the board's config says")
    add("--seed", type=natural, help="seed of shuffles and draws; default: 0")
    add("--board", metavar="NAME", default="default", help="a name in conf/board")
    add_parallel_options(command)
    add_flags(command, from_results="rank the numbers in results/board without running anything")
    add("--to", type=Path, metavar="FOLDER", help="write the files to this folder")
    add("--submit", metavar="NAME", help="write this learner's results for a pull request")
    add("--verify", type=Path, metavar="FILE", help="replay a sample of a submission's numbers")
    add("--cells", type=positive, metavar="N", help="with --verify: how many; default: a tenth")
    add_flags(command, "dry-run", "times")


def run(options: argparse.Namespace) -> int:
    """Compute missing units and print the ranking; also write the whole board."""
    from omtl.api import boards

    _refuse_ignored(options)
    if options.verify is not None:
        sound = boards.verify_submission(options.verify, options.seed, options.cells)
        return DONE if sound else FAILED
    chosen = {"repeats": options.repeats, "seed": options.seed or 0, "board": options.board}
    chosen |= {"data": listed_names(options.data), **given_parallel(options)}
    if options.submit is not None:
        tell_written([boards.submit(options.submit, folder=options.to, **chosen)])
        return DONE
    found = boards.board(listed_names(options.learners), published=options.from_results, **chosen)
    found.show()
    if options.to is not None or (found.is_kept and not options.from_results):
        tell_written(found.write(options.to, options.times))
    return FAILED if found.is_broken else DONE


def _refuse_ignored(options: argparse.Namespace) -> None:
    """Report options that have no effect together with others."""
    why, ignored = "", [*PARALLEL, "repeats", "dry_run", "times"]
    if options.from_results:
        why, ignored = "--from-results only ranks numbers", [*ignored, "to", "verify", "submit"]
    elif options.verify is not None:
        why = "--verify only replays a submission"
        ignored += ["board", "to", "learners", "data", "submit"]
    elif options.submit is not None:
        why, ignored = "--submit plays one learner", ["learners", "times"]
    else:
        why, ignored = "--cells is for --verify", []
    if options.verify is None:
        ignored.append("cells")
    refuse_ignored(options, add_options, why, *ignored)
