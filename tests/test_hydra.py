"""Hydra's promise: what is typed wins, and ``--cfg job`` shows what runs."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import pytest
import yaml

from omtl.experiment.composition import composed, experiment_of
from omtl.experiment.config import apply_reading, load_option, options
from omtl.experiment.read_options import changes
from omtl.run import main
from omtl.util.errors import UserError

READINGS = [name for name in options("reading") if load_option("reading", name)["answers"]]


def combinations(reading: str) -> list[dict[str, str]]:
    """Return choices of options that together name each that a reading changes."""
    by_group: dict[str, list[str]] = {}
    for group, option in changes(load_option("reading", reading)):
        by_group.setdefault(group, []).append(option)
    rows = zip_longest(*by_group.values())
    return [{g: o for g, o in zip(by_group, row, strict=True) if o} for row in rows]


def leaves(read: Any, written: Any, path: str) -> list[tuple[str, Any]]:
    """Return values that a reading changes and that can be typed, with what the file has there."""
    if isinstance(read, dict) and isinstance(written, dict):
        both = [key for key in read if key in written]
        return [leaf for key in both for leaf in leaves(read[key], written[key], f"{path}.{key}")]
    return [] if read == written else [(path, written)]


@pytest.mark.parametrize("reading", READINGS)
def test_a_reading_is_composed_and_what_is_typed_wins(reading: str) -> None:
    """For all options that a reading changes, and all of their values."""
    answers = load_option("reading", reading)
    n_typed = 0
    for chosen in combinations(reading):
        written = {group: load_option(group, option) for group, option in chosen.items()}
        words = [f"reading={reading}", *(f"{g}={o}" for g, o in chosen.items())]
        read = {group: composed(words)[group] for group in chosen}
        assert read == apply_reading(written, answers)
        typed = [leaf for group in chosen for leaf in leaves(read[group], written[group], group)]
        n_typed += len(typed)
        config: Any = composed([*(f"{k}={yaml_text(value)}" for k, value in typed), *words])
        for path, value in typed:
            found = config
            for step in path.split("."):
                found = found[step]
            assert found == value, path
    assert n_typed


def yaml_text(value: Any) -> str:
    """Return a value as Hydra's grammar has it."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...").replace(".inf", "inf")


@pytest.mark.parametrize("reading", options("reading"))
def test_cfg_job_is_what_runs(
    reading: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a hyper-parameter typed before the reading."""
    ran: list[dict[str, Any]] = []

    def note(config: dict[str, Any]) -> str:
        ran.append(config)
        return ""

    monkeypatch.setattr("omtl.run.answer", note)
    words = ["algorithm=pm", "algorithm.margin=0.5", f"reading={reading}"]
    assert main(["--cfg", "job", *words]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert main(words) == 0
    assert [experiment_of(config) for config in ran] == [experiment_of(shown)]
    assert {point["margin"] for point in experiment_of(shown).points} == {0.5}
    assert shown == composed(words)


def test_an_answer_is_typed() -> None:
    """Above those of the reading's file, and to a reading that has none."""
    words = ["algorithm=pa", "reading=dom/as_published"]
    assert composed(words)["algorithm"]["grid"]
    pa = ["reading.answers.passive_aggressive=pa", "~reading.answers.run_out"]
    config = composed([*words, *pa])
    assert config["algorithm"] == load_option("algorithm", "pa")
    assert config["protocol"]["run_out"] == "sit_out"
    config = composed(["reading.paper=dom", "+reading.answers.run_out=again"])
    assert config["protocol"]["run_out"] == "again"
    assert composed([])["protocol"]["run_out"] == "sit_out"
    with pytest.raises(UserError, match="sweeps an answer; write each reading in a file"):
        composed(["reading=dom/as_published", "reading.answers.run_out=again,sit_out"])


def test_a_reading_changes_the_rule_too() -> None:
    """It says for whom hyper-parameters are chosen."""
    words = ["reading.paper=omtrsl", "+reading.answers.chosen_for=all", "selection=cv5"]
    assert composed(words)["selection"]["for"] == "all"
    assert load_option("selection", "cv5")["for"] == "each"
