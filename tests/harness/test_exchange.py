"""Finished units travel as one file, which is checked; those whose code is gone can be removed."""

from __future__ import annotations

import json
import platform
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_server import Reply, Server
from miniature import SERIAL, small, stored_row

from omtl.compute import batches, engine, exchange
from omtl.compute.exchange import archive_at, prune, pull, push
from omtl.compute.store import Store, StoredRow, packed, unpacked
from omtl.experiment.unit import Unit
from omtl.reproduction.replay import replay_pulled, unit_of_identity
from omtl.util.errors import UserError


@pytest.fixture
def units(store: Store) -> list[Unit]:
    """Return units that are stored."""
    units = small("pm").repeats(0, 3)
    engine.run_units(units, store, SERIAL, quiet=True)
    return units


@pytest.fixture
def archive(store: Store, units: list[Unit], tmp_path: Path) -> Path:
    """Return a file of all of them."""
    assert push(units, store, tmp_path / "units.omtl") == 3
    return tmp_path / "units.omtl"


@pytest.fixture
def other(tmp_path: Path) -> Store:
    """Return the store of somebody else."""
    return Store(tmp_path / "other")


def test_a_stranger_need_not_compute(
    store: Store, other: Store, units: list[Unit], archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is pulled is what was pushed, to the bit; a second time nothing is new."""
    assert pull(archive, other) == (3, 3, 3)
    assert pull(archive, other) == (3, 3, 0)
    monkeypatch.setattr(batches, "compute", lambda _: pytest.fail("computed"))
    assert engine.run_units(units, other, SERIAL, quiet=True).reused == 3
    for ours, theirs in zip(other.stored(units), store.stored(units), strict=True):
        assert ours.facts == theirs.facts | {"pulled_from": str(archive)}
        assert packed(ours.arrays) == packed(theirs.arrays)
    assert push(units[:1], store, archive) == 1


def forged(row: StoredRow, mistakes: int = 0, says: dict | None = None, **more: Any) -> StoredRow:
    """Return a row of a liar, whose hash is right; `more` replaces whole parts of it."""
    arrays = unpacked(row.arrays)
    arrays["mistakes"] += mistakes
    facts = json.dumps(json.loads(row.facts) | (says or {})).encode()
    made = row._replace(source="", **{"facts": facts, "arrays": packed(arrays)} | more)
    return made._replace(sha256=sha256(made.key + made.facts + made.arrays).digest())


def spoil(archive: Path, row: StoredRow, how: Any) -> None:
    """Change an archive: a row by what a liar says (`forged`), all of it by SQL, or its bytes."""
    if callable(how):
        archive.write_bytes(how(archive.read_bytes()))
        return
    with closing(sqlite3.connect(archive)) as db, db:
        if isinstance(how, str):
            db.executescript(how)
        else:
            db.execute("delete from units where key = ?", (row.key,))
            db.execute("insert into units values (?, ?, ?, ?, ?)", forged(row, **how))


BAD: dict[str, Any] = {
    "other key": {"key": bytes(32)},
    "a text for a duration": {"says": {"seconds": "1"}},
    "endless": {"says": {"seconds": float("inf")}},
    "negative duration": {"says": {"seconds": -1.0}},
    "no identity": {"says": {"unit": {}}},
    "other identity": {"says": {"unit": {"seed": 1}}},
    "no facts": {"facts": b"[]"},
    "deep": {"facts": b'{"a": ' * 200_000},
    "nested": {"says": {"a": json.loads("[" * 100 + "]" * 100)}},
    "no points": {"arrays": packed({"diverged": np.zeros(0, int)})},
    "more mistakes": {"mistakes": 10_000},
    "negative": {"mistakes": -10_000},
    "other arrays": "update units set arrays = zeroblob(length(arrays))",
    "text": "update units set facts = 'text'",
    "no key": "create table copy as select * from units; drop table units;"
    "alter table copy rename to units; update units set key = null",
    # More than a table would run in the reader.
    "a view": "create view more as select * from units",
    "a trigger": "create trigger more before insert on units begin select 1; end",
    "no hash": "alter table units drop column sha256",
    "no table": "alter table units rename to others",
    "half": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
    "no database": lambda _: b"not an archive\n" * 500,
}


@pytest.mark.parametrize("name", BAD)
def test_nothing_that_others_send_is_believed(
    name: str, store: Store, other: Store, units: list[Unit], archive: Path
) -> None:
    """A unit that is none, a damaged file, or other bytes keep all of a file out of the store."""
    spoil(archive, stored_row(store, bytes.fromhex(units[1].key)), BAD[name])
    with pytest.raises(UserError, match="is not a file of units, or is damaged"):
        pull(archive, other)
    assert not other.keys()


def test_each_unit_says_who_computed_it(
    store: Store, other: Store, units: list[Unit], tmp_path: Path
) -> None:
    """Pulled ones where they came from; those computed here, nothing."""
    archive, source = tmp_path / "units.omtl", "https://example.org/units.omtl"
    push(units[:2], store, archive)
    pull(archive, other, source)
    engine.run_units(units, other, SERIAL, quiet=True)
    sources = [stored_row(other, bytes.fromhex(unit.key)).source for unit in units]
    assert sources == [source, source, ""]
    assert f"pulled from {source}; " in other.note_on(units)
    assert other.note_on(units[2:]) == ""
    push(units, other, archive)
    pull(archive, last := Store(tmp_path / "last"))
    chain = f"{archive}, before that from {source}"
    assert {row.source for row in last.rows()} == {str(archive), chain}
    [result] = last.stored(units[:1])
    assert result.facts["host"]["python"] == platform.python_version()


def test_forged_numbers_are_found_by_a_replay(
    store: Store, other: Store, units: list[Unit], archive: Path
) -> None:
    """Honest units are the same; one whose mistakes became none is different."""
    row = stored_row(store, bytes.fromhex(units[1].key))
    arrays = unpacked(row.arrays)
    spoil(archive, row, {"arrays": packed(arrays | {"mistakes": 0 * arrays["mistakes"]})})
    pull(archive, other)
    found = sorted((str(one).partition(", pulled")[0], one.detail) for one in replay_pulled(other))
    name = "Perceptron on random_walk, repeat"
    same = [(f"same: {name} {repeat}", "") for repeat in (0, 2)]
    assert found == [(f"different: {name} 1", "mistakes"), *same]
    with pytest.raises(UserError, match="has no pulled units"):
        list(replay_pulled(store))


def test_a_replay_runs_nothing_that_a_stranger_names(units: list[Unit]) -> None:
    """Only what is in the configs."""
    identity = json.loads(json.dumps(units[0].identity))
    assert unit_of_identity(identity).key == units[0].key
    for part, name in (("algorithm", "learner"), ("protocol", "module"), ("dataset", "module")):
        with pytest.raises(UserError, match="no config here has"):
            unit_of_identity(identity | {part: identity[part] | {name: "os.system"}})


def test_a_download_is_bounded(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much a server sends."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(exchange, "MOST_DOWNLOADED", 100)
    with (
        pytest.raises(UserError, match=r"cannot be downloaded \(more than 100 bytes\)"),
        archive_at(server.serve("/units", Reply(bytes(101)))),
    ):
        pass
    with archive_at(server.serve("/few", Reply(bytes(100)))) as path:
        assert path.stat().st_size == 100


def test_units_of_other_code_are_kept_apart_and_pruned(
    store: Store, other: Store, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are no answers, and go when asked; damaged files go too, others stay."""
    monkeypatch.setattr("omtl.experiment.unit.code_version", lambda module: f"{len(module):064}")
    again = small("pm").repeats(0, 2)
    engine.run_units(again, store, SERIAL, quiet=True)
    assert pull(archive, other) == (3, 0, 3)
    (store.folder / "mine.txt").touch()
    (store.folder / "units.damaged").touch()
    assert prune(store, only_count=True) == (3, 2)
    assert len(store.keys()) == 5
    assert prune(store) == (3, 2)
    left = {key.hex() for key in store.keys()}  # noqa: SIM118
    assert left == {unit.key for unit in again}
    assert (store.folder / "mine.txt").exists()
    assert not (store.folder / "units.damaged").exists()


def test_commands_push_pull_and_prune(
    told: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = str(tmp_path / "units.omtl")
    engine.run_units(small("pm").repeats(0, 2), Store.default(), SERIAL, quiet=True)
    told("store", "push", archive)
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "there"))
    pulled = told("store", "pull", archive)
    assert "2 units, 2 of them new; 2 belong to the installed code" in pulled
    told("store", "verify")
    assert "0 units would be removed, 2 kept" in told("store", "prune", "--dry-run")
