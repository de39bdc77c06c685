"""What determines a unit is in its key, and nothing else."""

from __future__ import annotations

import gc
import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest
from environments import python
from miniature import small, with_grid, with_options

from omtl.compute import batches, engine
from omtl.experiment.playing import protocol_module
from omtl.experiment.readings import Reading
from omtl.experiment.specs import DataSetSpec
from omtl.experiment.unit import Experiment, Names, Unit, modules_in
from omtl.util import code, user_folder
from omtl.util.code import PACKAGES, UNHASHED, _code_of, code_of, code_version, imported
from omtl.util.paths import ROOT

PLAY = """
import json, pickle, sys
from omtl.experiment.playing import compute
unit = pickle.load(open(sys.argv[1], "rb"))
before = set(sys.modules)
compute(unit)
ours = ("omtl", "data_fetchers")
loaded = [name for name in sys.modules if name.partition(".")[0] in ours]
imported = [n.partition(".")[0] for n in sys.modules if n.partition(".")[0] in sys.argv[2:]]
print(json.dumps([loaded, sorted(set(imported))]))
"""


def _on_walk(algorithm: str, protocol: str, paper: str) -> Unit:
    experiment = Experiment.compose(
        Names(algorithm, "random_walk", protocol), Reading.of(paper, "as_written")
    )
    return with_options(experiment, n_tasks=3, n_examples=240, n_features=5).unit(0, 0)


def _own_table(folder: Path) -> Unit:
    (folder / "table.csv").write_text(
        "label,task,a,b\n" + "".join(f"{(-1) ** i},{i // 2 % 2},{i},1\n" for i in range(12))
    )
    unit = _on_walk("pm", "rounds", "dom")
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


UNITS: dict[str, Any] = {
    "network": lambda _: small("dom2").unit(0, 0),
    "grid": lambda _: _on_walk("rom_rda", "rounds", "rom"),
    "held out": lambda _: _on_walk("osmtl_e", "heldout", "osmtl"),
    "batch": lambda _: _on_walk("stl", "batch_20", "osmtl"),
    "own table": _own_table,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNITS)
def test_whatever_a_unit_loads_is_in_its_key(name: str, tmp_path: Path) -> None:
    """Each module of the project that is loaded to compute it counts, or it is said why not."""
    unit: Unit = UNITS[name](tmp_path)
    (tmp_path / "unit").write_bytes(pickle.dumps(unit))
    around = {**os.environ, "OMTL_HOME": str(tmp_path)}
    played = python("-c", PLAY, str(tmp_path / "unit"), *code.PACKAGES, env=around)
    loaded, imported = json.loads(played.stdout)
    codes = [code_of(module) for module in modules_in(unit.identity).values()]
    counted = set().union(*(each.modules for each in codes))
    assert {
        "omtl.util.seeds",
        "omtl.experiment.specs",
        "omtl.experiment.playing",
        "data_fetchers.fetch",
    } <= counted
    assert set(loaded) - counted - UNHASHED.keys() == set()
    assert set(imported) <= set().union(*(each.packages for each in codes))


def test_what_is_not_hashed_is_there() -> None:
    """No exception outlives its module."""
    assert all(code.module_in(ROOT, name) for name in UNHASHED)


@pytest.mark.parametrize(
    "shown", ["tables.scoring", "tables.layout", "tables.verdict", "site.build", "commands.table"]
)
def test_no_key_depends_on_what_only_shows(shown: str) -> None:
    """A change of a table's look or of a verdict computes nothing again."""
    unit = small("dom2").unit(0, 0)
    assert all(
        f"omtl.{shown}" not in code_of(each).modules for each in modules_in(unit.identity).values()
    )


@pytest.mark.parametrize("package", ["numpy", "numba", "scipy", "llvmlite"])
def test_another_version_of_a_package_changes_the_key(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generators, sums and compiled code are the packages' own."""
    before = small("dom2").unit(0, 0).key
    honest = code.version
    monkeypatch.setattr(code, "version", lambda name: honest(name) + "+1" * (name == package))
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


def test_a_module_of_a_package_counts_by_its_version() -> None:
    """By that of its package; the project's own counts by its code."""
    assert code_of("yaml.nodes").packages == {"yaml"}
    assert code_of("omtl.experiment.playing").packages <= PACKAGES.keys()


def test_threads_may_parse_at_the_same_time() -> None:
    """Where memory is reclaimed by Python code, as on Dask, Python 3.11 itself fails at that."""
    text = (ROOT / "omtl/sklearn/parameters.py").read_text(encoding="utf-8")
    gc.callbacks.append(switch := lambda *_: sum(range(50)))
    try:
        with ThreadPool(8) as pool:
            trees = pool.map(code.syntax_tree, [text] * 400)
    finally:
        gc.callbacks.remove(switch)
    assert len({len(tree.body) for tree in trees}) == 1


@pytest.mark.parametrize(
    ("statement", "step"),
    [("from step import x", "step.py"), ("from ..step import x", "pack/step.py")],
)
def test_imports_are_followed(
    statement: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change counts of the code alone: comments, docstrings and layout do not.

    It counts from the next command on, in a process that has imported the file before.
    """
    (tmp_path / "pack" / "sub").mkdir(parents=True)
    for name in ("pack/__init__.py", "pack/sub/__init__.py"):
        (tmp_path / name).touch()
    (tmp_path / "pack" / "sub" / "mine.py").write_text(statement)
    monkeypatch.setenv("OMTL_OWN", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    versions, values = [], []
    for text in ("x = 1", "'A docstring.'\nx  =  1  # a comment", "x = 2"):
        (tmp_path / step).write_text(text)
        kept = versions[-1:], values[-1:]
        if versions:  # what was read before counts until the command ends
            assert ([code_version("pack.sub.mine")], [imported("pack.sub.mine").x]) == kept
        user_folder.find()
        versions.append(code_version("pack.sub.mine"))
        values.append(imported("pack.sub.mine").x)
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
