"""Options shared by the commands `board` and `submit`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from omtl.commands._options import names_in, natural, positive

if TYPE_CHECKING:
    from omtl.evidence.board import Board


def add_board_options(command: argparse.ArgumentParser) -> None:
    """Add the options that choose the board, its data and repeats, and the engine."""
    command.add_argument("--data", metavar="NAMES", help="use only these data sets: a,b")
    command.add_argument("--repeats", type=positive, help="default: as the board's config says")
    command.add_argument("--seed", type=natural, help="default: 0")
    command.add_argument("--board", metavar="NAME", default="default", help="a name in conf/board")
    command.add_argument("--jobs", type=positive, help="default: one per core")
    command.add_argument("--parallel", default="threads", help="a name in conf/parallel")
    command.add_argument("--address", help="address of a cluster's scheduler; see docs/cluster.md")


def board_of(options: argparse.Namespace, learners: Sequence[str]) -> Board:
    """Return the board that the options choose, of these learners or, where there are none, all."""
    from omtl.evidence.board import Asked, Board

    asked = Asked(
        board=options.board,
        learners=learners,
        data=names_in(options.data),
        repeats=options.repeats,
        seed=options.seed or 0,
    )
    return Board(asked)
