"""The points of a grid on one stream, whatever their learner can share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from omtl.data.examples import Examples
from omtl.data.streams import Stream
from omtl.kernel.grid_loop import share
from omtl.kernel.play import Trace, play
from omtl.kernel.rules import Shape, findings
from omtl.kernel.sharing import can_share


def play_points(
    learners: Sequence[Any], examples: Examples, stream: Stream, shape: Shape, zero: float = 0.0
) -> Iterator[tuple[Trace, dict[str, np.ndarray]]]:
    """Play a stream with all points of a grid, which share what they can.

    Parameters
    ----------
    learners : sequence
        Learners of one kind.
    examples, stream, shape, zero
        As in `omtl.kernel.play.play`.

    Yields
    ------
    tuple of (Trace, dict)
        The trace and the findings of each learner in turn.
    """
    if not learners:
        return
    if all(map(can_share, learners)):
        yield from share(learners, examples, stream, shape, zero=zero)
        return
    make = getattr(learners[0], "in_common", None)
    common = None if make is None else make(shape)
    for learner in learners:
        trace, state = play(learner, examples, stream, shape, True, common, zero)
        yield trace, findings(learner, state)
