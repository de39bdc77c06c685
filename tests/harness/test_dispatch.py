"""A kind of unit is met by one worker while the others have something else to do."""

from __future__ import annotations

from collections.abc import Iterator

from miniature import small

from omtl.compute.queue import MOST, TASKS_A_SECOND, Dispatch, kind_of
from omtl.experiment.unit import Unit


def units_of(*algorithms: str, repeats: int) -> list[Unit]:
    """Return units repeat after repeat, as a table wants them."""
    return [small(name).unit(0, repeat) for repeat in range(repeats) for name in algorithms]


def tasks(dispatch: Dispatch, workers: int = 1) -> Iterator[list[Unit]]:
    """Yield all tasks."""
    while task := dispatch.take(workers):
        yield task


def test_all_units_come_once_whatever_is_met_when() -> None:
    """Also where nothing is ever met, and where the units are of one kind."""
    units = units_of("pm", "pa", "gd", repeats=4)
    for meets in (0, 1, 2, 3):
        dispatch = Dispatch(units)
        given = []
        for n, (unit,) in enumerate(tasks(dispatch)):
            given.append(unit.key)
            if meets and n % meets == 0:
                dispatch.meet(unit)
        assert sorted(given) == sorted(unit.key for unit in units)
    alone = units_of("pm", repeats=3)
    assert [unit for (unit,) in tasks(Dispatch(alone))] == alone


def test_a_new_kind_goes_to_one_worker_while_others_have_met_ones() -> None:
    """The first worker keeps to the first of each kind, the second to what has been met."""
    units = units_of("pm", "pa", "gd", repeats=3)
    pm, pa, gd = (kind_of(unit) for unit in units[:3])
    dispatch = Dispatch(units)
    worker = (unit for (unit,) in tasks(dispatch))
    first = next(worker)
    assert kind_of(first) == pm
    dispatch.meet(first)
    scout = next(worker)
    assert kind_of(scout) == pa
    assert [kind_of(next(worker)) for _ in range(2)] == [pm, pm]
    assert kind_of(next(worker)) == gd  # nothing that was met is left
    dispatch.meet(scout)
    assert [kind_of(next(worker)) for _ in range(2)] == [pa, pa]


def test_of_what_has_been_met_long_units_come_first() -> None:
    """So no worker ends with one alone."""
    units = units_of("pm", "pa", "gd", repeats=3)
    dispatch = Dispatch(units)
    for seconds in (1.0, 2.0, 0.5):
        dispatch.meet(*dispatch.take(1), seconds)
    rest = [unit for (unit,) in tasks(dispatch)]
    assert rest == [*units[4::3], *units[3::3], *units[5::3]]


def test_short_units_are_handed_out_together() -> None:
    """As many as keep the central process from handing out more than it can, but not the last."""
    units = small("pm").repeats(0, 24_000)
    dispatch = Dispatch(units)
    (first,) = dispatch.take(1000)
    assert len(dispatch.take(1000)) == 1  # how long one takes is not known yet
    dispatch.meet(first, 1.0)
    sizes = [len(task) for task in tasks(dispatch, 1000)]
    assert sizes[0] == 1000 / TASKS_A_SECOND
    assert sizes[-1] == 1
    assert sum(sizes) == len(units) - 2
    dispatch = Dispatch(units[:2000])
    dispatch.meet(*dispatch.take(2), 1e-9)
    assert max(len(task) for task in tasks(dispatch, 2)) <= MOST
    slow = Dispatch(units[:100])
    slow.meet(*slow.take(2), 1.0)
    assert {len(task) for task in tasks(slow, 2)} == {1}
