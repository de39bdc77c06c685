"""How much a run does."""

from __future__ import annotations

from typing import NamedTuple


class Effort(NamedTuple):
    """How much a run does; by default, a full one.

    Parameters
    ----------
    turns : int
        Turns of each contender.
    seconds : float
        How long a turn lasts at least.
    call : float
        How long one call of ours may last, about.
    numbers : int
        Numbers in a data set, whatever its width.
    slow : int
        Examples that the slow contenders get at most.
    parsed : int
        Numbers in the examples that Vowpal Wabbit gets, which it holds parsed.
    dense, nonzeros, features, tasks : tuple of int
        Sizes: widths of dense rows; nonzeros and widths of sparse ones; numbers of tasks.
    square : tuple of int
        Widths of the matrices that similarities are learnt in.
    memory : int
        Numbers that the machine's memory is measured with.
    tables : tuple of str
        Tables whose streams and grids are played; all if there are none.
    whole : tuple of str
        Tables that are played as wholes.
    points : int
        Points of each grid that a table is played with.
    repeats : tuple of int
        Numbers of repeats that a table is played with.
    grid : int, optional
        Points of a grid that are played together; all by default.
    alone : int
        Points of a grid that are played one by one.
    kernels : tuple of str
        Kernels that are timed; all if there are none.
    processes : int
        Turns of what takes a process each.
    """

    turns: int = 5
    seconds: float = 0.02
    call: float = 0.02
    numbers: int = 2_000_000
    slow: int = 500
    parsed: int = 400_000
    dense: tuple[int, ...] = (10, 100, 1000, 10_000)
    nonzeros: tuple[int, ...] = (10, 100, 1000)
    features: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    tasks: tuple[int, ...] = (1, 10, 100, 1000)
    square: tuple[int, ...] = (100, 300, 1000)
    memory: int = 16_000_000
    tables: tuple[str, ...] = ()
    whole: tuple[str, ...] = ("aklo-table1", "dom-table1", "rom-table1")
    points: int = 4
    repeats: tuple[int, ...] = (1, 10)
    grid: int | None = None
    alone: int = 50
    kernels: tuple[str, ...] = ()
    processes: int = 2


FULL = Effort()
QUICK = Effort(
    turns=1,
    seconds=0.0,
    call=0.001,
    numbers=20_000,
    slow=60,
    parsed=1000,
    dense=(10, 20),
    nonzeros=(5,),
    features=(100,),
    tasks=(1, 3),
    square=(5,),
    memory=10_000,
    tables=("dom-table1",),
    whole=("dom-table1",),
    points=1,
    repeats=(1,),
    grid=6,
    alone=2,
    kernels=("PA", "OGD", "COML", "DOM-I, ring"),
    processes=1,
)
