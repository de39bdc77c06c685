"""Which unit a free worker is given: that of a new kind to one worker at a time, then long ones.

The first unit of a kind compiles its learner, or loads what was compiled, and loads its data. While
it does, others of its kind would only wait for it, and so would another kind that must be compiled,
as threads compile one at a time. So the others meanwhile go on with kinds that have been met. Of
these the kind whose first unit took longest comes first: were it last, one worker would end with
it while the others have nothing left.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from threading import Lock

from omtl.experiment.unit import Unit

Kind = tuple[str, str, str]


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
        self._lock = Lock()
        self._met: list[tuple[float, int, Unit]] = []
        self._new: dict[Kind, deque[tuple[int, Unit]]] = {}
        self._scouts: set[Kind] = set()
        for place in enumerate(units):
            self._new.setdefault(kind_of(place[1]), deque()).append(place)

    def __iter__(self) -> Iterator[Unit]:
        """Yield all units, each when a worker asks for it."""
        while (unit := self._next()) is not None:
            yield unit

    def _next(self) -> Unit | None:
        with self._lock:
            unmet = [kind for kind in self._new if kind not in self._scouts]
            if unmet and not (self._scouts and self._met):
                self._scouts.add(unmet[0])
                return self._new[unmet[0]].popleft()[1]
            if self._met:
                return heapq.heappop(self._met)[-1]
            waiting = (units for units in self._new.values() if units)
            return next((units.popleft()[1] for units in waiting), None)

    def meet(self, unit: Unit, seconds: float = 0.0) -> None:
        """Let the others of a unit's kind go to any worker, as it has been done in that time."""
        with self._lock:
            kind = kind_of(unit)
            self._scouts.discard(kind)
            for place, other in self._new.pop(kind, ()):
                heapq.heappush(self._met, (-seconds, place, other))
