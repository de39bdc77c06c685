"""Playing for a submission: making one, and playing a sample of one again."""

from __future__ import annotations

import json
import math
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from omtl.compute.own_process import Apart, LostProcess, can_confine
from omtl.compute.store import Store, packed, unpacked
from omtl.evidence.board import (
    SECONDS,
    BoardPlan,
    board_cells,
    code_of_learner,
    scored_repeats,
    stream_of,
)
from omtl.experiment.config import option_files
from omtl.experiment.playing import compute, load_prepared
from omtl.experiment.schema import read_text
from omtl.experiment.specs import AlgorithmSpec
from omtl.experiment.unit import Result, Unit
from omtl.protocols.record_schema import check_arrays
from omtl.reproduction.submission import FORMAT, digest, read_submission
from omtl.util import user_folder
from omtl.util.code import code_of
from omtl.util.errors import UserError
from omtl.util.files import write_whole
from omtl.util.host import host
from omtl.util.providers import extension_of
from omtl.util.status import DONE, FAILED

LEAST = 10
"""Numbers that are computed again at least, where there are so many."""

SHARE = 0.1
"""Share of a submission's numbers that are computed again."""

SECONDS_EACH, MIB = 3600.0, 8192
"""Limits of the process that plays submitted code, for each number."""


def replayed_submission(
    board: BoardPlan, parallel: Mapping[str, Any], store: Store | None = None
) -> dict[str, Any]:
    """Play a board with one learner, replay a sample, and return what is handed in.

    Raises
    ------
    UserError
        If the learner fails on a data set, and not for missing data.
    """
    [name] = board.entrants
    store = store or Store.default()
    outcome = board.play(store, parallel)
    broken = [one.reason for one in outcome.failed.values() if not one.missing_data]
    if broken:
        raise UserError(broken[0])
    found = board_cells(board, store, outcome).drop(columns=SECONDS)
    content = {
        "format": FORMAT,
        "learner": name,
        "board": board.board,
        "data": board.datasets,
        "repeats": board.n_repeats,
        "seed": board.seed,
        "files": _files_of(name),
        "cells": json.loads(found.to_json(orient="records", double_precision=10)),
        "environment": host(),
    }
    content["verification"] = replay_sample(content, board, secrets.randbits(32))[0]
    return {**content, "sha256": digest(content)}


def _files_of(name: str) -> dict[str, str]:
    """Return the files of a learner of one's own: its config and its modules; none for others."""
    folder = user_folder.own_folder()
    path = option_files("algorithm")[name]
    if extension_of(path) is not None:
        raise UserError(
            f"{name} is of an extension, which whoever verifies it may not have; copy its config "
            "and its modules to a folder of your own"
        )
    if folder is None or not path.is_relative_to(folder):
        return {}
    module = AlgorithmSpec.named(name).learner.rpartition(".")[0]
    modules = map(user_folder.own_module, sorted(code_of(module).modules))
    paths = [path, *(one for one in modules if one is not None)]
    return {one.relative_to(folder).as_posix(): read_text(one) for one in paths}


def replay_sample(
    content: Mapping[str, Any], board: BoardPlan, seed: int, n_numbers: int | None = None
) -> tuple[list[str], bool]:
    """Play a sample of a submission's numbers again from nothing.

    The learner plays in a process of its own, with limits, and without network where the system
    allows it; its results come back through a pipe, and are scored here. No module of the learner
    is imported here.

    Parameters
    ----------
    content : mapping
        What `read` returned.
    board : Board
        Of its learner, its data sets and its seed.
    seed : int
        Draws the sample.
    n_numbers : int, optional
        The size of the sample; by default a share `SHARE` of all numbers, and at least `LEAST`.

    Returns
    -------
    sentences : list of str
        A line for each number that was tried: the same, different, or outdated, as its data
        changed.
    sound : bool
        Whether all are the same, and any was tried.
    """
    rows = [row for row in content["cells"] if row["dataset"] in board.datasets and row["values"]]
    numbers = [(row, repeat) for row in rows for repeat in range(len(row["values"].split()))]
    n_tried = max(LEAST, math.ceil(SHARE * len(numbers))) if n_numbers is None else n_numbers
    drawn = np.random.default_rng(seed).permutation(len(numbers))[:n_tried]
    tried = [numbers[int(at)] for at in sorted(drawn)]
    process = Apart(MIB, confined=True)
    try:
        sentences = [_replayed(row, repeat, board, process) for row, repeat in tried]
    finally:
        process.kill()
    return sentences, bool(sentences) and all(line.startswith("same") for line in sentences)


def _replayed(row: Mapping[str, Any], repeat: int, board: BoardPlan, process: Apart) -> str:
    """Return what came of playing one number again."""
    [name] = board.entrants
    experiment = board.experiment(row["dataset"], name)
    first, unit = (experiment.unit(board.seed, one) for one in (0, repeat))
    data = load_prepared(first.dataset, first.seed, first.draw).sha256
    if row["stream"] != stream_of(first, data, board.composed(row["dataset"]).selection):
        return f"outdated: {row['dataset']}: its data or options changed since"
    place, submitted = f"{row['dataset']}, repeat {repeat}", row["values"].split()[repeat]
    try:
        result = result_of(process.ask(arrays_of_unit, unit, seconds=SECONDS_EACH), unit)
    except (LostProcess, ValueError) as fault:
        return f"different: {place}: {fault}"
    value = f"{scored_repeats(board, row['dataset'], experiment, [result])[0][0]:.10g}"
    code = "" if row["learner"] == code_of_learner(unit) else ", whose code changed since"
    word = "same" if value == submitted else "different"
    return f"{word}: {place}: {value}, submitted {submitted}{code}"


def arrays_of_unit(unit: Unit) -> bytes:
    """Return the arrays of a unit's result, as a process of its own sends them."""
    user_folder.make_importable()
    return packed(compute(unit).arrays)


def result_of(content: bytes, unit: Unit) -> Result:
    """Return a unit's result from the bytes of a process that ran submitted code.

    Raises
    ------
    ValueError
        If they are no arrays of numbers, or not those of the unit's protocol.
    """
    arrays = unpacked(content)
    if not {"mistakes", "examples"} <= arrays.keys():
        raise ValueError("its process did not return a result")
    n_points, n_tasks = len(unit.algorithm.points), arrays["examples"].size
    check_arrays(arrays, unit.protocol.module, n_points, n_tasks)
    return Result(arrays, {})


def check_submission(
    path: Path, seed: int | None = None, n_numbers: int | None = None
) -> tuple[list[str], bool]:
    """Replay a sample of a submission, by the learner's files that it brings, if it brings some.

    These are used in a process of their own, which knows no other files of a user.

    Parameters
    ----------
    path : Path
    seed : int, optional
        Draws the sample; by default a number that nobody can know before.
    n_numbers : int, optional
        As in `replay_sample`.

    Raises
    ------
    UserError
        If the file cannot be read, was changed, or names a file outside its folder.
    """
    content = read_submission(path)
    seed = secrets.randbits(32) if seed is None else seed
    folder = user_folder.own_folder()
    if all(folder and _is_there(folder / name, text) for name, text in content["files"].items()):
        learners, data = (content["learner"],), tuple(content["data"])
        board = BoardPlan(content["board"], learners, data, content["repeats"], content["seed"])
        told, sound = replay_sample(content, board, seed, n_numbers)
        return [f"drawn by --seed {seed}; {can_confine()}", *told], sound
    with tempfile.TemporaryDirectory() as fresh:
        unpack(content["files"], Path(fresh))
        words = [sys.executable, "-m", "omtl", "board", "--verify", str(path.absolute())]
        words += ["--seed", str(seed)]
        words += [] if n_numbers is None else ["--cells", str(n_numbers)]
        environment = {**os.environ, user_folder.VARIABLE: str(Path(fresh).resolve())}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        if done.returncode not in (DONE, FAILED):
            raise UserError(f"{path}: {done.stderr.strip()}")
        return done.stdout.splitlines(), done.returncode == DONE


def _is_there(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def unpack(files: Mapping[str, str], folder: Path) -> None:
    """Write a submission's files into a folder.

    Raises
    ------
    UserError
        If one lies outside the folder, or is neither a module nor a learner's config.
    """
    for name, text in files.items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise UserError(f"the submission has a file {name!r} outside its folder")
        is_config = path.parent == (folder / "algorithm").resolve() and path.suffix == ".yaml"
        if path.suffix != ".py" and not is_config:
            raise UserError(f"the submission has a file {name!r}; only modules and a config may be")
        write_whole(path, text)
