"""What importing the package leaves as it was: the process is its host's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from miniature import small
from threadpoolctl import threadpool_info

from omtl.compute import engine
from omtl.compute.store import Store
from omtl.experiment.playing import compute
from omtl.experiment.unit import Result, Unit
from omtl.util.code import code_of
from omtl.util.paths import ROOT

SEEN = """
import json, os, sys
import numba, numpy, sklearn, threadpoolctl

def seen():
    threads = {each["filepath"]: each["num_threads"] for each in threadpoolctl.threadpool_info()}
    return dict(os.environ), list(sys.path), numba.config.CACHE_DIR, threads

@numba.njit(cache=True)
def mine(x):
    return x + 1

before = seen()
import MODULE
after = seen()

@numba.njit(cache=True)
def mine_after(x):
    return x + 1

places = [function._cache._cache_path for function in (mine, mine_after)]
same = before[:-1] == after[:-1] and before[-1].items() <= after[-1].items()
print(json.dumps([same, places[0] == places[1]]))
"""


@pytest.mark.parametrize("module", ["omtl", "omtl.learners", "omtl.sklearn", "omtl.river"])
def test_an_import_changes_nothing_in_the_host(module: str, tmp_path: Path) -> None:
    """Neither its environment, nor its path, threads, or where numba keeps its functions.

    Not even in a folder that is laid out as one of a user's own.
    """
    (tmp_path / "algorithm").mkdir()
    (tmp_path / "algorithm" / "mine.yaml").write_text("name: mine\n")
    (tmp_path / "look.py").write_text(SEEN.replace("MODULE", module))
    kept = {"PYTHONPATH": str(ROOT), "OMTL_HOME": str(tmp_path / "home"), "PATH": "/usr/bin"}
    done = subprocess.run(
        [sys.executable, "look.py"],
        cwd=tmp_path,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, True]


def test_units_have_one_thread_each(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """While they run; afterwards the process has what it had."""

    def threads() -> list[int]:
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    def compute_and_look(unit: Unit) -> Result:
        meanwhile.extend(threads())
        return compute(unit)

    meanwhile: list[int] = []
    monkeypatch.setattr(engine, "compute", compute_and_look)
    before = threads()
    how = {"backend": "threading", "jobs": 2}
    assert engine.run_units(small("pm").repeats(0, 4), store, how, quiet=True).computed == 4
    assert set(meanwhile) == {1}
    assert threads() == before


def test_what_the_package_offers_is_in_no_units_key() -> None:
    """Else each change of the harness would make all units anew."""
    modules = code_of("omtl.learners.passive_aggressive").modules
    assert "omtl.learners" in modules
    assert not any(name.startswith("omtl.reproduction") for name in modules)
