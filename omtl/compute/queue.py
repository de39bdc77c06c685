"""The queue of units: the first of each new kind, then the longest.

The first unit of a kind compiles its learner, or loads what was compiled, and loads its data. While
it does, others of its kind would only wait for it, and so would another kind that must be compiled,
as threads compile one at a time. So the others meanwhile go on with kinds that have been met. Of
these the kind whose units take longest comes first: were it last, one worker would end with it
while the others have nothing left.

Short units are handed out several at a time, so that one process can keep many workers busy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from omtl.experiment.unit import Unit

Kind = tuple[str, str, str]

TASKS_A_SECOND = 200
"""How many tasks a second are handed out at most, as far as the units' times are foreseen."""

MOST = 256
"""Units of a task, at most."""

TURNS = 4
"""How many tasks each worker is to be given yet, at least: so all end at about the same time."""


def kind_of(unit: Unit) -> Kind:
    """Return what decides which code runs, and on what data."""
    return unit.algorithm["learner"], unit.protocol["module"], unit.dataset["name"]


class Dispatch:
    """Units on their way to workers, by the order that they come in and the kinds that are met.

    Parameters
    ----------
    units : iterable of Unit
        In the order that they are wanted in.
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
        """Return the units of the next task; none where all have been handed out.

        Parameters
        ----------
        workers : int
            How many there are.
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
        """Return how many units of a kind make a task that so many workers can be given."""
        seconds = self._seconds[kind]
        if seconds is None or workers < 1:
            return 1
        enough = workers / (TASKS_A_SECOND * max(seconds, 1e-6))
        return int(max(1, min(enough, self._left / (TURNS * workers), MOST)))

    def meet(self, unit: Unit, seconds: float | None = None) -> None:
        """Let the others of a unit's kind go to any worker, as it has been done.

        Parameters
        ----------
        unit : Unit
        seconds : float, optional
            How long it took, if that is known.
        """
        kind = kind_of(unit)
        earlier = self._seconds.get(kind)
        both = [each for each in (earlier, seconds) if each is not None]
        self._seconds[kind] = sum(both) / len(both) if both else None
        self._scouts.discard(kind)
        if units := self._new.pop(kind, None):
            self._met[kind] = units
