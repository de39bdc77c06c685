"""Quick tests of what only long runs used to notice: each is a mutant that had survived."""

from __future__ import annotations

import ast
import fcntl
import os
import tarfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive_server import Reply, Server, member, remote, tar
from miniature import small

from data_fetchers.fetch import (
    Archive,
    fetch,
)
from omtl.compute import parallel_jobs, worker
from omtl.compute.store import Store
from omtl.data.rows import rows_of
from omtl.experiment import loading
from omtl.experiment.code import (
    PACKAGES,
    _code_of,
    _versions,
    _without_docstrings,
    code_of,
    code_version,
)
from omtl.experiment.config import FOREIGN, TARGET
from omtl.experiment.unit import Result, Unit, compute, new_learner, setting_of
from omtl.kernel.not_compiled import REFUSALS
from omtl.kernel.rules import Event, Shape
from omtl.learners.perceptron import Perceptron
from omtl.util import compile_cache, files
from omtl.util.errors import UserError, WriteError
from omtl.util.files import write_whole

SERIAL = {"backend": "sequential", "jobs": 1}


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


def test_hashes_of_files_and_code_of_data_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bytes, or another parser, make other units, here and at a worker's."""
    base = small("pm").unit(0, 0)
    assert base.key
    monkeypatch.setattr("omtl.experiment.unit.files_of", lambda _: {"file": "0" * 64})
    assert small("pm").unit(0, 0).key != base.key
    done = worker.compute_one(base)
    assert done.failure is not None
    assert "different code or data" in done.failure.reason
    monkeypatch.undo()
    honest = code_version
    data = base.modules["data"]
    monkeypatch.setattr(
        "omtl.experiment.unit.code_version", lambda name: honest(name) + "!" * (name == data)
    )
    assert small("pm").unit(0, 0).key != base.key


@pytest.mark.parametrize("same", [True, False])
def test_a_task_is_computed_by_the_code_that_asks(
    same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at once for units that differ in their repeat only, and again after a failure."""
    looked: list[int] = []
    monkeypatch.setattr(Unit, "is_same_here", lambda unit: (looked.append(unit.repeat), same)[1])
    units = [*small("pm").repeats(0, 3), small("dom2").unit(0, 3)]
    dones = worker.compute_all(worker.Work(units, "", None, None))
    assert [done.result is not None for done in dones] == [same] * 4
    assert looked == ([0, 3] if same else [0, 1, 2, 3])
    assert [bool(done.peak_mib) for done in dones] == [False, False, False, True]


def test_a_network_counts_by_what_it_is_and_not_by_its_name() -> None:
    """As all that only people read."""
    unit = small("dom2").unit(0, 0)
    assert unit.network is not None
    assert replace(unit, network={**unit.network, "name": "other"}).key == unit.key
    assert replace(unit, network={**unit.network, "include_self": False}).key != unit.key


def test_foreign_learners_are_known_by_their_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose modules are in the key, and who are fed rows that are not lean."""
    ours = small("pm").unit(0, 0)
    target = {TARGET: "sklearn.linear_model.SGDClassifier"}
    theirs = replace(ours, algorithm={**ours.algorithm, "learner": FOREIGN, "fixed": target})
    assert (ours.foreign, theirs.foreign) == ((), ("sklearn.linear_model",))
    lean: list[bool] = []

    def fed(*_: Any, is_lean: bool) -> None:
        lean.append(is_lean)
        raise UserError("enough")

    monkeypatch.setattr("omtl.experiment.unit.load_fed", fed)
    for unit in (ours, theirs):
        with pytest.raises(UserError, match="enough"):
            setting_of(unit)
    assert lean == [True, False]


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
    monkeypatch.setattr("omtl.experiment.unit.learner_class", lambda _: AROW)
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

    monkeypatch.setattr(f"{unit.protocol['module']}.play_grid", refuses)
    monkeypatch.setattr(f"{unit.protocol['module']}.NEEDS", ())
    monkeypatch.setattr("omtl.experiment.unit.learner_class", lambda _: kind)
    with pytest.raises(UserError, match=says):
        compute(unit)


def test_a_module_of_a_package_counts_by_its_version() -> None:
    """By that of its package; the project's own counts by its code."""
    assert code_of("yaml.nodes").packages == {"yaml"}
    assert code_of("omtl.experiment.unit").packages <= PACKAGES.keys()


def test_a_fix_of_python_changes_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another minor version does."""
    keys = []
    for release in (("3", "12", "1"), ("3", "12", "2"), ("3", "13", "1")):
        monkeypatch.setattr("platform.python_version_tuple", lambda release=release: release)
        keys.append(_versions.__wrapped__(frozenset()))
    assert keys[0] == keys[1] != keys[2]


def test_bare_strings_do_not_count_however_many() -> None:
    """A body of two of them is as empty as one of one."""
    one, two = (ast.parse(f"def f():\n{strings}") for strings in (" 'a'\n", " 'a'\n 'b'\n"))
    assert ast.dump(_without_docstrings(one)) == ast.dump(_without_docstrings(two))


def test_plain_imports_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those from a module are."""
    monkeypatch.setenv("OMTL_OWN", str(tmp_path))
    (tmp_path / "mine.py").write_text("import step\n")
    versions = set()
    for number in (1, 2):
        (tmp_path / "step.py").write_text(f"x = {number}")
        _code_of.cache_clear()
        versions.add(code_version("mine"))
    _code_of.cache_clear()
    assert len(versions) == 2


def test_relative_imports_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a folder above too."""
    monkeypatch.setenv("OMTL_OWN", str(tmp_path))
    (tmp_path / "pack" / "sub").mkdir(parents=True)
    for name in ("pack/__init__.py", "pack/sub/__init__.py"):
        (tmp_path / name).touch()
    (tmp_path / "pack" / "sub" / "mine.py").write_text("from ..step import x\n")
    versions = set()
    for number in (1, 2):
        (tmp_path / "pack" / "step.py").write_text(f"x = {number}")
        _code_of.cache_clear()
        versions.add(code_version("pack.sub.mine"))
    _code_of.cache_clear()
    assert len(versions) == 2


def test_compiled_code_is_kept_by_all_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the package and those of one's own."""
    package = tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(compile_cache, "PACKAGE", package)
    monkeypatch.setenv("OMTL_OWN", str(tmp_path))
    seen = {compile_cache.source_hash()}
    for path in (package / "rules.py", tmp_path / "mine.py"):
        for text in ("x = 1", "x = 2"):
            path.write_text(text)
            seen.add(compile_cache.source_hash())
    assert len(seen) == 5


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
        found.append(loading.load_fed(dataset, 0, 0).tasks.X[0, 0])
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
    assert learner.update(state, rows, Event(0, 0, 0, 0, 2.0), 1.0, 0.0)
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
        loading.load_fed({**dataset, "options": {"path": str(tmp_path / "none.csv")}}, 0, 0)


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
