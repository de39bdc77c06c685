"""What once stood in a newcomer's way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from omtl.commands import _main
from omtl.experiment.config import choose, named_reading
from omtl.measures.metrics import METRICS
from omtl.reproduction.provenance import only
from omtl.site.gather import Sources, comment_of
from omtl.tables.plan import plan_table
from omtl.util import user_folder
from omtl.util.errors import UserError
from omtl.util.paths import ROOT


def test_suggestions_heed_no_case() -> None:
    """A name in other letters is the name that was meant."""
    with pytest.raises(UserError, match="did you mean 'coml'"):
        choose("algorithm", "COML", ["pa", "coml"])
    with pytest.raises(UserError, match="did you mean 'COML on Sentiment'"):
        only(plan_table("dom-table1", named_reading("dom", "as_written")), "coml on sentiment")


def test_a_home_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence and status 2, also where the folder is there and Hydra's cannot be made."""
    (tmp_path / "runs").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("OMTL_HOME", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["omtl"])
    assert _main.main(["run", "algorithm=pa", "repeats=1"]) == 2
    assert f"{tmp_path / 'runs'} cannot be written" in capsys.readouterr().err


def test_the_report_knows_learners_of_an_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their configs are read from where they are."""
    (tmp_path / "algorithm").mkdir()
    text = "# Mine.\nname: mine\nlabel: Mine\nlearner: mine.Mine\nnetworked: false\n"
    path = tmp_path / "algorithm" / "mine.yaml"
    path.write_text(text + "fixed: {}\ngrid: {}\n", encoding="utf-8")
    monkeypatch.setenv(user_folder.VARIABLE, str(tmp_path))
    assert Sources(ROOT / "results").algorithms["mine"]["label"] == "Mine"
    assert comment_of("algorithm", "mine") == "Mine."


def test_every_metric_is_explained() -> None:
    """In the page of the command line."""
    text = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert set(METRICS) - {"time"} <= explained  # a table's other word for seconds
