"""Some of the malformed input of `scripts.fuzz`, by its kinds."""

from __future__ import annotations

import pytest

from scripts import fuzz


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_malformed_input_ends_well(kind: str) -> None:
    """In a process of its own: no crash, no hang, no wrong number without a word."""
    taken, faults = fuzz.batch(kind, first=20_000, cases=30)
    assert faults == []
    assert taken < 30


def test_a_crash_is_found_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is raised that is no sentence."""
    monkeypatch.setattr(fuzz.sys, "executable", "/bin/false")
    assert fuzz.batch("csr", 0, 1) == (0, ["csr none: the process ended (1)"])
