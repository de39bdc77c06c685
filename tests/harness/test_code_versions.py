"""What of the code counts for a unit's key: modules, imports, versions, one's own learners."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from miniature import small

from omtl.compute import engine
from omtl.experiment.playing import compute, new_learner, setting_of
from omtl.experiment.specs import FOREIGN, TARGET, DataSetSpec
from omtl.experiment.unit import modules_in
from omtl.kernel.not_compiled import REFUSALS
from omtl.learners.perceptron import Perceptron
from omtl.util.code import (
    PACKAGES,
    _code_of,
    code_of,
    code_version,
)
from omtl.util.errors import UserError


def test_hashes_of_files_and_code_of_data_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bytes, or another parser, make other units, here and at a worker's."""
    base = small("pm").unit(0, 0)
    assert base.key
    monkeypatch.setattr(DataSetSpec, "files", {"file": "0" * 64})
    assert small("pm").unit(0, 0).key != base.key
    done = engine.compute_unit(base)
    assert isinstance(done, engine.Failure)
    assert "different code or data" in done.reason
    monkeypatch.undo()
    honest = code_version
    data = modules_in(base.identity)["data"]
    monkeypatch.setattr(
        "omtl.experiment.unit.code_version", lambda name: honest(name) + "!" * (name == data)
    )
    assert small("pm").unit(0, 0).key != base.key


def test_a_network_counts_by_what_it_is_and_not_by_its_name() -> None:
    """As all that only people read."""
    unit = small("dom2").unit(0, 0)
    assert unit.network is not None
    assert replace(unit, network=replace(unit.network, name="other")).key == unit.key
    assert replace(unit, network=replace(unit.network, include_self=False)).key != unit.key


def test_foreign_learners_are_known_by_their_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose modules are in the key, and whose rows are not reduced."""
    ours = small("pm").unit(0, 0)
    target = {TARGET: "sklearn.linear_model.SGDClassifier"}
    theirs = replace(ours, algorithm=replace(ours.algorithm, learner=FOREIGN, fixed=target))
    assert (ours.foreign, theirs.foreign) == ((), ("sklearn.linear_model",))
    reduced: list[bool] = []

    def load(*_: Any, is_reduced: bool) -> None:
        reduced.append(is_reduced)
        raise UserError("enough")

    monkeypatch.setattr("omtl.experiment.playing.load_prepared", load)
    for unit in (ours, theirs):
        with pytest.raises(UserError, match="enough"):
            setting_of(unit)
    assert reduced == [True, False]


class AROW:
    """A learner of one's own with the name of one of ours, whose values are not bounded as ours."""

    r: float

    def __init__(self, r: float) -> None:
        self.r = r


def test_values_of_ones_own_learner_are_its_own_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its name is."""
    ours = small("arow").unit(0, 0).algorithm
    with pytest.raises(UserError, match="must be"):
        new_learner(ours, {"r": -1.0})
    monkeypatch.setattr("omtl.experiment.playing.learner_class", lambda _: AROW)
    assert new_learner(ours, {"r": -1.0}).r == -1.0


@pytest.mark.parametrize(
    ("kind", "says"), [(AROW, "is a plain class"), (Perceptron, "cannot be compiled")]
)
def test_a_learner_that_is_not_compiled_is_told_why(
    kind: type, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain class where compiled ones are played, and a compiled one that numba refuses."""
    unit = small("pm").unit(0, 0)

    def refuses(*_: Any) -> None:
        raise REFUSALS[0]("no")

    monkeypatch.setattr(f"{unit.protocol.module}.play_grid", refuses)
    monkeypatch.setattr(f"{unit.protocol.module}.NEEDS", ())
    monkeypatch.setattr("omtl.experiment.playing.learner_class", lambda _: kind)
    with pytest.raises(UserError, match=says):
        compute(unit)


def test_a_module_of_a_package_counts_by_its_version() -> None:
    """By that of its package; the project's own counts by its code."""
    assert code_of("yaml.nodes").packages == {"yaml"}
    assert code_of("omtl.experiment.playing").packages <= PACKAGES.keys()


@pytest.mark.parametrize(
    ("statement", "step"), [("import step", "step.py"), ("from ..step import x", "pack/step.py")]
)
def test_imports_are_followed(
    statement: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change counts of the code alone: comments, docstrings and layout do not."""
    (tmp_path / "pack" / "sub").mkdir(parents=True)
    for name in ("pack/__init__.py", "pack/sub/__init__.py"):
        (tmp_path / name).touch()
    (tmp_path / "pack" / "sub" / "mine.py").write_text(statement)
    versions = []
    for text in ("x = 1", "'A docstring.'\nx  =  1  # a comment", "x = 2"):
        (tmp_path / step).write_text(text)
        monkeypatch.setenv("OMTL_OWN", str(tmp_path))
        _code_of.cache_clear()
        versions.append(code_version("pack.sub.mine"))
    _code_of.cache_clear()
    assert versions[0] == versions[1] != versions[2]


@pytest.mark.parametrize("content", ["", "{", "[1]", "null"])
def test_damaged_records_of_parsed_modules_change_no_version(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written anew, and a version is the same with and without them."""
    record = tmp_path / "omtl" / "parsed_modules.json"
    record.parent.mkdir()
    record.write_text(content, encoding="utf-8")
    expected = code_version("omtl.learners.dom")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for _ in range(2):  # from the sources, then from the record
        _code_of.cache_clear()
        assert code_version("omtl.learners.dom") == expected
    assert len(record.read_text(encoding="utf-8")) > 100


def test_records_that_came_with_a_folder_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forged, they would give other code the version of ours, with its units and compiled code."""
    expected = code_version("omtl.learners.dom")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    _code_of.cache_clear()
    code_version("omtl.learners.dom")
    record = json.loads((tmp_path / "cache" / "omtl" / "parsed_modules.json").read_text())
    forged = json.dumps({key: ([], "0" * 64) for key in record})
    for folder in (tmp_path / "stranger", tmp_path / "stranger" / ".omtl"):
        folder.mkdir()
        (folder / "parsed_modules.json").write_text(forged, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "stranger")
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "stranger" / ".omtl"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    _code_of.cache_clear()
    assert code_version("omtl.learners.dom") == expected
    _code_of.cache_clear()


def test_records_that_somebody_else_may_write_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that is a link belongs to nobody: versions are those of the sources."""
    expected = code_version("omtl.learners.dom")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "omtl").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    _code_of.cache_clear()
    assert code_version("omtl.learners.dom") == expected
    assert not list((tmp_path / "elsewhere").iterdir())
    _code_of.cache_clear()
