"""Batches: the units that a worker gets at a time, and their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from omtl.experiment.unit import Unit

BATCH_SECONDS = 0.2
"""Duration of a batch of short units."""

MOST = 256
"""Maximum number of units in a batch."""

TURNS = 4
"""Minimum number of remaining batches for each worker, so that all end at about the same time."""

Kind = tuple[str, str, str]


def kind_of(unit: Unit) -> Kind:
    """Return a unit's kind: what determines its code and data."""
    return unit.algorithm.learner, unit.protocol.module, unit.dataset.name


class Batches(Iterator[list[Unit]]):
    """Units in the order in which workers get them, several at a time if they are short.

    The first unit of a kind compiles its learner and loads its data, while others of its kind would
    only wait: meanwhile, other workers get units of known kinds, the longest first.

    Parameters
    ----------
    units : iterable of Unit
    workers : int
        Number of workers, as far as is known.
    is_wanted : callable
        Whether a unit is still to be computed when its turn comes.
    """

    def __init__(
        self, units: Sequence[Unit], workers: int, is_wanted: Callable[[Unit], bool]
    ) -> None:
        self._waiting: dict[Kind, deque[Unit]] = {}
        for unit in units:
            self._waiting.setdefault(kind_of(unit), deque()).append(unit)
        self._left, self._workers, self._is_wanted = len(units), workers, is_wanted
        self._seconds: dict[Kind, float] = {}
        self._first: set[Kind] = set()

    def __next__(self) -> list[Unit]:
        """Return the units of the next batch."""
        while self._waiting:
            if units := [unit for unit in self._take() if self._is_wanted(unit)]:
                return units
        raise StopIteration

    def _take(self) -> list[Unit]:
        known = [kind for kind in self._waiting if kind in self._seconds]
        new = [kind for kind in self._waiting if kind not in {*self._seconds, *self._first}]
        count = 1
        if new and not (known and self._first):
            kind = new[0]
            self._first.add(kind)
        elif known:
            kind = max(known, key=self._seconds.__getitem__)
            enough = BATCH_SECONDS / max(self._seconds[kind], 1e-6)
            count = int(max(1, min(enough, self._left / (TURNS * self._workers), MOST)))
        else:
            kind = next(iter(self._waiting))
        units = self._waiting[kind]
        taken = [units.popleft() for _ in range(min(count, len(units)))]
        self._left -= len(taken)
        if not units:
            del self._waiting[kind]
        return taken

    def note(self, unit: Unit, seconds: float) -> None:
        """Take note of a finished unit's duration."""
        kind = kind_of(unit)
        self._seconds[kind] = (self._seconds.get(kind, seconds) + seconds) / 2.0
        self._first.discard(kind)
