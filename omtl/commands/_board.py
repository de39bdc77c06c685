"""What the commands `board` and `submit` take alike."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from omtl.commands._options import natural, positive

if TYPE_CHECKING:
    from omtl.evidence.board import Board


def add_board_options(command: argparse.ArgumentParser) -> None:
    """Add which board, on what data, how often, and how it is computed."""
    command.add_argument("--data", metavar="NAMES", help="these data sets alone: a,b")
    command.add_argument("--repeats", type=positive, help="default: as many as the board's config")
    command.add_argument("--seed", type=natural, default=0, help="default: 0")
    command.add_argument("--board", metavar="NAME", default="default", help="a name in conf/board")
    command.add_argument("--jobs", type=positive, help="default: one a core")
    command.add_argument("--parallel", default="threads", help="a name in conf/parallel")
    command.add_argument("--address", help="of a cluster's scheduler; see docs/cluster.md")


def board_of(options: argparse.Namespace, learners: str | None) -> Board:
    """Return the board that the options ask for."""
    from omtl.evidence.board import Asked, Board

    asked = Asked(
        board=options.board,
        learners=_names(learners),
        data=_names(options.data),
        repeats=options.repeats,
        seed=options.seed,
    )
    return Board(asked)


def _names(given: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())
