"""The knowledge base of a lifelong learner: saving it, and resuming from it later."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from omtl.learners.lifelong import Knowledge
from omtl.util.archives import read_sealed, write_sealed
from omtl.util.errors import UserError

BY_COLUMN = ("scale", "seen", "alpha_sum")


def save_knowledge(state: Knowledge, path: Path) -> None:
    """Write a knowledge base to a file, atomically.

    Parameters
    ----------
    state : Knowledge
        The state of `omtl.learners.lifelong.AKLO` after any number of examples.
    path : Path
        The file, usually with the suffix ``.npz``.
    """
    write_sealed(path, state._asdict(), compressed=True)


def load_knowledge(path: Path) -> Knowledge:
    """Return the knowledge base from a file, to be used directly or with `resume`.

    Raises
    ------
    UserError
        If the file does not exist or has no knowledge base.
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
    """Copy a knowledge base into a new state, which may have more tasks; return the state.

    Tasks keep their numbers; new tasks need new numbers.

    Parameters
    ----------
    known : Knowledge
        A knowledge base, as returned by `load_knowledge`.
    state : Knowledge
        The learner's ``new_state`` for all tasks, past and future.

    Raises
    ------
    UserError
        If the features differ, or there are fewer tasks than in the knowledge base.
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
