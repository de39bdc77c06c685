"""Test, then train, with each task's examples in the order of the data set.

This is for streams that change with time: shuffling would turn a drift into noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from omtl.data import streams
from omtl.data.streams import Stream
from omtl.protocols import cumulative
from omtl.protocols.cumulative import NEEDS as NEEDS
from omtl.protocols.setting import Setting
from omtl.util.errors import check_known

JOIN = ("together", "late")
"""When tasks begin: all in the first round, or so late that all end in the last one."""


class GivenOrder(Setting):
    """A setting whose stream is not shuffled."""

    @property
    def stream(self) -> Stream:
        """The rounds, with one example of every task that has any left."""
        join = self.protocol["join"]
        check_known("protocol.join", join, JOIN)
        made = self.in_rounds(streams.in_given_order(self.tasks))
        made = backwards(made) if join == "late" else made
        share = self.protocol.get("share", 1.0)
        return streams.first_part(made, share, self.protocol["checkpoints"])


def backwards(stream: Stream) -> Stream:
    """Return a stream with its rounds in reverse order, each round unchanged."""
    rounds = np.split(np.arange(stream.example.size), stream.start[1:-1])[::-1]
    events = np.concatenate(rounds)
    return Stream(
        start=np.cumsum([0, *map(len, rounds)]).astype(np.int64),
        example=stream.example[events],
        node=stream.node[events],
        checkpoint=stream.checkpoint,
    )


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Play each learner on the stream of a repeat; the arrays are as in `cumulative`."""
    return cumulative.play_grid(learners, GivenOrder(**vars(setting)))
