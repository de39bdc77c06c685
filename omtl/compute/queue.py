"""The queue of units: the first of each new kind, then the longest.

The first unit of a kind compiles its learner, or loads compiled code, and loads its data.
Meanwhile, other units of its kind would only wait, and so would another kind that must be compiled,
because threads compile one at a time. So other workers continue with known kinds. Among these, the
kind with the longest units comes first; otherwise one worker would finish it at the end while the
others are idle.

Short units are handed out several at a time, so that one process can keep many workers busy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from omtl.experiment.unit import Unit

Kind = tuple[str, str, str]

TASKS_A_SECOND = 200
"""Maximum number of tasks handed out per second, as far as the units' times are known."""

MOST = 256
"""Maximum number of units per task."""

TURNS = 4
"""Minimum number of remaining tasks per worker, so that all end at about the same time."""


def kind_of(unit: Unit) -> Kind:
    """Return a unit's kind: what determines its code and data."""
    return unit.algorithm["learner"], unit.protocol["module"], unit.dataset["name"]


class Dispatch:
    """Units waiting for workers, ordered by arrival and by known kinds.

    Parameters
    ----------
    units : iterable of Unit
        In the desired order.
    """

    def __init__(self, units: Iterable[Unit]) -> None:
        self._new: dict[Kind, deque[Unit]] = {}
        self._met: dict[Kind, deque[Unit]] = {}
        self._seconds: dict[Kind, float | None] = {}
        self._scouts: set[Kind] = set()
        self._left = 0
        for unit in units:
            self._new.setdefault(kind_of(unit), deque()).append(unit)
            self._left += 1

    def take(self, workers: int) -> list[Unit]:
        """Return the units of the next task; none if all have been handed out.

        Parameters
        ----------
        workers : int
            Number of workers.
        """
        scout = next((kind for kind in self._new if kind not in self._scouts), None)
        if scout is not None and not (self._scouts and self._met):
            self._scouts.add(scout)
            units, count = self._new[scout], 1
        elif self._met:
            kind = max(self._met, key=lambda kind: self._seconds[kind] or 0.0)
            units, count = self._met[kind], self._of_a_task(kind, workers)
            if count >= len(units):
                del self._met[kind]
        else:
            waiting = (units for units in self._new.values() if units)
            units, count = next(waiting, deque()), 1
        taken = [units.popleft() for _ in range(min(count, len(units)))]
        self._left -= len(taken)
        return taken

    def _of_a_task(self, kind: Kind, workers: int) -> int:
        """Return the number of units per task for a kind and a number of workers."""
        seconds = self._seconds[kind]
        if seconds is None or workers < 1:
            return 1
        enough = workers / (TASKS_A_SECOND * max(seconds, 1e-6))
        return int(max(1, min(enough, self._left / (TURNS * workers), MOST)))

    def meet(self, unit: Unit, seconds: float | None = None) -> None:
        """Release the other units of a finished unit's kind to any worker.

        Parameters
        ----------
        unit : Unit
        seconds : float, optional
            Its duration, if known.
        """
        kind = kind_of(unit)
        earlier = self._seconds.get(kind)
        both = [each for each in (earlier, seconds) if each is not None]
        self._seconds[kind] = sum(both) / len(both) if both else None
        self._scouts.discard(kind)
        if units := self._new.pop(kind, None):
            self._met[kind] = units
