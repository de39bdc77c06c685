"""What determines a unit is in its key, and nothing else."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from environments import python
from miniature import small, with_grid, with_options

from omtl.compute import batches, engine
from omtl.experiment.playing import protocol_module
from omtl.experiment.readings import Reading
from omtl.experiment.specs import DataSetSpec
from omtl.experiment.unit import Experiment, Unit, modules_in
from omtl.util import code, user_folder
from omtl.util.code import UNHASHED, _code_of, code_of, code_version, imported
from omtl.util.errors import UserError

PLAY = """
import json, os, pickle, sys
from omtl.experiment.playing import compute
for path in sys.argv[1:]:
    if not os.fork():
        compute(pickle.load(open(path, "rb")))
        print(json.dumps(sorted(sys.modules)), flush=True)
        os._exit(0)
    os.wait()
"""
"""Tells which modules are loaded where each unit has been computed, by a process of its own."""


def _on_walk(algorithm: str, protocol: str) -> Unit:
    patch = Reading.of("osmtl", "as_written").patch
    experiment = Experiment.compose(algorithm, "random_walk", protocol, None, patch)
    return with_options(experiment, n_tasks=3, n_examples=240, n_features=5).unit(0, 0)


def _own_table(folder: Path) -> Unit:
    (folder / "table.csv").write_text(
        "label,task,a,b\n" + "".join(f"{(-1) ** i},{i // 2 % 2},{i},1\n" for i in range(480))
    )
    unit = _on_walk("pm", "heldout")
    options = {"path": str(folder / "table.csv")}
    dataset = replace(unit.dataset, name="mine", module="table_file", options=options)
    return replace(unit, dataset=dataset)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Forget what is known of code, before a test and after it."""
    _code_of.cache_clear()
    code._versions.cache_clear()
    yield
    _code_of.cache_clear()
    code._versions.cache_clear()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_whatever_a_unit_loads_is_in_its_key(tmp_path: Path) -> None:
    """Each module of the project that is loaded to compute it counts, or it is said why not."""
    units = {
        "network": small("dom2").unit(0, 0),
        "batch": _on_walk("itl", "batch_20"),
        "own table, held out": _own_table(tmp_path),
    }
    for name, unit in units.items():
        (tmp_path / name).write_bytes(pickle.dumps(unit))
    paths = [str(tmp_path / name) for name in units]
    played = python("-c", PLAY, *paths, env={**os.environ, "OMTL_HOME": str(tmp_path)})
    for unit, line in zip(units.values(), played.stdout.splitlines(), strict=True):
        modules = json.loads(line)
        loaded = {name for name in modules if name.startswith(("omtl.", "data_fetchers."))}
        codes = [code_of(module) for module in modules_in(unit.identity).values()]
        counted = set().union(*(each.modules for each in codes))
        assert {"omtl.util.seeds", "omtl.experiment.playing", "data_fetchers.fetch"} <= counted
        assert loaded - counted - UNHASHED.keys() == set()
        packages = {name.partition(".")[0] for name in modules} & code.PACKAGES.keys()
        assert packages <= set().union(*(each.packages for each in codes))


def test_what_is_not_hashed_is_there() -> None:
    """No exception outlives its module."""
    assert all(map(code.module_file, UNHASHED))


def test_no_key_depends_on_what_only_shows() -> None:
    """A change of a table's look, of a verdict or of a claim computes nothing again."""
    shown = {"tables.scoring", "tables.layout", "tables.verdict", "site.build", "commands.table"}
    shown |= {"experiment.descriptions", "experiment.readings", "measures.metrics"}
    for module in modules_in(small("dom2").unit(0, 0).identity).values():
        assert not {f"omtl.{name}" for name in shown} & {*code_of(module).modules}


@pytest.mark.parametrize("package", ["numpy", "numba", "scipy", "llvmlite"])
def test_another_version_of_a_package_changes_the_key(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generators, sums and compiled code are the packages' own."""
    before = small("dom2").unit(0, 0).key
    honest = code.installed_version
    other = {package: f"{honest(package)}+1"}
    monkeypatch.setattr(code, "installed_version", lambda name: other.get(name) or honest(name))
    code._versions.cache_clear()
    assert small("dom2").unit(0, 0).key != before


def test_hashes_of_files_and_code_of_data_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bytes, or another parser, make other units, here and at a worker's."""
    base = small("pm").unit(0, 0)
    assert base.key
    monkeypatch.setattr(DataSetSpec, "files", {"file": "0" * 64})
    assert small("pm").unit(0, 0).key != base.key
    done = batches.compute_unit(base, batches.this_process())
    assert isinstance(done, engine.Failure)
    assert "different code or data" in done.reason
    monkeypatch.undo()
    honest = code_version
    data = modules_in(base.identity)["data"]
    monkeypatch.setattr(
        "omtl.experiment.unit.code_version", lambda name: honest(name) + "!" * (name == data)
    )
    assert small("pm").unit(0, 0).key != base.key


def test_what_determines_a_result_determines_its_key() -> None:
    """Any change of the experiment, the seed or the repeat; what only people read does not."""
    base, grid = small("dom2").unit(0, 0), small("rom_rda")
    network: Any = base.network
    labelled = small("dom2").patched({"algorithm.*.label": "another label"}).unit(0, 0)
    for same in (labelled, replace(base, network=replace(network, name="other"))):
        assert same.key == base.key
    units = [base, small("dom2").unit(1, 0), small("dom2").unit(0, 1), replace(base, draw=1)]
    units += [
        small("dom2", network="full").unit(0, 0),
        small("dom2", increment="std").unit(0, 0),
        small("dom2", compared_losses="of_nodes").unit(0, 0),
        replace(base, network=replace(network, include_self=False)),
        grid.unit(0, 0),
        with_grid(grid, **dict(reversed(grid.algorithm.grid.items()))).unit(0, 0),  # its order
    ]
    assert len({unit.key for unit in units}) == len(units)


@pytest.mark.parametrize(
    ("place", "statement", "step"),
    [
        ("own/pack/sub/mine.py", "from step import x", "step"),
        ("own/pack/sub/mine.py", "from ..step import x", "pack.step"),
        ("home/written/mine_0123456789.py", "from step import x", "step"),  # of a notebook's class
    ],
)
def test_imports_are_followed(
    place: str, statement: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change counts of the code alone: comments, docstrings and layout do not.

    It counts from the next command on, in a process that has imported the file before, also for
    another module that is imported for the first time.
    """
    path, own = tmp_path / place, tmp_path / "own"
    path.parent.mkdir(parents=True)
    (own / "pack").mkdir(parents=True, exist_ok=True)
    package = "pack.sub." if path.is_relative_to(own) else ""
    monkeypatch.setenv("OMTL_OWN", str(own))
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    module, versions, values = package + path.stem, [], []
    path.write_text(statement)
    for number, text in enumerate(("x = 1", "'A docstring.'\nx  =  1  # a comment", "x = 2")):
        (own / f"{step.replace('.', '/')}.py").write_text(text)
        path.with_stem(f"{path.stem}{number}").write_text(statement)
        if versions:  # what was read before counts until the command ends
            assert (code_version(module), imported(module).x) == (versions[-1], values[-1])
        user_folder.find()
        assert imported(f"{module}{number}").x == number // 2 + 1
        versions.append(code_version(module))
        values.append(imported(module).x)
    assert {module, step} <= code_of(module).modules
    assert versions[0] == versions[1] != versions[2]
    assert values == [1, 1, 2]


def test_a_protocol_of_ones_own_is_the_changed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise what an earlier one played would be stored under the key of the changed one."""
    monkeypatch.setenv("OMTL_OWN", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    for number in (1, 2):
        (tmp_path / "measures.py").write_text(f"def play_grid(*_):\n    return {number}\n")
        user_folder.find()
        assert protocol_module("measures").play_grid() == number


def test_code_that_was_edited_after_it_was_imported_is_not_what_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its units and its compiled code would be taken for those of the edited one."""
    monkeypatch.setattr(code, "_BEGUN", 0.0)
    with pytest.raises(UserError, match="was edited after this program began; start the program"):
        code_version("omtl.learners.dom")


def records_of(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the place of the records of parsed modules, in a cache of its own."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    _code_of.cache_clear()
    return cache / "omtl" / "parsed_modules.json"


@pytest.mark.parametrize("content", ["", "{", "[1]", "null"])
def test_damaged_records_of_parsed_modules_change_no_version(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written anew, and a version is the same with and without them."""
    expected = code_version("omtl.learners.dom")
    record = records_of(tmp_path, monkeypatch)
    record.parent.mkdir()
    record.write_text(content, encoding="utf-8")
    for _ in range(2):  # from the sources, then from the record
        _code_of.cache_clear()
        assert code_version("omtl.learners.dom") == expected
    assert len(record.read_text(encoding="utf-8")) > 100


def test_records_that_somebody_else_may_have_written_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forged, they would give other code the version of ours, with its units and compiled code.

    They may come with a folder, or lie where a cache is a link, which belongs to nobody.
    """
    expected = code_version("omtl.learners.dom")
    record = records_of(tmp_path / "cache", monkeypatch)
    assert code_version("omtl.learners.dom") == expected
    forged = json.dumps({key: ([], "0" * 64) for key in json.loads(record.read_text())})
    stranger, home = tmp_path / "stranger", tmp_path / "stranger" / ".omtl"
    for folder in (stranger, home):
        folder.mkdir()
        (folder / record.name).write_text(forged, encoding="utf-8")
    monkeypatch.chdir(stranger)
    monkeypatch.setenv("OMTL_HOME", str(home))
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "omtl").symlink_to(stranger)
    for cache in ("empty", "linked"):
        records_of(tmp_path / cache, monkeypatch)
        assert code_version("omtl.learners.dom") == expected
    assert (stranger / record.name).read_text(encoding="utf-8") == forged
