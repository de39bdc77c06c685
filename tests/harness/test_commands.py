"""The commands: help at once, names completed, JSON for scripts, 80 columns, what a run says."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import astuple
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from environments import command_names, ended, environment, python
from miniature import SERIAL, small
from small_tables import small_table

import omtl
from omtl.api import explanations, exports, tables
from omtl.commands import _main
from omtl.commands._main import main
from omtl.compute import engine, progress
from omtl.compute.batches import Batches
from omtl.compute.progress import DryRunPlan, Progress
from omtl.compute.store import Store
from omtl.experiment.config import options
from omtl.experiment.descriptions import descriptions
from omtl.tables.cells import as_rows, planned
from omtl.tables.layout import captioned_latex, lay_out, layout_markdown
from omtl.tables.notes import notes
from omtl.tables.published_results import stored_or_published
from omtl.tables.request import Request
from omtl.tables.scoring import scored, units_of
from omtl.util import user_folder
from omtl.util.ending import WRONG_USE
from omtl.util.errors import UserError


@pytest.mark.parametrize("command, too", [("--help", ("hydra", "rich", "yaml")), ("list", ())])
def test_looking_around_imports_nothing_heavy(command: str, too: tuple[str, ...]) -> None:
    """What only describes the package needs no numbers, so it comes at once."""
    heavy = ("numpy", "numba", "pandas", "scipy", *too)
    imported = python("-X", "importtime", "-m", "omtl", command).stderr.split()
    assert [name for name in heavy if name in imported] == []


LOOKS = (
    "--help",
    "list",
    "list algorithms",
    "doctor",
    "explain dom-table1",
    "store prune --dry-run",
)


def test_looking_runs_no_code_of_a_strangers_folder(tmp_path: Path) -> None:
    """Its modules are imported by what plays them, and not by what shows or lists."""
    stranger = tmp_path / "stranger"
    (stranger / "algorithm").mkdir(parents=True)
    names = ("mine", "river", "torch", "yaml", "numpy", "sitecustomize", "data_fetchers", "omtl")
    for name in names:
        (stranger / f"{name}.py").write_text("open('ran', 'w')\nclass Mine: pass\n")
    (stranger / "algorithm" / "mine.yaml").write_text(
        "name: mine\nlabel: Mine\n_target_: mine.Mine"
    )
    script = "import sys; from omtl.commands._main import main; import shlex\n"
    script += (
        f"for words in {LOOKS}:\n    try: main(shlex.split(words))\n    except SystemExit: pass"
    )
    (tmp_path / "look.py").write_text(script)
    python(str(tmp_path / "look.py"), cwd=stranger, env=environment(tmp_path / "home"))
    assert not (stranger / "ran").exists()


def test_results_are_written_to_the_current_folder(tmp_path: Path) -> None:
    """Also if the package is used from a checkout, whose own results are the project's."""
    words = ("-m", "omtl", "audit", "proofread")
    python(*words, cwd=tmp_path, env=environment(tmp_path / "home"))
    assert (tmp_path / "results" / "proofread.csv").exists()


@pytest.mark.parametrize(
    ("file", "call"),
    [
        ("selection/mine.yaml", lambda: omtl.run("pa", selection="min")),
        ("dataset/mine.yaml", lambda: omtl.compare("pa", "min")),
        ("experiments/mine/table1.yaml", lambda: omtl.table("mine-table")),
        ("experiments/mine/fig1.yaml", lambda: omtl.figure("mine-fig")),
        ("experiments/mine/fig1.yaml", lambda: omtl.explain("mine-fig", "")),
    ],
)
def test_a_folder_of_one_group_is_ones_own(
    file: str, call: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the group, the first call finds the current folder without being told of it."""
    monkeypatch.setenv(user_folder.VARIABLE, "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).touch()
    with pytest.raises(UserError, match=r"did you mean 'mine"):
        call()


@pytest.mark.parametrize("name", command_names())
def test_every_help_shows_examples_that_parse(name: str, capsys) -> None:
    """Each example is a command line that the parser takes."""
    module = import_module(f"omtl.commands.{name.replace(' ', '.')}")
    examples = _main.examples_in(module)
    assert examples
    for example in examples:
        words = shlex.split(example.removeprefix("omtl "))
        words = words[: words.index(">")] if ">" in words else words
        options, rest = _main.parser().parse_known_args(words)
        assert options.parser.prog == f"omtl {name}"
        assert all("=" in word for word in rest)
    with pytest.raises(SystemExit):
        _main.parser().parse_args([*name.split(), "--help"])
    assert examples[0] in capsys.readouterr().out


def test_list_and_doctor_speak_json(told) -> None:
    """And list all that there is."""
    found = json.loads(told("list", "--json"))
    assert [row["name"] for row in found["algorithms"]] == options("algorithm")
    assert {row["name"] for row in found["tables"]} == set(descriptions("table"))
    findings = json.loads(told("doctor", "--json"))
    states = {(row["part"], row["name"]): row["state"] for row in findings}
    assert states["packages", "numpy"] in ("ok", "note")
    assert states["data", "landmine"] == "note", "an empty home has no data"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Make dom-table1 two small experiments on synthetic data; return it."""
    cells = small_table(repeats=2)
    cells = cells[cells["algorithm"].isin(["PM", "PA"])]
    for module in (explanations, exports, tables):
        monkeypatch.setattr(module, "planned", lambda *_: cells)
    return cells


def test_a_cell_is_made_alone_and_explained(store: Store, table: pd.DataFrame) -> None:
    """The command that is told makes the cell; then its number is traced to its units."""
    wanted = Request(repeats=2, parallel=SERIAL, store=store)
    name = "PA on Synthetic"
    before = explanations.explain_cell("dom-table1", name, wanted)
    assert (before["verdict"], before["why"]) == ("missing", "0 of 2 repeats are stored")
    assert not tables.played_table("dom-table1", wanted, name).outcome.failed
    after = explanations.explain_cell("dom-table1", name, wanted, full=True)
    assert (after["from"], after["repeats"]) == ("the store", 2)
    [experiment] = table["experiment"][table["algorithm"] == "PA"]
    units = experiment.repeats(0, 2)
    assert list(after["units"].values()) == [unit.key for unit in units]
    assert after["seeds"]["repeats"] == [0, 1]
    assert after["made on"][0]["packages"]["numpy"] == np.__version__
    hashes = {result.facts["data_sha256"] for result in store.stored(units)}
    assert after["data"]["rows_sha256"] == sorted(hashes)
    assert len(hashes) == 2
    options = _main.parser().parse_args(shlex.split(after["command"])[1:])
    assert (options.table, options.cell, options.repeats) == ("dom-table1", name, 2)


@pytest.mark.usefixtures("table")
def test_verdicts_are_told_as_soon_as_they_are_known(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each compared cell, once, and as in the whole table."""
    for pause in ("EVERY", "SOON"):
        monkeypatch.setattr(progress, pause, 0.0)
    made = tables.played_table("dom-table1", Request(repeats=2, parallel=SERIAL, store=store))
    said = [line for line in capsys.readouterr().err.splitlines() if "printed" in line]
    lines = [line for line in made.layout.lines if not line.is_group]
    texts = {line.label: line.texts[0] for line in lines}
    assert said == [
        f"omtl: {name} on Synthetic: {ours}, printed {printed}: {verdict}"
        for name, verdict in made.cells[["algorithm", "verdict"]].itertuples(index=False)
        for printed, ours, *_ in [texts[name]]
    ]


def test_a_cell_that_diverged_is_shown_as_such(store: Store, table: pd.DataFrame) -> None:
    """In every form of a table, and with no number in its rows."""
    patch = {"algorithm.pm.fixed": {"margin": 1.0}, "algorithm.pm.grid": {"eta": [1e308]}}
    table = table.assign(experiment=[one.patched(patch) for one in table["experiment"]])
    engine.run_units(units_of(table), store, SERIAL, quiet=True)
    cells = scored(table, store)
    layout = lay_out(cells, notes(cells))
    rows = as_rows(cells).set_index("algorithm")
    assert rows.loc["PM", ["ours_mean", "ours_std", "delta"]].tolist() == ["", "", ""]
    assert float(rows.loc["PA", "ours_mean"]) < 50.0
    assert "**diverged** off" in layout_markdown(layout)
    assert "& diverged" in captioned_latex(layout)
    assert "Synthetic: PM — diverged in 2 of 2 repeats" in layout.notes


def test_an_export_without_pyarrow_has_all_but_parquet(tmp_path: Path) -> None:
    """And says which extra brings it; the name of the table is matched in any case."""
    words = ["export", "DOM-Table1", "--to", str(tmp_path)]
    code = "import sys; sys.modules['pyarrow'] = None; from omtl.commands._main import main; "
    done = python("-c", f"{code}sys.exit(main({words!r}))")
    forms = {path.name.removeprefix("dom-table1.") for path in tmp_path.iterdir()}
    assert forms == {"csv", "md", "tex", "repeats.csv", "bib"}
    assert "pip install 'omtl[tables]'" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("where", "status", "told"),
    [(">&-", 0, ""), (">/dev/full", 2, "omtl: the disk is full; make room, ")],
)
def test_a_closed_output_and_a_full_disk_are_no_traceback(
    where: str, status: int, told: str
) -> None:
    """The caller has closed standard output, or nothing more can be written to it."""
    if "full" in where and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    words = f"{shlex.quote(sys.executable)} -m omtl list tables {where}"
    done = ended("sh", "-c", words, status=status)
    assert done.stderr.startswith(told)
    assert "Traceback" not in done.stderr


def test_letters_that_the_output_lacks_are_spelt_out(tmp_path: Path) -> None:
    """As where a pipe or the locale knows ASCII alone."""
    words = ("-m", "omtl", "explain", "dom-table1", "PM on Synthetic")
    done = python(*words, env=environment(tmp_path) | {"PYTHONIOENCODING": "ascii"})
    assert r"\xb1" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a folder that is in use")
def test_a_current_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed package can be imported there; its commands say what to do."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert main(["list", "tables"]) == WRONG_USE
    assert capsys.readouterr().err == (
        "omtl: the current folder no longer exists; change to another one\n"
    )


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")


def widest(text: str) -> int:
    """Return the length of the longest line."""
    return max(map(len, text.splitlines()))


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("table", descriptions("table"))
def test_papers_tables_fit(table: str, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """In parts where they are wider; every column is in one of them, and no line is blank."""
    request = Request(store=store)
    cells = scored(planned(table, request), store)
    if table == "dom-table1":  # with numbers of ours, the widest
        cells, _ = stored_or_published(planned(table, request), request)
    layout = lay_out(cells, notes(cells))
    layout.show()
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert widest(text) <= 80
    rows = [line for line in layout.lines if line.cells]
    columns = min(len(layout.heads), len(rows))  # broad tables are turned
    assert sum(f"{line} ".count("ours ") for line in lines) >= columns
    assert "\n\n\n\n" not in text  # a blank line ends each part, and begins it


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("words", [["list"], ["doctor"], ["list", "algorithms"]])
def test_commands_tables_fit(words: list[str], told) -> None:
    shown = told(*words)
    assert widest(shown) <= 80
    assert " \n" not in shown  # in a pipe, lines would have hundreds of blanks


def test_without_a_terminal_a_line_comes_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for each unit, and none of a quiet run; compiling, in the first of a kind, is not
    expected again."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    for quiet in (False, True):
        units = small("pa").repeats(0, 90)
        batches = Batches(units, Mock(count=1), lambda batch: batch)
        with Progress(len(units), quiet) as run:
            for number, unit in enumerate(units[:11]):
                took = 2.0 if number else 60.0
                now[0] += took
                batches.note(unit, took)
                run.done(unit.name, batches.seconds_left)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("omtl")]
    assert lines == [
        "omtl: 1 of 90 units done",
        "omtl: 6 of 90 units done, about 3 minutes left",
        "omtl: 11 of 90 units done, about 3 minutes left",
    ]


def test_a_dry_run_computes_nothing(told, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how many units there are, and how long they take where similar ones are stored."""
    monkeypatch.setenv("OMTL_DRY_RUN", "1")  # put back afterwards
    cell = ("--cell", "PA on Synthetic", "--repeats", "3", "--dry-run")
    assert told("table", "dom-table1", *cell).startswith("dom-table1: 6 units, 6 of them to")
    said = [DryRunPlan(4, *rest, 2).summary() for rest in ((4, None), (2, 60.0), (0, None))]
    assert [re.findall(r"\d+", one) for one in said] == [["4", "4"], ["4", "2", "60"], ["4", "0"]]
    plans = [DryRunPlan(4, 3, known, 2) for known in (60.0, None, 20.0)]
    assert astuple(DryRunPlan.of_all(plans)) == (12, 9, 40.0, 2)
