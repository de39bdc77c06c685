"""The knowledge base of a lifelong learner: saving it, and resuming from it later."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from omtl.learners.lifelong import Knowledge
from omtl.util.archives import read_sealed, write_sealed
from omtl.util.errors import UserError

BY_COLUMN = ("scale", "seen", "alpha_sum")


def save_knowledge(state: Knowledge, path: Path) -> None:
    """Write a knowledge base to a file, whole or not at all.

    Parameters
    ----------
    state : Knowledge
        The state that a play of `omtl.learners.lifelong.AKLO` left, at any example.
    path : Path
        The file; by custom it ends in ``.npz``.
    """
    write_sealed(path, state._asdict(), compressed=True)


def load_knowledge(path: Path) -> Knowledge:
    """Return the knowledge base of a file, to be played on as it was or to `resume` with.

    Raises
    ------
    UserError
        If there is no such file, or it holds none.
    """
    try:
        arrays = read_sealed(path)
    except OSError as fault:
        raise UserError(f"{path}: cannot be read ({fault.strerror or fault})") from fault
    except UserError as fault:
        raise UserError(
            f"{path}: holds no knowledge base; give a file of save_knowledge"
        ) from fault
    if set(arrays) != set(Knowledge._fields):
        raise UserError(f"{path}: holds no knowledge base; give a file of save_knowledge")
    return Knowledge(**arrays)


def resume(known: Knowledge, state: Knowledge) -> Knowledge:
    """Put what is known into a new state, which may have room for more tasks; return that.

    Tasks keep their numbers: those to come have numbers that no task had before.

    Parameters
    ----------
    known : Knowledge
        A knowledge base, as of `load_knowledge`.
    state : Knowledge
        What the learner's ``new_state`` returned for all tasks, past and to come.

    Raises
    ------
    UserError
        If there are other features, or fewer tasks, than are known.
    """
    begun = np.flatnonzero(known.column >= 0)
    n = begun.size
    if known.total.shape[1] != state.total.shape[1]:
        raise UserError(
            f"knowledge: {known.total.shape[1]} features are known, the new examples have "
            f"{state.total.shape[1]}; give rows with the same features"
        )
    if n and begun[-1] >= state.column.size:
        raise UserError(
            f"knowledge: task {begun[-1]} is known, and there are only {state.column.size} tasks; "
            "count the past ones too"
        )
    state.total[:n] = known.total[:n]
    state.losses[:n, :n] = known.losses[:n, :n]
    for name in BY_COLUMN:
        getattr(state, name)[:n] = getattr(known, name)[:n]
    state.column[begun] = known.column[begun]
    state.horizon[begun] = known.horizon[begun]
    state.n_begun[:] = known.n_begun
    state.random[:] = known.random
    return state
