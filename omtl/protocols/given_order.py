"""Test, then train, with each task's examples in the order of the data set.

This is for streams that change with time: shuffling would turn a drift into noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from omtl.data import streams
from omtl.data.streams import Stream
from omtl.protocols import cumulative
from omtl.protocols.cumulative import NEEDS as NEEDS
from omtl.protocols.setting import Setting
from omtl.util.errors import UserError

JOIN = ("together", "late")
"""When tasks begin: all in the first round, or so late that all end in the last one."""


class GivenOrder(Setting):
    """A setting whose stream is not shuffled."""

    @property
    def stream(self) -> Stream:
        """The rounds, with one example of every task that has any left."""
        join = self.protocol["join"]
        if join not in JOIN:
            known = ", ".join(JOIN)
            raise UserError(f"protocol.join={join!r} is not known; choose from {known}")
        made = streams.rounds_of(
            streams.in_given_order(self.tasks),
            deal=self.rng("deal", n_nodes=self.n_nodes),
            n_nodes=self.n_nodes,
            n_checkpoints=self.protocol["checkpoints"],
        )
        made = backwards(made) if join == "late" else made
        return streams.first_part(made, self.protocol.get("share", 1.0))


def backwards(stream: Stream) -> Stream:
    """Return a stream with its rounds in reverse order, each round unchanged."""
    sizes = np.diff(stream.start)[::-1]
    n_rounds = sizes.size
    events = np.concatenate(
        [np.arange(stream.start[t], stream.start[t + 1]) for t in range(n_rounds)[::-1]]
    )
    return Stream(
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        example=stream.example[events],
        node=stream.node[events],
        checkpoint=stream.checkpoint,
    )


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Play each learner on the stream of a repeat; the arrays are as in `cumulative`."""
    given = GivenOrder(**{one.name: getattr(setting, one.name) for one in fields(Setting)})
    return cumulative.play_grid(learners, given)
