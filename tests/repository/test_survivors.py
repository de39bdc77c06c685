"""Quick tests of what only long runs used to notice: each is a mutant that had survived."""

from __future__ import annotations

import fcntl
import os
import tarfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_server import Reply, Server, member, remote, tar
from miniature import SERIAL, small

from data_fetchers.fetch import (
    Archive,
    fetch,
)
from omtl.compute import parallel_jobs, worker
from omtl.compute.store import Store
from omtl.data.rows import rows_of
from omtl.experiment import loading
from omtl.experiment.unit import Result, setting_of
from omtl.kernel.rules import Example, Shape
from omtl.learners.perceptron import Perceptron
from omtl.util import files
from omtl.util.errors import UserError, WriteError
from omtl.util.files import write_whole


def test_a_file_is_never_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there stays where the move fails; what is moved is on the disk, for all to read."""
    path, synced = tmp_path / "file", []
    write_whole(path, "old")
    assert path.stat().st_mode & 0o777 == 0o644
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_size))

    def fails(*_: Any) -> None:
        assert synced == [len("new")]
        raise OSError(5, "no")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(WriteError):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_file_in_work_that_was_taken_for_left_over_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may remove it between its making and its lock."""
    honest, removed = files._lock, []

    def late(handle: int) -> None:
        if not removed:
            removed.extend(tmp_path.glob(f"{files.IN_WORK}*"))
            removed[0].unlink()
        honest(handle)

    monkeypatch.setattr(files, "_lock", late)
    write_whole(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"
    assert removed


def test_a_unit_is_stored_under_its_own_key(store: Store) -> None:
    """Each comes back as its own, and no two are one record."""
    units = [*small("pm").repeats(0, 2), *small("dom2").repeats(0, 2)]
    for number, unit in enumerate(units):
        store.save(unit, Result({"number": np.array(number)}, {}))
    assert {record.key.hex() for record in store.records()} == {unit.key for unit in units}
    loaded = [store.load(unit) for unit in units]
    assert [int(each.arrays["number"]) for each in loaded if each] == [0, 1, 2, 3]


def test_a_record_that_another_process_is_writing_is_read_when_it_is_whole(store: Store) -> None:
    """Half of it, in a file that the other has locked, is neither taken nor passed over."""
    units = small("pm").repeats(0, 2)
    for unit in units:
        store.save(unit, Result({}, {}))
        store.sync()
    [path] = store.folder.glob("*.units")
    whole = path.read_bytes()
    begin = sorted(store.records(), key=lambda record: record.end)[0].end
    for half in (whole[begin:-5], bytes(len(whole) - begin)):  # the latter as on file systems apart
        with path.open("r+b") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            other.truncate(begin)
            other.seek(begin)
            other.write(half)
            other.flush()
            late = Store(store.folder)
            late.refresh()
            assert [late.knows(unit) for unit in units] == [True, False]
            other.seek(begin)
            other.write(whole[begin:])
        late.refresh()
        assert [late.knows(unit) for unit in units] == [True, True]


def test_what_a_store_has_written_it_does_not_read_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each look at what others have written would read all of its own."""
    read: list[Path] = []
    monkeypatch.setattr("omtl.compute.store.scan", lambda path, _: (read.append(path), ())[1])
    for unit in small("pm").repeats(0, 3):
        store.save(unit, Result({}, {}))
        store.refresh()
    assert read == []


def test_a_file_that_is_gone_takes_its_units_along_and_no_others(store: Store) -> None:
    """As where another process has pruned it."""
    units = small("pm").repeats(0, 2)
    others = [Store(store.folder), Store(store.folder)]
    for unit, other in zip(units, others, strict=True):
        other.save(unit, Result({}, {}))  # neither lets go of its file, so there are two
    store.refresh()
    assert [store.knows(unit) for unit in units] == [True, True]
    gone = next(store.records())
    gone.path.unlink()
    store.refresh()
    assert [store.knows(unit) for unit in units] == [unit.key != gone.key.hex() for unit in units]


def test_a_damaged_unit_is_computed_though_it_is_known(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another run has stored is looked at before it is taken for done."""
    monkeypatch.setattr(Store, "knows", lambda *_: True)
    monkeypatch.setattr(Store, "has", lambda *_: False)
    outcome = parallel_jobs.run(small("pm").repeats(0, 2), store, SERIAL, quiet=True)
    assert (outcome.computed, outcome.reused) == (2, 0)
    assert list(outcome.peaks) == [worker.this_process()]


def test_why_units_are_lacking_is_the_first_failure() -> None:
    """Or how many are stored, where none has failed."""
    units = small("pm").repeats(0, 3)
    failed = {units[1].key: parallel_jobs.Failure("it broke")}
    assert parallel_jobs.why_lacking(units, 1, failed) == "it broke"
    assert parallel_jobs.why_lacking(units, 1, {}) == "1 of 3 repeats are stored"


def test_a_process_apart_is_replaced_when_it_is_lost_or_its_limit_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And kept otherwise."""

    class Apart:
        def __init__(self, mib: int) -> None:
            started.append(mib)
            self.lost = False

        def is_lost(self) -> bool:
            return self.lost

        def ask(self, *_: Any, seconds: float | None) -> None:
            self.lost = seconds == 2.0
            raise worker.Lost("gone")

    started: list[int] = []
    monkeypatch.setattr(worker, "Apart", Apart)
    monkeypatch.setattr(worker, "_local", threading.local())
    unit = small("pm").unit(0, 0)
    for seconds, mib in [(1.0, 10), (2.0, 10), (1.0, 10), (1.0, 20)]:
        [done] = worker.compute_all(worker.Work([unit], "", seconds, mib))
        assert done.failure is not None
        assert done.loads == 0
    assert started == [10, 10, 20]


def test_data_in_memory_are_told_apart_by_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that has changed is read again."""
    dataset = {"name": "mine", "module": "table_file", "normalise": "none", "bias": False}
    dataset["options"] = {"path": str(tmp_path / "a.csv")}
    found = []
    for value in (1, 2):
        (tmp_path / "a.csv").write_text(f"label,task,x\n1,a,{value}\n-1,a,0\n")
        monkeypatch.setattr(loading, "files_of", lambda _, value=value: {"a": str(value)})
        found.append(loading.load_prepared(dataset, 0, 0).tasks.X[0, 0])
    assert found == [1.0, 2.0]


def test_attempts_are_counted_anew_when_a_unit_is_done(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three deaths with units done in between do not end the run."""
    died = []

    def dies_after_one(function: Any, take: Any, *_: Any) -> Any:
        yield [function(take(1))]
        died.append(None)
        raise ConnectionError("gone")

    monkeypatch.setattr(parallel_jobs, "results", dies_after_one)
    outcome = parallel_jobs.run(small("pm").repeats(0, 5), store, SERIAL, quiet=True)
    assert (outcome.computed, len(died)) == (5, 5)


def test_repeats_are_shuffled_otherwise() -> None:
    """And the same repeat always the same."""
    orders = [setting_of(small("pm").unit(0, r)).stream.example.tobytes() for r in (0, 1, 0)]
    assert orders[0] != orders[1]
    assert orders[0] == orders[2]


def test_a_perceptron_learns_at_its_margin() -> None:
    """Where y w·x is the margin, as at first where both are 0."""
    rows = rows_of(np.ones((1, 2)))
    learner = Perceptron(1.0)
    state = learner.new_state(Shape(1, 2, np.eye(1)))
    assert learner.update(state, Example(rows, 0, 0, 0, 2.0, 0), 1.0, 0.0)
    assert state.w.tolist() == [[1.0, 1.0]]


def test_servers_are_asked_for_plain_bytes(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An encoding of their choice would make positions those of other bytes."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    asked = []
    honest = server.RequestHandlerClass.do_GET  # type: ignore[attr-defined]

    def noting(handler: Any) -> None:
        asked.append(handler.headers["Accept-Encoding"])
        honest(handler)

    monkeypatch.setattr(server.RequestHandlerClass, "do_GET", noting)
    fetch("set", remote(server.serve("/file", Reply())), home=tmp_path)
    assert asked == ["identity"]


def test_members_that_are_passed_over_are_forgotten(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An archive of many members does not fill the memory."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    kept = []
    honest = tarfile.TarFile.next

    def noting(archive: Any) -> Any:
        kept.append(len(archive.members))
        return honest(archive)

    monkeypatch.setattr(tarfile.TarFile, "next", noting)
    packed = tar(*(member(f"m{i}", b"") for i in range(50)), member("file.txt"))
    fetch("set", remote(Archive(server.serve("/a", Reply(packed)), "file.txt")), home=tmp_path)
    assert max(kept) <= 1


def test_units_asked_for_twice_are_computed_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted where they are computed."""
    calls = []
    honest = worker.compute
    monkeypatch.setattr(worker, "compute", lambda unit: (calls.append(unit), honest(unit))[1])
    parallel_jobs.run(small("pm").repeats(0, 2) * 3, store, SERIAL, quiet=True)
    assert len(calls) == 2


def test_a_data_set_that_is_not_there_is_told_once(tmp_path: Path) -> None:
    """Its units fail with its sentence."""
    dataset = {"name": "mine", "module": "table_file", "normalise": "none", "bias": False}
    with pytest.raises(UserError, match="there is no such file"):
        loading.load_prepared({**dataset, "options": {"path": str(tmp_path / "none.csv")}}, 0, 0)


@pytest.mark.parametrize(("seconds", "syncs"), [(60.0, 2), (-1.0, 6)])
def test_results_are_brought_to_the_disk_when_it_is_time(
    seconds: float, syncs: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several at once, after so many seconds or when all are done; and always in the end."""
    called: list[None] = []
    honest = Store.sync
    monkeypatch.setattr(Store, "sync", lambda store: (called.append(None), honest(store))[1])
    monkeypatch.setattr(parallel_jobs, "SYNC_SECONDS", seconds)
    parallel_jobs.run(small("pm").repeats(0, 5), store, SERIAL, quiet=True)
    assert len(called) == syncs


def test_what_parts_of_a_run_held_is_put_together() -> None:
    """Of each process the most."""
    outcome = parallel_jobs.Outcome(peaks={"a": 2.0})
    outcome.add(parallel_jobs.Outcome(peaks={"a": 3.0, "b": 1.0}))
    assert outcome.peaks == {"a": 3.0, "b": 1.0}
