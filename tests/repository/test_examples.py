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
