"""Every mistake ends with status 2 and one sentence: what is wrong, where, and what to do.

The mistakes are data: ``golden/bad_input.yaml`` has for each what files of the user's own folder
are wrong, the command or call that meets them, and a sentence. What is printed may be worded
otherwise, but must name the same files, options and values.
"""

from __future__ import annotations

import json
import pickle
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from miniature import clinics

import data_fetchers
import omtl
from omtl import datasets
from omtl.commands import _main
from omtl.experiment import loading
from omtl.experiment.composition import composed
from omtl.experiment.schema import as_plain, read_yaml
from omtl.reproduction.record import play_run
from omtl.reproduction.submission import digest
from omtl.util import user_folder
from omtl.util.ending import WRONG_USE
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS

GOLDEN = Path(__file__).parents[1] / "golden" / "bad_input.yaml"
CASES: dict[str, dict[str, Any]] = as_plain(read_yaml(GOLDEN))
TABLE: dict[str, Any] = yaml.safe_load(
    CASES["published numbers that are not there"]["files"]["experiments/mine/table1.yaml"]
)
SUBMISSION = RESULTS / "board" / "submissions" / "my_learner.json"
GOOD = GOLDEN.parent / "own_folder"
"""An own folder in which all is well."""


def _arrays(path: Path, **arrays: Any) -> None:
    whole = {"X": np.eye(4), "y": np.array([1, -1, 1, -1]), "task": np.array([0, 0, 1, 1])}
    np.savez(path, **(whole | arrays))


def _bomb(path: Path) -> None:
    """Write arrays of which the archive says that each unpacks to almost 4 GiB."""
    _arrays(path)
    content = bytearray(path.read_bytes())
    at = 0
    while (at := content.find(b"PK\x01\x02", at)) >= 0:  # a member, in the directory at the end
        content[at + 24 : at + 28] = (0xFFFFFFF0).to_bytes(4, "little")
        at += 28
    path.write_bytes(content)


class Opens:
    """Something whose unpickling would run code."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what unpickling would call."""
        return (sys.exit, (9,))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


BINARY: dict[str, Callable[[Path], None]] = {
    "pickled.npz": lambda path: _arrays(path, task=np.array([Opens()] * 4, dtype=object)),
    "pickle.npz": lambda path: _write(path, pickle.dumps(Opens())),
    "fewer_labels.npz": lambda path: _arrays(path, y=np.array([1, -1, 1])),
    "flat.npz": lambda path: _arrays(path, X=np.ones(4)),
    "complex.npz": lambda path: _arrays(path, X=np.eye(4) * 1j),
    "no_task.npz": lambda path: np.savez(path, X=np.eye(2), y=np.array([1, -1])),
    "infinite.npz": lambda path: _arrays(path, X=np.diag([1.0, np.inf, 1.0, 1.0])),
    "bomb.npz": _bomb,
    "selection/latin1.yaml": lambda path: _write(path, "name: caf\xe9".encode("latin-1")),
}
"""Files that are no text, each by what writes it."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give an own folder with all that is good, as the one in use, and a home of its own."""
    mine = tmp_path / "own"
    shutil.copytree(GOOD, mine)
    for name, make in BINARY.items():
        make(mine / name)
    for variable, value in {
        "OMTL_OWN": str(mine),
        "OMTL_HOME": str(tmp_path / "home"),
        "OMTL_DATA": str(tmp_path / "data"),
        "OMTL_OFFLINE": "1",
    }.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("OMTL_DATA_MIRROR", raising=False)
    monkeypatch.chdir(mine)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", ["omtl"])
    monkeypatch.setattr(loading, "_LOADED", {})  # faults are kept too
    user_folder.use_folder(mine)
    yield mine
    sys.modules.pop("mine", None)


def _contents(folder: Path) -> dict[Path, bytes]:
    """Return the files of a folder, but those that Python compiles."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path: path.read_bytes() for path in files}


NAMED = r"'[^'\s]+'|--[a-z-]+|[\w/<>]+\.(?:csv|json|npz|parquet|py|svmlight|txt|yaml)\b"
"""What a sentence must name: quoted values, options and files."""


def _names_the_same(printed: str, says: str) -> None:
    """Check that a message is one sentence that names all that the expected one names."""
    assert "\n" not in printed
    lacking = [each for each in re.findall(NAMED, says) or [says] if each not in printed]
    assert not lacking, f"{printed!r} does not name {lacking}"


def _case(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return a case, whose environment is set."""
    for variable, value in CASES[name].get("environment", {}).items():
        monkeypatch.setenv(variable, value)
    return CASES[name]


def _write_changed(case: dict[str, Any], folder: Path) -> tuple[str, str]:
    """Write what is wrong; return the command that meets it, and how its message begins."""
    for path, text in case.get("files", {}).items():
        _write(folder / path, text.encode())
    if "table" in case:
        table = {name: each for name, each in (TABLE | case["table"]).items() if each is not None}
        _write(folder / "experiments/mine/table1.yaml", yaml.safe_dump(table).encode())
        return "explain mine-table1", f"{folder}/experiments/mine/table1.yaml"
    if "submission" in case:
        content = json.loads(SUBMISSION.read_text(encoding="utf-8"))
        content["cells"][0] |= case["submission"]
        content |= {"sha256": digest(content)}
        _write(folder / "mine.json", json.dumps(content).encode())
        return "board --verify mine.json", "mine.json"
    return case["command"], ""


IN_PYTHON = {"load", "call", "run"}
COMMANDS = [name for name, case in CASES.items() if not IN_PYTHON & {*case}]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_tells_a_mistake(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one sentence, with status 2, no result, and all files as they were."""
    case = _case(name, monkeypatch)
    command, begins = _write_changed(case, folder)
    before = _contents(folder)
    try:
        status = _main.main(shlex.split(command))
    except SystemExit as end:  # how the parser of arguments, and a job of Hydra's, end
        status = int(end.code or 0)
    out, err = capsys.readouterr()
    # On the data, and on a slow machine.
    notes = (" per task (", ": new code is compiled first", " units done")
    told = [line for line in err.splitlines() if not any(note in line for note in notes)]
    _names_the_same("\n".join(told).replace(str(folder), "<own>"), case["says"])
    if begins:
        assert told[0].startswith(f"omtl: {begins}")
        assert case["says"] in told[0]
    assert case.get("environment", {}).get("SECRET", "\n") not in told[0]
    assert status == WRONG_USE
    assert not out
    assert _contents(folder) == before


def _scope() -> dict[str, Any]:
    """Return what a call may name: two clinics, and two data sets of one name."""
    one, other = (datasets.from_arrays(np.eye(4) * k, [1, -1, 1, -1], [*"AABB"]) for k in (1, 2))
    modules = {"omtl": omtl, "datasets": datasets, "np": np, "pd": pd}
    return modules | {"frame": clinics(), "one": one, "other": other}


@pytest.mark.parametrize("name", sorted({*CASES} - {*COMMANDS}))
def test_a_call_tells_a_mistake(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a `UserError`: a table of one's own, a call from Python, or what `omtl run` plays."""
    case = _case(name, monkeypatch)
    _write_changed({"command": "", **case}, folder)
    before = _contents(folder)
    with pytest.raises(UserError) as fault:
        if "load" in case:
            data_fetchers.load("table_file", **case["load"])
        elif "run" in case:
            play_run(composed(shlex.split(case["run"])))
        else:
            eval(case["call"], _scope())
    _names_the_same(str(fault.value).replace(str(folder), "<own>"), case["says"])
    assert _contents(folder) == before
