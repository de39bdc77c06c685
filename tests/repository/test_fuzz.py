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


@pytest.mark.parametrize("faults", [[], ["csr 2: the process ended (-11)"]])
def test_only_a_run_in_which_all_ended_well_is_recorded(
    faults: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash the other cases were not tried, so none of them ended with a sentence."""
    recorded: list[str] = []
    monkeypatch.setattr(fuzz, "record", lambda name, *_: recorded.append(name))
    monkeypatch.setattr(fuzz, "batch", lambda *_: (0, faults))
    monkeypatch.setattr(fuzz.sys, "argv", ["fuzz", "--kind", "csr", "--cases", "1667"])
    assert fuzz.main() == bool(faults)
    assert recorded == ([] if faults else ["fuzz"])
