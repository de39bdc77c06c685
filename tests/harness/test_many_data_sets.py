"""A learner beside others on several data sets: the table, its marks, the files of a paper."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omtl.api.comparisons import compare
from omtl.commands._main import main
from omtl.evidence.compared_learners import comparison_notes, judge_learners
from omtl.evidence.comparison_files import (
    comparison_latex,
    count_outcomes,
    panel_letters,
    written_ranks,
    written_repeats,
)
from omtl.experiment.composition import composed
from omtl.measures.metrics import METRICS

CONFIG = composed(["algorithm=pa", "dataset=random_walk", "repeats=4", "seed=0"])
WIGGLE = 1.0 + 0.001 * np.array([-1.0, 0.5, 1.0, -0.5])


def compared(dataset: str, **means: float) -> pd.DataFrame:
    """Return a comparison whose learners have these means, the first being the one asked for."""
    rows = [
        {"algorithm": name, "label": f"The {name}", "repeats_are_of": ""}
        | {"values": mean * np.roll(WIGGLE, k), "params": [{"eta": mean}] * 4}
        for k, (name, mean) in enumerate(means.items())
    ]
    return judge_learners(rows, METRICS["error"]).assign(dataset=dataset)


ROWS = pd.concat(
    [
        compared("One", mine=10.0, near=10.1, far=20.0),
        compared("Two", mine=10.0, near=9.9, far=5.0),
        compared("Three", mine=10.0, near=30.0, far=30.5),
    ]
)


def test_wins_ties_and_losses_are_by_practical_equivalence() -> None:
    """Within 5 % is a tie, whatever a test of significance says."""
    counts = count_outcomes(ROWS)
    assert counts.loc["near"].to_dict() == {"win": 1, "tie": 2, "loss": 0, "undecided": 0}
    assert counts.loc["far"].to_dict() == {"win": 2, "tie": 0, "loss": 1, "undecided": 0}


def test_panels_beyond_the_alphabet_have_labels() -> None:
    """A study may have more than 26 data sets."""
    assert [panel_letters(number) for number in (0, 25, 26, 51, 52)] == ["a", "z", "aa", "az", "ba"]


def test_ranks() -> None:
    """By the means on each data set; the best average first."""
    ranks = written_ranks(ROWS).set_index("algorithm")["average_rank"].round(3)
    assert list(ranks.items()) == [("mine", 1.667), ("near", 2.0), ("far", 2.333)]


def test_the_best_is_bold_and_ties_are_underlined() -> None:
    """And the caption says so."""
    latex = comparison_latex(ROWS, CONFIG)
    lines = {line.split(" & ")[0]: line for line in latex.splitlines() if " & " in line}
    mine, near = lines["The mine"].split(" & "), lines["The near"].split(" & ")
    assert mine[1].startswith(r"\textbf{10.00")
    assert near[1].startswith(r"\underline{10.10")
    assert near[3].startswith("30.00")
    assert near[-1].strip() == r"1/2/0 \\"
    assert "Bold: the best mean" in latex


def test_a_learner_as_good_as_majority_is_not_behind_it() -> None:
    """Of equal means none makes more errors, whichever comes first."""
    rows = [
        {"algorithm": name, "label": name, "repeats_are_of": "", "values": np.array([20.0, 21.0])}
        for name in ("pa", "majority")
    ]
    notes = comparison_notes(judge_learners(rows, METRICS["error"]))
    assert not any(note.startswith("warning") for note in notes)


def test_data_sets_that_share_a_label_are_told_apart() -> None:
    """None takes the place of another."""
    names = ["random_walk", "opposed_tasks", "outlier_walk_small"]
    found = compare("pa", names, "dataset.options.n_examples=20", against="majority", repeats=2)
    assert found.frame["dataset"].unique().tolist() == [
        "Synthetic (random_walk)",
        "Synthetic (opposed_tasks)",
        "Synthetic (δ² = 0.09)",
    ]


def test_repeats_have_their_hyper_parameters() -> None:
    assert set(written_repeats(ROWS)["param_eta"]) == {10.0, 10.1, 20.0, 9.9, 5.0, 30.0, 30.5}
    assert len(written_repeats(ROWS)) == 3 * 3 * 4


def test_by_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One table over the data sets, and a folder with all that a paper needs."""
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    small = [f"dataset.options.{name}={n}" for name, n in (("n_examples", 40), ("n_features", 8))]
    words = ["compare", "algorithm=pa", "dataset=random_walk,outlier_walk_small", *small]
    words += ["repeats=2", "--only", "pm,majority", "--to", str(tmp_path / "paper")]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "win/tie/loss" in out
    assert max(map(len, out.partition("win, tie")[0].splitlines())) <= 80
    written = {path.name for path in (tmp_path / "paper").iterdir()}
    tables = {"comparison.csv", "comparison.tex", "repeats.csv", "ranks.csv"}
    assert written >= tables | {"curves.svg", "curves.pdf", "curves.csv"}
    with (tmp_path / "paper" / "comparison.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 3
    assert main([*words[:-2], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [len(one["rows"]) for one in told] == [3, 3]
