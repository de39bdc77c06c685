"""The worked examples: every command that their pages show runs, and what the pages say is so."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from environments import environment, python

from omtl.util.paths import ROOT

PROGRAMS = {"omtl": ["-m", "omtl"], "python": []}

TOLD = {
    "omtl check": "  pass ",
    "omtl list algorithms": "coml",
    "omtl list tables": "dom-table1",
    "omtl table": "DOM-I (Ring)",
    "omtl explain": "omtl table dom-table1 --cell",
    "omtl doctor": "numba",
    "omtl run": "(2 repeats, reading as_written, progressive:",
    "omtl compare": "seed 0, selection",
    "omtl new": "written: ",
    "omtl list": "my_data",
    "python make_data.py": "",
}
"""What each command prints, among other things."""


def commands(page: str) -> list[str]:
    """Return the commands of a page's console blocks."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "example"),
    [
        ("tutorial.md", None),
        pytest.param("own_learner.md", "my_learner", marks=pytest.mark.deep),
        pytest.param("own_data.md", "my_data", marks=pytest.mark.deep),
        # `test_foreign` and `test_nonzeros` play the learners of these pages.
        pytest.param("foreign.md", "foreign", marks=pytest.mark.deep),
        pytest.param("rows.md", "feature_by_feature", marks=pytest.mark.deep),
        pytest.param("adding.md", None, marks=pytest.mark.deep),
    ],
)
def test_the_commands_of_a_page_run(page: str, example: str | None, tmp_path: Path) -> None:
    """In the order of the page, in a copy of the example's folder if it has one."""
    folder = tmp_path / "folder"
    if example is None:
        folder.mkdir()
    else:
        shutil.copytree(ROOT / "examples" / example, folder, ignore=shutil.ignore_patterns("*.csv"))
    shown = commands(page)
    assert shown
    for command in shown:
        program, *words = shlex.split(command)
        around = environment(tmp_path / "home")
        done = python(*PROGRAMS[program], *words, cwd=folder, env=around)
        told = next(words for start, words in TOLD.items() if command.startswith(start))
        assert told in done.stdout, command
        assert "fail" not in done.stdout.split(), command
        assert "\x1b" not in done.stdout, "no colours where the output is piped"


STAND_IN = """
def __getattr__(name):
    def called(*arguments, **named):
        with open("calls.txt", "a") as file:
            print(name, *arguments, *named.values(), file=file)
    return called
"""


def test_each_run_of_a_sweep_is_logged(tmp_path: Path) -> None:
    """With its parameters, its metrics, its curve and its record; one that fails says why."""
    (tmp_path / "mlflow.py").write_text(STAND_IN, encoding="utf-8")
    example = (ROOT / "examples" / "log_to_mlflow.py").read_text(encoding="utf-8")
    (tmp_path / "log_to_mlflow.py").write_text(example, encoding="utf-8")
    shown = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    callback = "+hydra.callbacks.mlflow._target_=log_to_mlflow.LogToMLflow"
    assert callback in shown
    sizes = ("dataset.options.n_examples=20", "repeats=2", "parallel=serial")
    words = ("-m", "omtl", "run", "-m", "algorithm=pm,stl", *sizes, callback)
    done = python(*words, status=1, cwd=tmp_path, env=environment(tmp_path / "home"))
    assert "1 of 2 jobs failed" in done.stderr
    assert "raised" not in done.stderr  # Hydra turns errors of callbacks into warnings
    calls = (tmp_path / "calls.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in calls if line.startswith("end_run")] == [
        "end_run FINISHED",
        "end_run FAILED",
    ]
    assert sum(line.startswith("log_metric error_by_repeat") for line in calls) == 2
    assert sum(line.startswith("log_metric error_by_example") for line in calls) == 20
    assert any(line.startswith("log_artifact") and "result.json" in line for line in calls)
    assert any("'algorithm': 'pm'" in line for line in calls)
    assert any(line.startswith("set_tag failed") and "stl" in line for line in calls)
