"""The documentation is true: its commands exist, its links lead somewhere, its examples run."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import shutil
import tomllib
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from environments import environment, told_by
from miniature import SMALL_RUN

from omtl.commands import _main
from omtl.commands._main import main
from omtl.util.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
IDS = [path.relative_to(ROOT).as_posix() for path in PAGES]

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def lines_of(page: Path, kinds: str = "sh|console") -> list[str]:
    """Return the command lines of a page: those of its blocks of commands, without comments."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(rf"```(?:{kinds})\n(.*?)```", text, flags=re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def assert_known(line: str) -> None:
    """Assert that a command line is one that the project understands."""
    words = shlex.split(line, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        del words[0]
    program, *rest = words
    if program == "make":
        targets = [word for word in rest if "=" not in word]
        assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in targets), line
        variables = {word.partition("=")[0] for word in rest if "=" in word}
        assert all(f"$({name})" in MAKEFILE for name in variables)
    elif Path(program).name == "omtl":
        alone = list(takewhile(lambda word: word not in ("|", ">"), rest))
        if alone[0] == "--completion":  # which prints and ends
            assert alone[1] in _main.SHELLS
        else:
            _main.parse_options(alone)
    else:
        assert Path(program).name in ("pip", "python", "git", "cd", "dask", "sbatch"), line


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_are_known(page: Path) -> None:
    """Every `make` target and variable, every command and option of `omtl`."""
    for line in lines_of(page):
        assert_known(line)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link is a file, or a page of results, which `make docs` makes and checks."""
    made = ("results/",) if page.parent == ROOT / "docs" else ()
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert "://" in link or link.startswith(made) or (page.parent / link).exists(), link


def test_every_page_is_in_the_contents() -> None:
    """The contents of the documentation name each page once."""
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    there = [path.relative_to(ROOT / "docs").as_posix() for path in PAGES[1:]]
    assert sorted(re.findall(r"\S+\.md$", contents, re.MULTILINE)) == sorted(there)


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_learner_of_the_third_door_runs() -> None:
    """On two tasks that one feature tells apart."""
    rng = np.random.default_rng(0)
    task = np.repeat(["a", "b"], 50)
    X = rng.normal(size=(100, 3))
    given = {"X": X, "y": np.where(X[:, 0] > 0, 1, -1), "task": task}
    *_, block = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(block, given)
    assert np.mean(given["predicted"] == given["y"]) > 0.8


def test_the_readme_counts_as_the_results_do() -> None:
    """Numbers within 10% under three readings, floor and ceiling."""
    agreement = ROOT / "results" / "reproduced" / "dom-table1.agreement.csv"
    found = pd.read_csv(agreement).set_index("reading")
    within, one = found["within"], found.loc["as_published"]
    counts = [*within[["as_written", "blind", "as_published"]]]
    counts += [round(one["floor"]), round(one["ceiling"])]
    text = " ".join(README.split())
    (said,) = re.findall(rf"Of the {one['cells']} numbers of DOM's Table 1(, [^.]*)", text)
    assert re.findall(r"\d+\b(?!%)", said) == [str(count) for count in counts]


def test_the_output_shown_is_that_of_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line, on a terminal of 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")
    shown = re.findall(r"```sh\n(.*)\n```\n\n```text\n(.*?)```", README, flags=re.DOTALL)
    ((commands, output),) = shown
    assert main(shlex.split(commands.splitlines()[-1])[1:]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == output.rstrip().splitlines()


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_versions_are_one() -> None:
    """The package's is its citation's; both have a date in the changelog once it is released."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = dict(re.findall(r"^## ([\d.]+) \(([\d-]+)\)$", changes, flags=re.MULTILINE))
    assert PROJECT["version"] == str(citation["version"])
    assert released.get(PROJECT["version"]) == citation.get("date-released")
    assert "\n## Unreleased\n" in changes
    wheel = f"omtl-{PROJECT['version']}-py3-none-any.whl"
    for page in ("README.md", "docs/install.md"):
        assert wheel in (ROOT / page).read_text(encoding="utf-8")


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All its cells in order; it is kept with what they showed, a picture among it."""
    monkeypatch.setenv("OMTL_HOME", str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = json.loads((ROOT / "examples" / "tutorial.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = [kind for cell in code for one in cell["outputs"] for kind in one.get("data", {})]
    assert all(cell["outputs"] for cell in code)
    assert {"image/png", "text/html"} <= set(shown)
    names: dict[str, Any] = {}
    for cell in code:
        exec("".join(cell["source"]), names)
    runs = names["runs"].frame
    assert len(runs) == 3 and runs["error"].notna().all()
    assert names["beside"].frame["algorithm"].nunique() == 4
    assert names["model"].score(names["X"], names["y"], names["task"]) > 0.7


def test_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That compares a method of one's own; `test_wheel` runs the one that uses a learner."""
    monkeypatch.setenv("OMTL_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "my_method.py"), run_name="__main__")


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "example"),
    [
        ("tutorial.md", None),
        pytest.param("own_learner.md", "my_learner", marks=pytest.mark.deep),
        pytest.param("own_data.md", "my_data", marks=pytest.mark.deep),
        # `test_compare` and `test_products` play the learners of these pages.
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
    shown = lines_of(ROOT / "docs" / page, "console")
    assert shown
    printed = told_by(*shown, cwd=folder, env=environment(tmp_path / "home"))
    for command, found in zip(shown, printed, strict=True):
        told = next(words for start, words in TOLD.items() if command.startswith(start))
        assert told in found, command
        assert "fail" not in found.split(), command
        assert "\x1b" not in found, "no colours where the output is piped"


STAND_IN = """
def __getattr__(name):
    def called(*arguments, **named):
        with open("calls.txt", "a") as file:
            print(name, *arguments, *named.values(), file=file)
    return called
"""


def test_each_run_of_a_sweep_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its parameters, its metrics, its curve and its record; one that fails says why."""
    (tmp_path / "mlflow.py").write_text(STAND_IN, encoding="utf-8")
    monkeypatch.setenv("OMTL_HOME", str(tmp_path))
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    shown = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    callback = "+hydra.callbacks.mlflow._target_=log_to_mlflow.LogToMLflow"
    assert callback in shown
    assert main(["run", "-m", "algorithm=pm,stl", *SMALL_RUN, callback]) == 1
    said = capsys.readouterr().err
    assert "1 of 2 jobs failed" in said
    assert "raised" not in said  # Hydra turns errors of callbacks into warnings
    calls = (tmp_path / "calls.txt").read_text(encoding="utf-8")
    assert re.findall(r"^end_run (\w+)", calls, re.MULTILINE) == ["FINISHED", "FAILED"]
    assert calls.count("log_metric error_by_repeat") == 2
    assert calls.count("log_metric error_by_example") == 20
    for pattern in ("log_artifact .*result.json", "'algorithm': 'pm'", "set_tag failed .*stl"):
        assert re.search(pattern, calls), pattern
