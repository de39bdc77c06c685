"""Hydra's promise: what is typed wins, and ``--cfg job`` shows what runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from hydra import initialize
from miniature import SMALL_RUN
from omegaconf import OmegaConf

from omtl.commands._hydra import run_hydra
from omtl.commands._main import main as omtl
from omtl.experiment.composition import (
    ComposedRun,
    composed,
    note_on_networks,
    parsed,
    spelt_out,
)
from omtl.experiment.readings import Reading
from omtl.experiment.specs import AlgorithmSpec
from omtl.experiment.unit import Experiment
from omtl.reproduction.record import line
from omtl.util.errors import UserError


def test_threads_and_programs_of_hydra_compose() -> None:
    """Each gets the answers of its own reading, also where Hydra runs the program that asks."""
    readings = ["dom/as_published", "as_written", "dom/as_read"] * 4
    words = [["dataset=random_walk", f"reading={reading}"] for reading in readings]
    alone = [*map(composed, words)]
    with initialize(version_base="1.3", config_path=None), ThreadPoolExecutor(4) as threads:
        assert [*threads.map(composed, words)] == alone


TYPED = {
    "network.weights": "uniform",
    "protocol.run_out": "sit_out",
    "dataset.normalise": "none",
    "algorithm.fixed.by_row": False,
    "algorithm.grid.eta": [0.5, 2.0],
}


def test_what_is_typed_wins_over_a_reading() -> None:
    """All else is as in the paper's tables under the reading, which changes most of these."""
    words = ["algorithm=dom2", "dataset=mhc", "reading=dom/as_published"]
    whole = composed(words)
    assert composed(["algorithm=DOM2", "dataset=MHC", "reading=DOM/as_published"]) == whole
    typed = composed([*words, *(f"{key}={json.dumps(value)}" for key, value in TYPED.items())])
    patch = Reading.named("dom/as_published").for_dataset("mhc").patch
    assert whole.experiment == Experiment.compose("dom2", "mhc", "rounds", "full", patch)
    expected = OmegaConf.create(whole.as_mapping())
    for key, value in TYPED.items():
        assert OmegaConf.select(expected, key) != value
        OmegaConf.update(expected, key, value)
    assert typed.as_mapping() == OmegaConf.to_container(expected)


AGAIN = "reading.answers.run_out=again"


@pytest.mark.parametrize(
    ("words", "run_out"),
    [
        ("", "sit_out"),
        ("reading=dom/as_published dataset=mhc", "again"),
        ("reading=dom/as_published dataset=sentiment", "sit_out"),  # about which the answer is not
        (f"reading=dom/as_published dataset=sentiment {AGAIN}", "again"),
        ("reading=dom/as_published dataset=landmine", "again"),  # which the paper does not have
        ("reading=dom/as_published ~reading.answers.run_out", "sit_out"),
        (f"reading.paper=dom +{AGAIN}", "again"),
    ],
)
def test_a_reading_gives_each_data_set_its_answers(words: str, run_out: str) -> None:
    """Those about other columns of the paper do not apply, unless they are typed."""
    assert composed(["algorithm=pm", *words.split()]).protocol.settings["run_out"] == run_out


def test_an_answer_is_typed() -> None:
    """Above those of the reading's file."""
    words = ["algorithm=pa", "reading=dom/as_published"]
    assert composed(words).algorithm.grid
    plain = composed([*words, "reading.answers.passive_aggressive=pa"])
    assert plain.algorithm == AlgorithmSpec.named("pa")


def test_cfg_job_is_what_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a hyper-parameter typed before the reading."""
    ran: list[ComposedRun] = []

    def note(run: ComposedRun) -> dict[str, Any]:
        ran.append(run)
        raise UserError("noted")

    monkeypatch.setattr("omtl.commands._hydra.play_run", note)
    words = ["algorithm=pm", "algorithm.margin=0.5", "reading=dom/as_published"]
    assert not run_hydra(["--cfg", "job", *words])
    shown = yaml.safe_load(capsys.readouterr().out)
    with pytest.raises(SystemExit):
        run_hydra(words)
    assert ran == [composed(words)] == [ComposedRun.read(shown)]
    assert {point["margin"] for point in ran[0].experiment.points} == {0.5}


def test_a_hyper_parameter_is_set_where_an_algorithm_has_it() -> None:
    """CMTL fixes eta, and GD searches it: one sweep sets both."""
    specs = {name: AlgorithmSpec.named(name) for name in ("cmtl", "gd")}
    assert "eta" in specs["cmtl"].fixed
    assert "eta" in specs["gd"].grid
    assert (
        note_on_networks(parsed(spelt_out(["algorithm=cmtl,gd", "algorithm.eta=0.5,2"]))[0]) == ""
    )
    for name in specs:
        for typed, tried in (("0.5", {0.5}), ("[0.5,2]", {0.5, 2})):
            run = composed([f"algorithm={name}", f"algorithm.eta={typed}"])
            assert {point["eta"] for point in run.experiment.points} == tried


def one(folder: Path, pattern: str) -> Path:
    """Return the only path that a pattern finds."""
    (path,) = folder.glob(pattern)
    return path


def test_a_run_leaves_its_record(told: Callable[..., str], tmp_path: Path) -> None:
    """Its config, every repeat's numbers and a log; `collect` reads it."""
    words = ("algorithm=pm", "algorithm.margin=0.5", *SMALL_RUN)
    said, *_ = told("run", *words).splitlines()
    runs = tmp_path / "home" / "runs"
    record = json.loads(one(runs, "*/*/result.json").read_text())
    assert record["config"] == composed(words).as_mapping()
    values = record["metrics"]["error"]["values"]
    assert len(values) == 2 == len(record["params"])
    assert record["returns"] == pytest.approx(np.mean(values))
    assert f"error {np.mean(values):.2f}" in said
    assert said in one(runs, "*/*/omtl.log").read_text()
    shown = yaml.safe_load(one(runs, "*/*/.hydra/config.yaml").read_text())
    assert ComposedRun.read(shown) == ComposedRun.read(record["config"])
    told("run", "algorithm=pm", *SMALL_RUN)  # whose margin is not typed
    told("export", str(runs), "--by-repeat", "--to", str(tmp_path))
    table = pd.read_csv(tmp_path / "runs.csv")
    errors = table.groupby("algorithm.margin")["error"].apply(list)
    assert errors.index.tolist() == [0.0, 0.5]
    assert errors[0.5] == values
    config = composed(["algorithm=dom1", "network=ring", *SMALL_RUN]).as_mapping()
    assert line(record | {"config": config}).startswith("DOM-I on ring, Synthetic: error ")
    config["network"]["edges"] = [[0, 1]]
    assert line(record | {"config": config}).startswith("DOM-I on the given network, Synthetic: ")


@pytest.mark.usefixtures("told")
def test_a_sweep_ends_with_one_table_of_all_jobs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job that fails hides none of the others; the status tells."""
    assert omtl(["run", "-m", "algorithm=pa,stl,pm", *SMALL_RUN]) == 1
    told = capsys.readouterr()
    assert "omtl: 1 of 3 jobs failed" in told.err
    assert "algorithm stl has no score" in told.err
    folder = one(tmp_path, "home/sweeps/*/*")
    csv, parquet = pd.read_csv(folder / "sweep.csv"), pd.read_parquet(folder / "sweep.parquet")
    for table in (csv, parquet):
        assert table["algorithm"].tolist() == ["pa", "stl", "pm"]
        assert table["error"].isna().tolist() == [False, True, False]
        assert table["error"].dtype == float
    order = [line.split()[1] for line in told.out.splitlines() if line[1:2].isdigit()]
    assert order == csv["algorithm"].tolist()


def test_other_programs_configs_may_read_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    composed([])
    monkeypatch.setenv("OWN", "theirs")
    assert OmegaConf.create({"own": "${oc.env:OWN}"}).own == "theirs"
