"""Nothing is lost and nothing half-written is taken for a result."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from miniature import SERIAL, small, stored_row

from omtl.compute import engine
from omtl.compute.store import FILE, Store, StoredRow, packed, unpacked
from omtl.experiment.playing import compute
from omtl.experiment.unit import Result, Unit
from omtl.util.errors import UserError, WriteError

FACTS = {"unit": {}, "data_sha256": "", "task_names": [], "seconds": 0.5, "host": {}}


@pytest.fixture
def units(store: Store) -> list[Unit]:
    """Return units that are stored."""
    units = small("pm").repeats(0, 20)
    outcome = engine.run_units(units * 2, store, SERIAL, quiet=True)
    assert (outcome.computed, outcome.reused) == (20, 0)  # once each, though asked for twice
    return units


def test_units_of_other_rows_are_told(store: Store, units: list[Unit]) -> None:
    """A data set that gives other rows each time has no comparable numbers."""
    result = compute(units[0])
    store.remove([bytes.fromhex(units[0].key)])
    other = Result(result.arrays, result.facts | {"data_sha256": "other"})
    store.add([StoredRow.of(units[0], other)])
    with pytest.raises(UserError, match="dataset random_walk: load of random_walk did not"):
        engine.run_units(units, store, SERIAL, quiet=True)


@pytest.mark.parametrize("column", ["facts", "arrays", "sha256"])
def test_a_damaged_unit_is_computed_again(
    column: str, store: Store, units: list[Unit], capsys: pytest.CaptureFixture[str]
) -> None:
    """Only it: the others are kept."""
    row = stored_row(store, bytes.fromhex(units[0].key))
    content = bytearray(getattr(row, column))
    content[-1] ^= 1
    with closing(sqlite3.connect(store.path)) as db, db:
        db.execute(f"update units set {column} = ? where key = ?", (bytes(content), row.key))
    assert [key for key, why in store.damaged().items() if why] == [units[0].key]
    assert engine.run_units(units, store, SERIAL, quiet=True).computed == 1
    assert f"{units[0].name} is damaged" in capsys.readouterr().err
    assert engine.run_units(units, Store(store.folder), SERIAL, quiet=True).reused == 20


@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.99])
def test_a_damaged_file_is_set_aside_and_what_is_intact_is_kept(
    place: float, store: Store, units: list[Unit], capsys: pytest.CaptureFixture[str]
) -> None:
    """The run goes on to the same results; nothing damaged is taken for one."""
    before = store.stored(units)
    content = bytearray(store.path.read_bytes())
    begin = int(place * len(content))
    content[begin : begin + 4096] = random.Random(1).randbytes(len(content[begin : begin + 4096]))
    store.path.write_bytes(content)
    again = Store(store.folder)
    assert again.stored(units[:1]) or place < 0.9  # the first of the units is not at the end
    outcome = engine.run_units(units, again, SERIAL, quiet=True)
    assert outcome.computed + outcome.reused == len(units)
    assert "damaged" in capsys.readouterr().err
    for one, loaded in zip(before, again.stored(units), strict=True):
        assert packed(loaded.arrays) == packed(one.arrays)


@pytest.mark.parametrize(
    "arrays",
    [
        b"",
        b"no header",
        b"[]\nmore",
        b'[["a", "<f8", [2]]]\n12345678',
        b'[["a", "<f8", [1]]]\n123456789',
        b'[["a", "<f8", [100000000000]]]\n12345678',
        b'[["a", "<f8", [-1]]]\n12345678',
        b'[["a", "<f8", [1.5]]]\n12345678',
        b'[["a", "|O", [1]]]\n12345678',
        b'[["a", "?x", [1]]]\n12345678',
        b'[["a", "|V8", [1]]]\n12345678',
        b"[" * 200_000 + b"\n",
        b'{"a": 1}\n',
        b"3\n",
    ],
)
def test_what_is_no_arrays_is_refused(arrays: bytes) -> None:
    """Whatever it claims to be, and however large."""
    with pytest.raises(ValueError):
        unpacked(arrays)


def numbered(unit: Unit, number: int) -> StoredRow:
    """Return the row of a unit whose duration is a number by which it is known."""
    result = compute(unit)
    return StoredRow.of(unit, Result(result.arrays, result.facts | {"seconds": float(number)}))


def test_what_is_no_result_of_its_protocol_is_computed_again(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where its hash, its key and its facts are right."""
    unit = small("pm").unit(0, 0)
    result = compute(unit)
    spoilt = result.arrays | {"mistakes": result.arrays["mistakes"][:, :-1]}
    store.add([StoredRow.of(unit, Result(spoilt, result.facts))])
    assert not store.stored([unit])
    assert "array 'mistakes' has shape" in capsys.readouterr().err
    assert engine.run_units([unit], store, SERIAL, quiet=True).computed == 1
    assert store.stored([unit])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_use_the_store_that_they_inherit(store: Store) -> None:
    """Each by a connection of its own."""
    rows = [numbered(unit, repeat) for repeat, unit in enumerate(small("pm").repeats(0, 12))]
    store.add(rows[:2])
    children = []
    for number in range(2, 12):
        children.append(os.fork())
        if not children[-1]:
            store.add([rows[number]])
            os._exit(0 if len(store.keys()) >= 3 else 1)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 10
    assert store.keys() == sorted(row.key for row in rows)
    assert not store.damaged()


def test_a_stored_unit_is_not_written_again(store: Store) -> None:
    """Of two runs that computed it, the first one's stays."""
    unit = small("pm").unit(0, 0)
    for number in (1, 2):
        Store(store.folder).add([numbered(unit, number)])
    [loaded] = store.stored([unit])
    assert loaded.facts["seconds"] == 1
    assert packed(loaded.arrays) == packed(compute(unit).arrays)


def test_a_store_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """With the place, and what to do."""
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "store")
    unit = small("pm").unit(0, 0)
    assert not store.stored([unit])
    with pytest.raises(WriteError, match=f"{FILE} cannot be written"):
        store.add([StoredRow.of(unit, Result({}, FACTS))])


def test_a_disk_without_locks_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite takes a lack of locks for a lock of another process."""
    unit = small("pm").unit(0, 0)
    store.add([StoredRow.of(unit, Result({}, FACTS))])
    monkeypatch.setattr("omtl.compute.store.PATIENCE", 0.1)
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("begin exclusive")
        with pytest.raises(WriteError, match=f"{FILE} cannot be used .*OMTL_HOME"):
            Store(store.folder).add([StoredRow.of(small("pm").unit(0, 1), Result({}, FACTS))])


def test_reading_makes_no_store(store: Store) -> None:
    """In a fresh clone nothing is created by looking."""
    assert not store.stored([small("pm").unit(0, 0)])
    assert not store.keys()
    assert not store.folder.exists()
