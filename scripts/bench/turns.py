"""Contenders that take turns, and the ratios of their times."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

Call = Callable[[], int | None]
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
    start : callable
        Prepares one call, untimed, and returns it.
    expected : int, optional
        The mistakes of ours on the same examples, if the algorithm is the same.
    clock : callable
        By default the thread's own time, which leaves out what other processes take.
    """

    name: str
    examples: int
    start: Callable[[], Call]
    expected: int | None = None
    clock: Callable[[], float] = time.thread_time


def seconds_per_example(contender: Contender, seconds: float) -> float:
    """Return the median time per example of calls that fill some seconds."""
    times: list[float] = []
    began = time.perf_counter()
    while not times or time.perf_counter() - began < seconds:
        call = contender.start()
        before = contender.clock()
        call()
        times.append(contender.clock() - before)
    return statistics.median(times) / contender.examples


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
        mistakes = each.start()()  # also compiles
        if each.expected is not None and mistakes is not None:
            check_mistakes(each, mistakes)
    first, *others = contenders
    times: dict[str, list[float]] = {each.name: [] for each in contenders}
    ratios: dict[str, list[float]] = {first.name: [1.0]} | {each.name: [] for each in others}
    for _ in range(effort.turns):
        for each in others or [first]:
            own = seconds_per_example(first, effort.seconds)
            times[first.name].append(own)
            if each is not first:
                times[each.name].append(seconds_per_example(each, effort.seconds))
                ratios[each.name].append(times[each.name][-1] / max(own, 1e-12))
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


def check_mistakes(contender: Contender, mistakes: int) -> None:
    """Raise RuntimeError if a contender is not the same algorithm as ours.

    Sums in another order may turn a few predictions, and each library breaks ties its own way.
    """
    assert contender.expected is not None
    if abs(mistakes - contender.expected) > 9 + contender.examples // 500:
        raise RuntimeError(
            f"{contender.name} made {mistakes} mistakes where ours made {contender.expected}: "
            "it is not the same algorithm"
        )


def as_frame(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return rows as a frame, with numbers to four significant digits."""
    frame = pd.DataFrame(list(rows))
    for name in frame.select_dtypes("float"):
        frame[name] = [float(f"{value:.4g}") for value in frame[name]]
    return frame
