"""``omtl submit``: write a learner's results on the board to one file, for a pull request."""

from __future__ import annotations

import argparse
from pathlib import Path

from omtl.commands._board import add_board_options, board_of
from omtl.commands._options import parallel_of, tell_written

HELP = "play a learner on the board's data sets and write a file for a pull request"
EXAMPLES = ("submit my_learner", "submit my_learner --data landmine,mhc --to handed_in/")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the learner, the board's options and the output folder."""
    command.add_argument("learner", metavar="NAME", help="a config in algorithm/")
    add_board_options(command)
    command.add_argument(
        "--to", type=Path, metavar="FOLDER", help="default: results/board/submissions"
    )


def run(options: argparse.Namespace) -> None:
    """Play the learner, replay a sample, write the file."""
    from omtl.reproduction.submission import write
    from omtl.reproduction.submission_replay import submit
    from omtl.util.paths import RESULTS

    content = submit(board_of(options, (options.learner,)), parallel_of(options))
    print("\n".join(content["verification"]))
    tell_written([write(content, options.to or RESULTS / "board" / "submissions")])
