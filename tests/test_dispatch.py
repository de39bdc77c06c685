"""A kind of unit is met by one worker while the others have something else to do."""

from __future__ import annotations

from miniature import small

from omtl.compute.queue import Dispatch, kind_of
from omtl.experiment.unit import Unit


def units_of(*algorithms: str, repeats: int) -> list[Unit]:
    """Return units repeat after repeat, as a table wants them."""
    return [small(name).unit(0, repeat) for repeat in range(repeats) for name in algorithms]


def test_all_units_come_once_whatever_is_met_when() -> None:
    """Also where nothing is ever met, and where the units are of one kind."""
    units = units_of("pm", "pa", "gd", repeats=4)
    for meets in (0, 1, 2, 3):
        dispatch = Dispatch(units)
        given = []
        for n, unit in enumerate(dispatch):
            given.append(unit.key)
            if meets and n % meets == 0:
                dispatch.meet(unit)
        assert sorted(given) == sorted(unit.key for unit in units)
    alone = units_of("pm", repeats=3)
    assert list(Dispatch(alone)) == alone


def test_a_new_kind_goes_to_one_worker_while_others_have_met_ones() -> None:
    """The first worker keeps to the first of each kind, the second to what has been met."""
    units = units_of("pm", "pa", "gd", repeats=3)
    pm, pa, gd = (kind_of(unit) for unit in units[:3])
    dispatch = Dispatch(units)
    worker = iter(dispatch)
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
    """So no worker ends with one alone; else units come in the order that they are wanted in."""
    units = units_of("pm", "pa", "gd", repeats=3)
    dispatch = Dispatch(units)
    worker = iter(dispatch)
    for seconds in (1.0, 2.0, 1.0):
        dispatch.meet(next(worker), seconds)
    assert list(worker) == [*units[4::3], *(unit for unit in units[3:] if unit not in units[4::3])]
