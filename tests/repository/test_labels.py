"""Notations that papers share have one label in all of them."""

from __future__ import annotations

import pytest

from omtl.experiment.readings import questions

NOTATIONS = {
    "s in N(0, s I) is a deviation": (
        "contradicts",
        [
            ("dom", "increment", "std"),
            ("rom", "increment", "std"),
            ("rom", "outlier", "std"),
            ("aklo", "spread", "std"),
        ],
    ),
    "a perceptron learns from margins, with a tuned step": (
        "contradicts",
        [
            ("dom", "perceptron", "hinge"),
            ("rom", "perceptron", "hinge"),
            ("rom", "real_perceptron", "hinge"),
            ("rom", "multi_perceptron", "hinge"),
            ("rom", "real_multi_perceptron", "hinge"),
        ],
    ),
    "passive-aggressive is PA-I": (
        "ambiguous",
        [("dom", "passive_aggressive", "pa1"), ("rom", "passive_aggressive", "pa1")],
    ),
    "runs shuffle the data, but each has its own draw": (
        "contradicts",
        [("dom", "draw", "each_run"), ("rom", "draw", "each_run")],
    ),
    "standard errors are printed, and are deviations": (
        "contradicts",
        [("osmtl", "plus_minus", "std"), ("amtl", "plus_minus", "std")],
    ),
    "one setting for all tasks is the one whose worst task is best": (
        "contrived",
        [("rom", "tuned_for", "worst_task"), ("rom", "tuned_for", "worst_task_but_pgd")],
    ),
}
"""Ways to take a notation, each with its label and the answers that take it so."""


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_notation_has_one_label(notation: str) -> None:
    label, answers = NOTATIONS[notation]
    found = {
        (paper, question, option): questions(paper)[question].support[option]
        for paper, question, option in answers
    }
    assert set(found.values()) == {label}, found
