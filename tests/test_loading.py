"""Data sets are loaded once, as long as there is room for them."""

from __future__ import annotations

import pytest

from omtl.config import load_option
from omtl.harness import loading


def loads(monkeypatch: pytest.MonkeyPatch, room: float, draws: list[int]) -> int:
    """Return how often data are loaded when draws are asked for; `room` is in data sets."""
    dataset = load_option("dataset", "random_walk")
    monkeypatch.setattr(loading, "_LOADED", {})
    size = loading.load_fed(dataset, 0, draws[0]).nbytes
    monkeypatch.setattr(loading, "_LOADED", {})
    monkeypatch.setattr(loading, "ROOM", room * size)
    before = loading.times_loaded()
    for draw in draws:
        loading.load_fed(dataset, 0, draw)
    assert sum(one.nbytes for one in loading._LOADED.values()) <= max(1.0, room) * size
    return loading.times_loaded() - before


def test_what_there_is_room_for_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often, and in whatever order, it is asked for."""
    assert loads(monkeypatch, 3.0, [0, 1, 2, 1, 0, 2, 0]) == 3


def test_what_was_not_asked_for_longest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was just asked for stays, though it be larger than all the room."""
    assert loads(monkeypatch, 2.0, [0, 1, 0, 2, 0, 1]) == 4
    assert loads(monkeypatch, 0.5, [0, 0, 1, 1, 0]) == 3
