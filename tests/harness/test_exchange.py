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

from omtl.commands._main import main
from omtl.compute import batches, engine, exchange
from omtl.compute.exchange import archive_at, prune, pull, push
from omtl.compute.store import Store, StoredRow, packed, unpacked
from omtl.experiment.unit import Result, Unit
from omtl.reproduction.replay import replay_pulled, unit_of_identity
from omtl.util.errors import UserError


@pytest.fixture
def units(store: Store) -> list[Unit]:
    """Return units that are stored."""
    units = small("pm").repeats(0, 3)
    engine.run_units(units, store, SERIAL, quiet=True)
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
    monkeypatch.setattr(batches, "compute", lambda _: pytest.fail("computed"))
    assert engine.run_units(units, other, SERIAL, quiet=True).reused == 3
    for unit in units:
        ours, theirs = other.load(unit), store.load(unit)
        assert ours is not None
        assert theirs is not None
        assert ours.facts == theirs.facts | {"pulled_from": str(archive)}
        for name, array in ours.arrays.items():
            np.testing.assert_array_equal(array, theirs.arrays[name])
    assert push(units[:1], store, archive) == 1


def forged(row: StoredRow, mistakes: int = 0, says: dict | None = None, **more: Any) -> StoredRow:
    """Return a row of a liar, whose hash is right; `more` replaces whole parts of it."""
    arrays = unpacked(row.arrays)
    arrays["mistakes"] += mistakes
    facts = json.dumps(json.loads(row.facts) | (says or {})).encode()
    made = row._replace(source="", **{"facts": facts, "arrays": packed(arrays)} | more)
    return made._replace(sha256=sha256(made.key + made.facts + made.arrays).digest())


LIES: dict[str, dict[str, Any]] = {
    "other key": {"key": bytes(32)},
    "no duration": {"says": {"seconds": None}},
    "a text for a duration": {"says": {"seconds": "1"}},
    "endless": {"says": {"seconds": float("inf")}},
    "negative duration": {"says": {"seconds": -1.0}},
    "no identity": {"says": {"unit": {}}},
    "other identity": {"says": {"unit": {"seed": 1}}},
    "nothing": {"facts": b""},
    "no facts": {"facts": b"[]"},
    "deep": {"facts": b'{"a": ' * 200_000},
    "nested": {"says": {"a": json.loads("[" * 100 + "]" * 100)}},
    "no points": {"arrays": packed({"diverged": np.zeros(0, int)})},
    "no arrays": {"arrays": b"no arrays"},
    "more mistakes": {"mistakes": 10_000},
    "negative": {"mistakes": -10_000},
}


def lied(lie: str) -> Callable[..., Any]:
    """Return a change of an archive: one unit is a liar's."""

    def change(archive: Path, store: Store, unit: Unit) -> None:
        row = stored_row(store, bytes.fromhex(unit.key))
        with closing(sqlite3.connect(archive)) as db, db:
            db.execute("delete from units where key = ?", (row.key,))
            db.execute("insert into units values (?, ?, ?, ?, ?)", forged(row, **LIES[lie]))

    return change


def stated(*statements: str) -> Callable[..., Any]:
    """Return a change of an archive by SQL."""

    def change(archive: Path, *_: Any) -> None:
        with closing(sqlite3.connect(archive)) as db, db:
            for statement in statements:
                db.execute(statement)

    return change


def rewritten(change_of: Callable[[bytes], bytes]) -> Callable[..., Any]:
    """Return a change of an archive's bytes."""
    return lambda archive, *_: archive.write_bytes(change_of(archive.read_bytes()))


COPY = ("create table copy as select * from units", "drop table units")
COPY += ("alter table copy rename to units", "update units set key = null")

BAD = {lie: lied(lie) for lie in LIES} | {
    "other arrays": stated("update units set arrays = zeroblob(length(arrays))"),
    "text": stated("update units set facts = 'text'"),
    "a number": stated("update units set arrays = 3"),
    "no key": stated(*COPY),
    # More than a table would run in the reader.
    "a view": stated("create view more as select * from units"),
    "a trigger": stated("create trigger more before insert on units begin select 1; end"),
    "no hash": stated("alter table units drop column sha256"),
    "no table": stated("alter table units rename to others"),
    "one byte": rewritten(lambda content: content.replace(b"data_sha256", b"Data_sha256", 1)),
    "half": rewritten(lambda content: content[: len(content) // 2]),
    "empty": rewritten(lambda _: b""),
    "no database": rewritten(lambda _: b"not an archive\n" * 500),
}


@pytest.mark.parametrize("name", BAD)
def test_nothing_that_others_send_is_believed(
    name: str, store: Store, units: list[Unit], tmp_path: Path
) -> None:
    """A unit that is none, a damaged file, or other bytes keep all of a file out of the store."""
    archive, other = tmp_path / "units.omtl", Store(tmp_path / "other")
    push(units, store, archive)
    BAD[name](archive, store, units[1])
    with pytest.raises(UserError, match="is not a file of units, or is damaged"):
        pull(archive, other)
    assert not other.keys()


def test_each_unit_says_who_computed_it(store: Store, units: list[Unit], tmp_path: Path) -> None:
    """Pulled ones where they came from; those computed here, nothing."""
    archive, other = tmp_path / "units.omtl", Store(tmp_path / "other")
    push(units[:2], store, archive)
    pull(archive, other, "https://example.org/units.omtl")
    engine.run_units(units, other, SERIAL, quiet=True)
    assert [stored_row(other, bytes.fromhex(unit.key)).source for unit in units] == [
        *["https://example.org/units.omtl"] * 2,
        "",
    ]
    assert "pulled from https://example.org/units.omtl; " in other.note_on(units)
    assert other.note_on(units[2:]) == ""
    push(units, other, archive)
    pull(archive, last := Store(tmp_path / "last"))
    chain = f"{archive}, before that from https://example.org/units.omtl"
    assert {row.source for row in last.rows()} == {str(archive), chain}
    [result] = last.stored(units[:1])
    assert result.facts["host"]["python"] == platform.python_version()


def test_forged_numbers_are_found_by_a_replay(
    store: Store, units: list[Unit], tmp_path: Path
) -> None:
    """Honest units are the same; one whose mistakes became none is different."""
    row = stored_row(store, bytes.fromhex(units[1].key))
    arrays = unpacked(row.arrays)
    arrays["mistakes"] = np.zeros_like(arrays["mistakes"])
    liar = Store(tmp_path / "liar")
    liar.add(
        [each for each in store.rows() if each.key != row.key]
        + [StoredRow.of(units[1], Result(arrays, json.loads(row.facts)))]
    )
    push(None, liar, tmp_path / "units.omtl")
    other = Store(tmp_path / "other")
    pull(tmp_path / "units.omtl", other)
    found = sorted((str(one).partition(", pulled")[0], one.detail) for one in replay_pulled(other))
    name = "Perceptron on random_walk, repeat"
    same = [(f"same: {name} {repeat}", "") for repeat in (0, 2)]
    assert found == [(f"different: {name} 1", "mistakes"), *same]
    with pytest.raises(UserError, match="has no pulled units"):
        list(replay_pulled(store))


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("algorithm", "learner", "os.system"),
        ("protocol", "module", "os"),
        ("dataset", "module", "os"),
    ],
)
def test_a_replay_runs_nothing_that_a_stranger_names(
    part: str, name: str, value: str, units: list[Unit]
) -> None:
    """Only what is in the configs."""
    identity = json.loads(json.dumps(units[0].identity))
    unit_of_identity(identity)
    identity[part][name] = value
    with pytest.raises(UserError, match="no config here has"):
        unit_of_identity(identity)


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
    store: Store, units: list[Unit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are no answers, and go when asked; damaged files go too, others stay."""
    push(units, store, tmp_path / "old")
    change_code(monkeypatch)
    again = small("pm").repeats(0, 2)
    engine.run_units(again, store, SERIAL, quiet=True)
    assert pull(tmp_path / "old", Store(tmp_path / "other")) == (3, 0, 3)
    (store.folder / "mine.txt").write_text("")
    (store.folder / "units.damaged").write_text("")
    assert prune(store, only_count=True) == (3, 2)
    assert len(store.keys()) == 5
    assert prune(store) == (3, 2)
    assert {key.hex() for key in store.keys()}  # noqa: SIM118 == {unit.key for unit in again}
    assert (store.folder / "mine.txt").exists()
    assert not (store.folder / "units.damaged").exists()


def test_commands_push_pull_and_prune(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "here"))
    archive = str(tmp_path / "units.omtl")
    engine.run_units(small("pm").repeats(0, 2), Store.default(), SERIAL, quiet=True)
    assert main(["store", "push", archive]) == 0
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "there"))
    assert main(["store", "pull", archive]) == 0
    assert "2 units, 2 of them new; 2 belong to the installed code" in capsys.readouterr().out
    assert main(["store", "verify"]) == 0
    assert main(["store", "prune", "--dry-run"]) == 0
    assert "0 units would be removed, 2 kept" in capsys.readouterr().out
