"""A site that is built again is the earlier or the new one, at whatever moment it is killed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from omtl.site import build as building
from omtl.site.sources import Sources
from omtl.util.paths import RESULTS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def files_of(folder: Path) -> dict[str, bytes]:
    """Return a folder's files by their names."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the results of a small site, whose pages are made once: kills are for the writing."""
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("claims.csv", "theory.csv"):
        shutil.copy(RESULTS / name, folder)
    pages = building.pages(Sources(folder))
    monkeypatch.setattr(building, "pages", lambda *_: pages)
    return folder


def killed(results: Path, output: Path, moment: float) -> None:
    """Build a site in a fork that is killed.

    Parameters
    ----------
    results, output : Path
    moment : float
        Seconds after the start; a negative whole number is that of a move of folders.
    """
    child = os.fork()
    if not child:
        move, moved = Path.replace, []

        def counting(path: Path, target: Path) -> Path:
            if len(moved) == -1 - moment:
                os.kill(os.getpid(), signal.SIGKILL)
            moved.append(target)
            return move(path, target)

        Path.replace = counting  # type: ignore[method-assign,assignment]
        building.build(output, results=results)
        os._exit(0)
    if moment >= 0.0:
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def check_kills(results: Path, folder: Path, moments: list[float]) -> None:
    """Kill builds over an earlier site, and build each again."""
    began = time.monotonic()
    building.build(folder / "calm", results=results)
    took, calm = time.monotonic() - began, files_of(folder / "calm")
    output = folder / "site"
    building.build(output, results=results)
    front = output / "index.html"
    for moment in moments:
        front.write_text("earlier", encoding="utf-8")
        killed(results, output, moment * took if moment >= 0.0 else moment)
        there = output if output.exists() else folder / ".site-earlier"
        assert files_of(there) in (calm, {**calm, "index.html": b"earlier"})
        building.build(output, results=results)
        assert files_of(output) == calm
        assert {path.name for path in folder.iterdir()} == {"calm", "results", "site"}


@pytest.mark.slow
def test_a_site_survives_kills_while_it_is_swapped(results: Path, tmp_path: Path) -> None:
    """Before and after each of the two moves."""
    check_kills(results, tmp_path, [-1, -2, 0.9])


@pytest.mark.deep
@pytest.mark.timeout(7200)
def test_a_site_survives_two_hundred_kills(results: Path, tmp_path: Path) -> None:
    drawn = random.Random(1)
    check_kills(results, tmp_path, [drawn.choice([-1, -2, drawn.random()]) for _ in range(200)])
