"""A learner beside others on several data sets: the table, its marks, the files of a paper."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from omtl.commands._main import main
from omtl.evidence.many_data_sets import Study, latex, letters, rank_frame, repeats, study_of
from omtl.evidence.one_data_set import Compared, Row, judge_rows
from omtl.experiment.composition import composed
from omtl.measures.metrics import METRICS

CONFIG = composed(["algorithm=pa", "dataset=random_walk", "repeats=4", "seed=0"])
WIGGLE = 1.0 + 0.001 * np.array([-1.0, 0.5, 1.0, -0.5])


def compared(**means: float) -> Compared:
    """Return a comparison whose learners have these means, the first being the one asked for."""
    rows = [
        Row(name, f"The {name}", mean * np.roll(WIGGLE, k), params=[{"eta": mean}] * 4)
        for k, (name, mean) in enumerate(means.items())
    ]
    judge_rows(rows, METRICS["error"])
    return Compared(rows[0], sorted(rows, key=lambda row: row.mean), METRICS["error"], "")


STUDY = Study(
    CONFIG,
    {
        "One": compared(mine=10.0, near=10.1, far=20.0),
        "Two": compared(mine=10.0, near=9.9, far=5.0),
        "Three": compared(mine=10.0, near=30.0, far=30.5),
    },
)


def test_wins_ties_and_losses_are_by_practical_equivalence() -> None:
    """Within 5 % is a tie, whatever a test of significance says."""
    assert STUDY.outcomes("near") == {"win": 1, "tie": 2, "loss": 0, "undecided": 0}
    assert STUDY.outcomes("far") == {"win": 2, "tie": 0, "loss": 1, "undecided": 0}


def test_panels_beyond_the_alphabet_have_labels() -> None:
    """A study may have more than 26 data sets."""
    assert [letters(number) for number in (0, 25, 26, 51, 52)] == ["a", "z", "aa", "az", "ba"]


def test_ranks() -> None:
    """By the means on each data set; the best average first."""
    ranking = STUDY.ranking
    assert ranking is not None
    assert {name: round(rank, 3) for name, rank in ranking.average.items()} == {
        "mine": 1.667,
        "near": 2.0,
        "far": 2.333,
    }
    assert rank_frame(STUDY, ranking)["algorithm"].tolist() == ["mine", "near", "far"]


def test_the_best_is_bold_and_ties_are_underlined() -> None:
    """And the caption says so."""
    lines = {line.split(" & ")[0]: line for line in latex(STUDY).splitlines() if " & " in line}
    mine, near = lines["The mine"].split(" & "), lines["The near"].split(" & ")
    assert mine[1].startswith(r"\textbf{10.00")
    assert near[1].startswith(r"\underline{10.10")
    assert near[3].startswith("30.00")
    assert near[-1].strip() == r"1/2/0 \\"
    assert "Bold: the best mean" in latex(STUDY)


def test_a_learner_as_good_as_majority_is_not_behind_it() -> None:
    """Of equal means none makes more errors, whichever comes first."""
    values = np.array([20.0, 21.0])
    mine, majority = Row("pa", "PA", values), Row("majority", "Majority", values)
    found = Compared(mine, [majority, mine], METRICS["error"], "")
    assert not any(note.startswith("warning") for note in found.notes())


def test_data_sets_that_share_a_label_are_told_apart() -> None:
    """None takes the place of another."""
    labels = {"one": "Synthetic", "two": "Synthetic", "three": "Text"}
    played = [
        (found, replace(CONFIG, dataset=replace(CONFIG.dataset, name=name, label=label)))
        for (name, label), found in zip(labels.items(), STUDY.on.values(), strict=True)
    ]
    assert list(study_of(played).on) == ["Synthetic (one)", "Synthetic (two)", "Text"]


def test_repeats_have_their_hyper_parameters() -> None:
    assert set(repeats(STUDY)["param_eta"]) == {10.0, 10.1, 20.0, 9.9, 5.0, 30.0, 30.5}
    assert len(repeats(STUDY)) == 3 * 3 * 4


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
