"""Contenders that take turns, and the ratios of their times."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Call = Callable[..., int | None]
"""What is timed. It returns the number of mistakes, or None where nothing is predicted."""


@dataclass(frozen=True)
class Effort:
    """How much a run does; the default is a full one.

    Parameters
    ----------
    turns : int
        Turns of each contender.
    seconds : float
        Minimum duration of a turn.
    numbers : int
        Numbers in a data set, whatever its width.
    slow : int
        Maximum number of examples for contenders in Python.
    learners : tuple of str
        Names of the learners that are timed; empty for all.
    """

    turns: int = 5
    seconds: float = 0.02
    numbers: int = 2_000_000
    slow: int = 500
    learners: tuple[str, ...] = ()


QUICK = Effort(turns=1, seconds=0.0, numbers=20_000, slow=60, learners=("PA", "DOM-I, ring"))
"""A run that only shows that everything works; its times mean nothing."""


@dataclass(frozen=True)
class Contender:
    """One way to do what a benchmark times.

    Parameters
    ----------
    name : str
    examples : int
        Number of examples in one call.
    call : callable
        What is timed.
    setup : callable
        Returns what a call is given, untimed before each.
    expected : int, optional
        The mistakes of ours on the same examples, if the algorithm is the same.
    clock : callable
        By default the thread's own time, which leaves out what other processes take.
    """

    name: str
    examples: int
    call: Call
    setup: Callable[[], tuple[Any, ...]] = tuple
    expected: int | None = None
    clock: Callable[[], float] = time.thread_time

    def seconds_per_example(self, seconds: float) -> float:
        """Return the median time per example of calls that fill some seconds."""
        times: list[float] = []
        began = time.perf_counter()
        while not times or time.perf_counter() - began < seconds:
            given = self.setup()
            before = self.clock()
            self.call(*given)
            times.append(self.clock() - before)
        return statistics.median(times) / self.examples

    def check_mistakes(self) -> None:
        """Call once, which also compiles; raise RuntimeError if it is another algorithm than ours.

        Sums in another order may turn a few predictions, and each library breaks ties its own way.
        """
        mistakes = self.call(*self.setup())
        if self.expected is None or mistakes is None:
            return
        if abs(mistakes - self.expected) > 9 + self.examples // 500:
            raise RuntimeError(
                f"{self.name} made {mistakes} mistakes where ours made {self.expected}: "
                "it is not the same algorithm"
            )


def compare(
    size: dict[str, Any], contenders: Sequence[Contender], effort: Effort
) -> list[dict[str, Any]]:
    """Return one row per contender, with the ratio of its time to that of the first.

    The contenders take turns, the first before each of the others.

    Parameters
    ----------
    size : dict
        What is timed and how large it is: the first columns of the rows.
    contenders : sequence of Contender
    effort : Effort

    Raises
    ------
    RuntimeError
        If an equal algorithm makes other mistakes than ours, up to ties and rounding.
    """
    print(", ".join(map(str, size.values())), file=sys.stderr, flush=True)
    for each in contenders:
        each.check_mistakes()
    first, *others = contenders
    times: dict[str, list[float]] = {each.name: [] for each in contenders}
    ratios: dict[str, list[float]] = {each.name: [] for each in contenders}
    for _ in range(effort.turns):
        for each in others:
            own, its = (one.seconds_per_example(effort.seconds) for one in (first, each))
            times[first.name].append(own)
            times[each.name].append(its)
            ratios[first.name].append(1.0)
            ratios[each.name].append(its / max(own, 1e-12))
    return [
        size
        | {
            "contender": each.name,
            "examples": each.examples,
            "ns_per_example": 1e9 * statistics.median(times[each.name]),
            "ratio": statistics.median(ratios[each.name]),
            "lowest": min(ratios[each.name]),
            "highest": max(ratios[each.name]),
        }
        for each in contenders
    ]
