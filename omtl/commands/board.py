"""``omtl board``: rank every learner over all data sets, tuned without hindsight."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from omtl.commands._board import add_board_options, board_of
from omtl.commands._options import (
    PARALLEL,
    add_flags,
    names_in,
    parallel_of,
    positive,
    refuse_ignored,
    tell_written,
)
from omtl.util.screen import say
from omtl.util.status import DONE, FAILED

if TYPE_CHECKING:
    from omtl.reproduction.board import Made

HELP = "rank every learner over all data sets, tuned without hindsight"
EXAMPLES = (
    "board",
    "board --learners my_learner,pa,coml --data landmine,mhc",
    "board --from-results --learners pa,coml,arow",
    "board --verify results/board/submissions/my_learner.json",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options that choose learners, data sets and output."""
    command.add_argument("--learners", metavar="NAMES", help="rank only these learners: a,b")
    add_board_options(command)
    add_flags(command, from_results="rank the numbers in results/board without running anything")
    command.add_argument("--to", type=Path, metavar="FOLDER", help="write the files to this folder")
    command.add_argument(
        "--verify", type=Path, metavar="FILE", help="replay a sample of a submission's numbers"
    )
    command.add_argument(
        "--cells", type=positive, metavar="N", help="with --verify: how many; default: a tenth"
    )
    add_flags(command, "dry-run", "times")


def run(options: argparse.Namespace) -> int:
    """Compute missing units and print the ranking; also write the whole board."""
    from omtl.compute.dry_run import Planned
    from omtl.evidence.board import Asked
    from omtl.reproduction.board import from_results, make, write
    from omtl.util.paths import CHECKOUT, RESULTS
    from omtl.util.user_folder import own_folder

    _refuse_ignored(options)
    if options.verify is not None:
        return _verify(options)
    board = board_of(options, names_in(options.learners))
    try:
        made = from_results(board) if options.from_results else make(board, parallel_of(options))
    except Planned as plan:
        say(plan.summary())
        return DONE
    _print(made)
    is_whole = board.asked == Asked()
    is_kept = is_whole and (CHECKOUT is None or own_folder() is None)
    folder = options.to or (RESULTS / "board" if is_kept else None)
    if folder is not None and not options.from_results:
        tell_written(write(made, folder, options.times))
    return FAILED if made.broken else DONE


def _refuse_ignored(options: argparse.Namespace) -> None:
    """Report options that have no effect together with ``--from-results`` or ``--verify``."""
    if options.from_results:
        why, ignored = (
            "--from-results only ranks and prints what results/board holds",
            ["verify", "cells"],
        )
    elif options.verify is not None:
        why, ignored = "--verify only replays a submission", ["learners", "data"]
    else:
        refuse_ignored(options, add_options, "--cells is for --verify", "cells")
        return
    ignored += ["to", "board", "repeats", "dry_run", "times", *PARALLEL]
    refuse_ignored(options, add_options, why, *ignored)


def _print(made: Made) -> None:
    """Print the ranking, the best first."""
    from omtl.commands._grid import print_rows
    from omtl.evidence.comparisons import REGION

    heads = ["", "learner", "Elo", "95 % interval", "win", "tie", "loss"]
    heads += ["data sets", "points", "edge", "ties", "time"]
    rows = []
    for place, row in enumerate(made.ranking.to_dict("records"), start=1):
        ratio = made.ratios.get(row["algorithm"])
        rows.append(
            [
                *(str(place), row["label"], f"{row['elo']:.0f}"),
                f"[{row['low']:.0f}, {row['high']:.0f}]",
                *(f"{100 * row[name]:.0f} %" for name in ("win", "tie", "loss")),
                *(str(row["data_sets"]), str(row["points"])),
                f"{row['edge']:.0%} {row['grid']}".strip(),
                f"{row['ties']:.0%}",
                "" if ratio is None else f"{ratio:.2g}",
            ]
        )
    print_rows(
        heads,
        rows,
        right=[*heads[:1], *heads[2:]],
        spare=["ties", "points", "time", "data sets", "edge"],
    )
    say(
        "Elo is relative to the learners that compete here; intervals "
        f"resample data sets and repeats. In the shares, numbers within {100 * REGION:.0f} % of "
        "each other are a tie. Edge and ties are the shares of choices at an edge of the grid and "
        "between tied points. Time is that of the whole grid, relative to the median learner."
    )
    for note in made.notes:
        say(note)


def _verify(options: argparse.Namespace) -> int:
    from omtl.reproduction.submission_replay import verify

    sentences, sound = verify(options.verify, options.seed, options.cells)
    print("\n".join(sentences))
    return DONE if sound else FAILED
