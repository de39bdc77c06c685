"""Submissions to the board: handed in, played again, and refused where they cannot be true."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from miniature import SERIAL

from omtl.commands._main import main
from omtl.compute.store import Store
from omtl.evidence.board import BoardPlan
from omtl.reproduction.replay import Replay, replay_sample
from omtl.reproduction.submission import (
    are_same,
    digest,
    read_submission,
    replayed_submission,
    unpack,
)
from omtl.util.errors import UserError
from omtl.util.paths import ROOT

BOARD = BoardPlan(learners=("pm",), data=("opposed_tasks", "joining_tasks"), repeats=2)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a submission that is true."""
    store = Store(tmp_path_factory.mktemp("store"))
    return json.dumps(replayed_submission(BOARD, SERIAL, store))


@pytest.fixture(scope="module")
def submitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example's learner, in `own`, and with what its submission wrote."""
    folder = tmp_path_factory.mktemp("submitted")
    shutil.copytree(ROOT / "examples" / "my_learner", folder / "own")
    words = ["board", "--submit", "my_learner", "--data", "opposed_tasks", "--repeats", "2"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMTL_HOME", str(folder / "home"))
        patch.setenv("OMTL_OWN", str(folder / "own"))
        assert main([*words, "--parallel", "serial", "--to", str(folder)]) == 0
    return folder


@pytest.fixture
def handed_in(submitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A submission of the example's learner, in a folder of its own."""
    monkeypatch.setenv("OMTL_HOME", str(submitted / "home"))
    monkeypatch.setenv("OMTL_OWN", str(submitted / "own"))
    return shutil.copy(submitted / "my_learner.json", tmp_path / "my_learner.json")


def test_taking_part(handed_in: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A learner of one's own enters with one command, and its file is verified elsewhere."""
    assert main(["board", "--verify", str(handed_in)]) == 0
    content = json.loads(handed_in.read_text(encoding="utf-8"))
    assert sorted(content["files"]) == ["algorithm/my_learner.yaml", "my_learner.py"]
    capsys.readouterr()
    content["cells"][0] |= {"values": "1 1", "mean": 1.0, "std": 0.0}
    handed_in.write_text(json.dumps(content), encoding="utf-8")
    assert main(["board", "--verify", str(handed_in)]) == 2
    assert "has changed" in capsys.readouterr().err


def hand_in(content: dict[str, Any], path: Path) -> None:
    """Write a submission with a hash that fits."""
    path.write_text(json.dumps({**content, "sha256": digest(content)}), encoding="utf-8")


LIAR = """import os, sys
from pathlib import Path

if "LIES" in os.environ:
    Path(os.environ["LIES"]).write_text("written")
sys.stdout.write("same: opposed_tasks, repeat 0: 1, submitted 1\\n" * 3)
sys.stdout.flush()
os._exit(0)
"""


def test_submitted_code_does_not_decide_about_itself(
    handed_in: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What it prints and how it ends is not believed; confined, it writes no file."""
    content = json.loads(handed_in.read_text(encoding="utf-8"))
    content["files"]["my_learner.py"] = LIAR
    hand_in(content, handed_in)
    monkeypatch.delenv("OMTL_OWN")
    monkeypatch.setenv("LIES", str(tmp_path / "lies"))
    capsys.readouterr()
    assert main(["board", "--verify", str(handed_in)]) == 1
    told = capsys.readouterr().out
    assert "same" not in told
    assert "different" in told
    if shutil.which("bwrap"):
        assert not (tmp_path / "lies").exists()


def test_forged_numbers_are_found(honest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a third of the numbers, in nearly every draw; honest ones pass in all."""
    content = json.loads(honest)
    cells = [{**cell, "values": " ".join(cell["values"].split() * 30)} for cell in content["cells"]]
    whole = {**content, "cells": cells}

    def compare(row: dict[str, Any], repeats: list[int], *_: Any) -> list[Replay]:
        kept = next(c for c in content["cells"] if c["dataset"] == row["dataset"])
        values, all_kept = row["values"].split(), kept["values"].split()
        same = [values[repeat] == all_kept[repeat % 2] for repeat in repeats]
        return [Replay("", "same" if all(same) else "different")]

    monkeypatch.setattr("omtl.reproduction.replay._replayed_row", compare)
    monkeypatch.setattr("omtl.reproduction.replay.Apart", lambda *_, **__: Mock())
    assert all(are_same(replay_sample(whole, BOARD, seed)) for seed in range(100))
    rng = np.random.default_rng(0)
    passed = 0
    for seed in range(1000):
        forged = []
        for cell in cells:
            values = np.array(cell["values"].split(), dtype=object)
            values[rng.random(values.size) < 1 / 3] = "1"
            forged.append({**cell, "values": " ".join(values)})
        passed += are_same(replay_sample({**content, "cells": forged}, BOARD, seed))
    assert passed < 10


def test_a_submission_that_is_nested_beyond_reason_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(UserError, match="is not a submission"):
        read_submission(tmp_path / "mine.json")


@pytest.mark.parametrize("name", ["../mine.py", "/tmp/mine.py", "algorithm/../../mine.py", "a.pth"])
def test_files_outside_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    """And those that are neither modules nor configs; nothing is written."""
    with pytest.raises(UserError, match="the submission has a file"):
        unpack({name: "x = 1"}, tmp_path / "folder")
    assert not [*tmp_path.rglob("mine.py")]


FORGED = {"points": 9, "edge": 0.9, "ties": 0.9}
FORGED |= dict.fromkeys(("label", "chosen", "curve", "why"), "1 0")


def test_a_replay_finds_forged_columns(honest: str) -> None:
    """Not only numbers of repeats: all that follows from what was played."""
    content = json.loads(honest)
    true = content["cells"][0]
    content["cells"] = [true, *({**true, column: value} for column, value in FORGED.items())]
    replays = replay_sample(content, BOARD, 0, n_numbers=2 * len(content["cells"]))
    assert not are_same(replays)
    whole, *forged = (one for one in replays if "all repeats" in one.name)
    assert whole.result == "same"
    assert {one.result for one in forged} == {"different"}
    assert [one.detail.partition("=")[0] for one in forged] == [*FORGED]


def test_a_replay_tells_apart_what_has_changed_since(honest: str) -> None:
    """Code of the learner, which may give other numbers, and data, whose numbers are not these."""
    content = json.loads(honest)
    learner, data = content["cells"]
    learner |= {"values": "1 1", "learner": "earlier"}
    data |= {"stream": "other"}
    replays = replay_sample(content, BOARD, 0)
    different, outdated = (
        {str(one) for one in replays if cell["dataset"] in one.name} for cell in (learner, data)
    )
    assert all(one.startswith("different") for one in different)
    assert any(one.endswith("; its code changed since") for one in different)
    assert outdated == {f"outdated: {data['dataset']}: its data or options changed since"}
    assert not are_same([one for one in replays if one.result == "outdated"])
