"""The board: learners ranked by pairwise comparisons over all data sets, without hindsight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omtl.evidence.board import BoardPlan
from omtl.experiment.config import known_option, options
from omtl.experiment.schema import NOT_NEGATIVE, POSITIVE, refuse_unfit
from omtl.reproduction.board import Board, from_results, make_board
from omtl.tables.request import ParallelOptions, parallel_for
from omtl.util import user_folder
from omtl.util.errors import UserError, as_known, known_name

if TYPE_CHECKING:
    from typing import Unpack


def planned_board(
    learners: str | Sequence[str] = (),
    data: str | Sequence[str] = (),
    *,
    repeats: int | None = None,
    seed: int = 0,
    board: str = "default",
) -> BoardPlan:
    """Return what a board of these learners and data sets consists of.

    Raises
    ------
    UserError
        If there is no such learner, data set or board.
    """
    user_folder.find()
    if repeats is not None:
        refuse_unfit("repeats", repeats, POSITIVE)
    refuse_unfit("seed", seed, NOT_NEGATIVE)

    def listed(group: str, given: str | Sequence[str]) -> tuple[str, ...]:
        known = options(group)
        return tuple(known_option(group, as_known(group, one, known)) for one in _several(given))

    return BoardPlan(
        board=known_name("board", board, options("board")),
        learners=listed("algorithm", learners),
        data=listed("dataset", data),
        repeats=repeats,
        seed=seed,
    )


def _several(given: Any) -> tuple[str, ...]:
    """Return the names that are given, of which one may be alone."""
    is_one = isinstance(given, str) or not isinstance(given, Iterable)
    return (given,) if is_one else tuple(given)


def board(
    learners: str | Sequence[str] = (),
    data: str | Sequence[str] = (),
    *,
    repeats: int | None = None,
    seed: int = 0,
    board: str = "default",
    published: bool = False,
    **how: Unpack[ParallelOptions],
) -> Board:
    """Rank learners over data sets, tuned without hindsight, like ``omtl board``.

    Parameters
    ----------
    learners, data : str or sequence of str
        Names of algorithms and data sets; none means all. Those of your own need a config
        (`omtl new`); `omtl.compare` takes classes and frames.
    repeats : int, optional
        By default as many as the board's config says; not of published numbers.
    seed : int
        Seed of the streams.
    board : str
        A name in ``conf/board``.
    published : bool
        Whether to rank the numbers in ``results/board``, without computing anything.
    **how
        How to compute (`ParallelOptions`).

    Returns
    -------
    Board
        ``.ranking``, ``.frame``.

    Raises
    ------
    UserError
        If there is no such learner or data set, or no two learners have numbers.

    Examples
    --------
    >>> import omtl
    >>> omtl.board(["pa", "coml", "arow"], published=True).ranking["algorithm"].tolist()
    ['arow', 'coml', 'pa']
    """
    if published and (repeats is not None or how):
        ignored = "repeats" if repeats is not None else next(iter(how))
        raise UserError(f"published numbers are as they were made; leave {ignored} out")
    if published:  # whose learners may be submitted, and of no config here
        plan = planned_board(repeats=repeats, seed=seed, board=board)
        return from_results(replace(plan, learners=_several(learners), data=_several(data)))
    plan = planned_board(learners, data, repeats=repeats, seed=seed, board=board)
    return make_board(plan, parallel_for(**how))
