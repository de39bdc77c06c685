"""Data sets are loaded once, as long as there is room for them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from omtl.data.preparation import PreparedData
from omtl.experiment import loading
from omtl.experiment.specs import DataSetSpec


def loads(monkeypatch: pytest.MonkeyPatch, room: float, draws: list[int]) -> int:
    """Return how often data are loaded when draws are asked for; `room` is in data sets."""
    dataset = DataSetSpec.named("random_walk")
    monkeypatch.setattr(loading, "_LOADED", {})
    size = loading.load_prepared(dataset, 0, draws[0]).nbytes
    monkeypatch.setattr(loading, "_LOADED", {})
    monkeypatch.setattr(loading, "ROOM", room * size)
    loaded: list[object] = []
    honest = loading._load
    monkeypatch.setattr(loading, "_load", lambda *asked: loaded.append(asked) or honest(*asked))
    for draw in draws:
        loading.load_prepared(dataset, 0, draw)
    held = [entry.result() for entry in loading._LOADED.values()]
    assert sum(one.nbytes for one in held if isinstance(one, PreparedData)) <= max(1.0, room) * size
    monkeypatch.setattr(loading, "_load", honest)
    return len(loaded)


def test_what_there_is_room_for_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often, and in whatever order, it is asked for."""
    assert loads(monkeypatch, 3.0, [0, 1, 2, 1, 0, 2, 0]) == 3


def test_what_was_not_asked_for_longest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was just asked for stays, though it be larger than all the room."""
    assert loads(monkeypatch, 2.0, [0, 1, 0, 2, 0, 1]) == 4
    assert loads(monkeypatch, 0.5, [0, 0, 1, 1, 0]) == 3


def test_who_asks_for_another_data_set_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for the one that is being loaded waits, and it is loaded once."""
    dataset = DataSetSpec.named("random_walk")
    there = loading.load_prepared(dataset, 0, 0)
    monkeypatch.setattr(loading, "_LOADED", dict(loading._LOADED))
    begun, go_on = Event(), Event()
    load = loading._load

    loaded: list[object] = []

    def slow(*arguments: object) -> object:
        loaded.append(arguments)
        begun.set()
        assert go_on.wait(60)
        return load(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(loading, "_load", slow)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(loading.load_prepared, dataset, 0, 77) for _ in range(2)]
        assert begun.wait(60)
        assert loading.load_prepared(dataset, 0, 0) is there
        go_on.set()
        assert asked[0].result() is asked[1].result()
    assert len(loaded) == 1


def test_what_was_interrupted_is_loaded_when_it_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C leaves nothing half loaded behind."""
    dataset = DataSetSpec.named("random_walk")
    monkeypatch.setattr(loading, "_LOADED", {})

    def interrupted(*_: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loading, "_load", interrupted)
        loading.load_prepared(dataset, 0, 78)
    assert loading.load_prepared(dataset, 0, 78).nbytes > 0
