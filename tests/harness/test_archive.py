"""Finished units travel as one file, which is checked; those whose code is gone can be removed."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from miniature import SERIAL, small

from omtl.commands._main import main
from omtl.compute import parallel_jobs, worker
from omtl.compute.archive import fetched, prune, pull, push
from omtl.compute.segments import HEADER, scan
from omtl.compute.store import Store
from omtl.experiment.unit import Unit
from omtl.reproduction.verify import SIGNED, Check, append, refuse_name, signature
from omtl.util.errors import UserError
from omtl.util.paths import ROOT


@pytest.fixture
def units(store: Store) -> list[Unit]:
    """Return units that are stored."""
    units = small("pm").repeats(0, 3)
    parallel_jobs.run(units, store, SERIAL, quiet=True)
    return units


def change_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the learners have other code."""
    monkeypatch.setattr("omtl.experiment.unit.code_version", lambda module: f"{len(module):064}")


def test_a_stranger_need_not_compute(
    store: Store, units: list[Unit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is pulled is what was pushed, to the bit; a second time nothing is new."""
    archive, other = tmp_path / "units.omtl", Store(tmp_path / "other")
    assert push(None, store, archive) == 3
    assert pull(archive, other) == (3, 3, 3)
    assert pull(archive, other) == (3, 3, 0)
    monkeypatch.setattr(worker, "compute", lambda _: pytest.fail("computed"))
    assert parallel_jobs.run(units, other, SERIAL, quiet=True).reused == 3
    for unit in units:
        ours, theirs = other.load(unit), store.load(unit)
        assert ours is not None
        assert theirs is not None
        assert ours.facts == theirs.facts
        for name, array in ours.arrays.items():
            np.testing.assert_array_equal(array, theirs.arrays[name])
    assert push(units[:1], store, archive) == 1


@pytest.mark.parametrize(
    "damage", ["flip", "cut", "empty", "text", "other key", "no identity", "null"]
)
def test_a_damaged_archive_leaves_the_store_as_it_was(
    store: Store, units: list[Unit], tmp_path: Path, damage: str
) -> None:
    """Also one whose units are under the keys of others."""
    archive, other = tmp_path / "units.omtl", Store(tmp_path / "other")
    push(units, store, archive)
    content = archive.read_bytes()
    first, second, _ = scan(archive)
    payload = content[first.begin : first.end]
    archive.write_bytes(
        {
            "flip": content[:700] + bytes([content[700] ^ 1]) + content[701:],
            "cut": content[:-1],
            "empty": b"",
            "text": b"not an archive\n" * 50,
            "other key": _under(second, payload),
            "no identity": _under(second, b'{"unit": []}\n'),
            "null": _under(second, b'{"unit": null}\n'),
        }[damage]
    )
    with pytest.raises(UserError, match=r"not an archive of units, or is damaged"):
        pull(archive, other)
    assert not list(other.records())


def _under(record, payload: bytes) -> bytes:
    """Return a payload under another unit's key."""
    from omtl.compute.segments import packed

    return packed(record.key, record.question, record.code, payload)


def test_an_archive_at_an_address(store: Store, units: list[Unit], tmp_path: Path) -> None:
    """A sentence where nobody answers."""
    with (
        pytest.raises(UserError, match="cannot be downloaded"),
        fetched("http://127.0.0.1:9/units"),
    ):
        pass
    push(units, store, tmp_path / "here")
    with fetched(str(tmp_path / "here")) as path:
        assert path == tmp_path / "here"


def test_units_of_other_code_are_kept_apart_and_pruned(
    store: Store, units: list[Unit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are no answers, and go when asked; others and what is not ours stay."""
    push(units, store, tmp_path / "old")
    change_code(monkeypatch)
    again = small("pm").repeats(0, 2)
    parallel_jobs.run(again, store, SERIAL, quiet=True)
    assert pull(tmp_path / "old", Store(tmp_path / "other")) == (3, 0, 3)
    (store.folder / "code.log").write_text("")
    (store.folder / "aa").mkdir()
    assert prune(store, only_count=True) == (3, 2)
    assert len(list(store.records())) == 5
    assert prune(store) == (3, 2)
    fresh = Store(store.folder)
    assert {record.key.hex() for record in fresh.records()} == {unit.key for unit in again}
    assert [path.suffix for path in store.folder.iterdir()] == [".units"]
    assert HEADER.size == 140


def test_commands_push_pull_and_prune(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sentence each, also where there is nothing, or no archive."""
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "here"))
    archive = str(tmp_path / "units.omtl")
    assert main(["push", archive, "dom-table1", "--repeats", "1"]) == 2
    assert "has none of these units" in capsys.readouterr().err
    parallel_jobs.run(small("pm").repeats(0, 2), Store.default(), SERIAL, quiet=True)
    assert main(["push", archive]) == 0
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "there"))
    assert main(["pull", archive]) == 0
    assert "2 units, 2 of them new; 2 belong to the installed code" in capsys.readouterr().out
    assert main(["prune", "--dry-run"]) == 0
    assert "0 units would be removed, 2 kept" in capsys.readouterr().out
    assert main(["pull", str(tmp_path / "nothing")]) == 2
    assert "nothing cannot be read" in capsys.readouterr().err


def test_a_reproduction_is_signed(tmp_path: Path) -> None:
    """A line that says who found what, where; a name is one line."""
    row = dict.fromkeys(("table", "dataset", "algorithm", "task", "metric"), "x")
    row |= {"reading": "as_written", "selection": "oracle"}
    checks = [Check(row, 1, 1), Check(row, 1, 1, ("repeat 0",)), Check(row, lacking="data")]
    append(tmp_path / "log.csv", signature(checks, " Ada Lovelace ", 3))
    append(tmp_path / "log.csv", signature(checks[:1], "Grace Hopper", 0))
    one, two = list(csv.DictReader((tmp_path / "log.csv").open()))
    assert (one["name"], one["same"], one["different"], one["result"]) == (
        *("Ada Lovelace", "1", "1"),
        "differs",
    )
    assert (two["name"], two["cells"], two["result"]) == ("Grace Hopper", "x", "reproduced")
    for name in ("", "a\nb"):
        with pytest.raises(UserError, match="one line"):
            refuse_name(name)


def test_the_log_of_reproductions_is_well_formed() -> None:
    """Each line has a date, a name, a commit, and counts that belong together."""
    with (ROOT / "results" / "reproductions.csv").open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        assert tuple(rows.fieldnames or ()) == SIGNED
        for row in rows:
            assert row["date"].endswith("Z")
            assert row["name"].strip() == row["name"] != ""
            counts = [int(row[kind]) for kind in SIGNED[6:-1]]
            assert sum(counts) > 0
            assert row["result"] == ("differs" if counts[2] else "reproduced")
