"""Submissions to the board: files with a learner's results; made, read, checked, and joined."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd

from omtl.compute.own_process import can_confine
from omtl.compute.store import Store
from omtl.evidence.board import SECONDS, BoardCell, BoardPlan, as_cells, board_cells, of_values
from omtl.experiment.config import option_files
from omtl.experiment.schema import NOT_NEGATIVE, POSITIVE, read_text, typed_mapping
from omtl.experiment.specs import AlgorithmSpec, ParallelSpec
from omtl.measures.metrics import METRICS, Metric
from omtl.reproduction.replay import OF_REPEATS, SAME, Replay, is_same, replay_sample
from omtl.util import user_folder
from omtl.util.code import code_of
from omtl.util.errors import UserError, repeated
from omtl.util.files import write_whole
from omtl.util.host import host
from omtl.util.paths import RESULTS
from omtl.util.providers import extension_of, module_file

FORMAT = 1

LARGEST = 2**24
"""Bytes of the largest file that is read."""

LONGEST_LABEL = 60


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What `submit` writes; the only keys and types that are read."""

    format: int
    learner: str
    board: str
    data: tuple[str, ...]
    repeats: Annotated[int, POSITIVE] | None
    seed: Annotated[int, NOT_NEGATIVE]
    files: Mapping[str, str]
    cells: tuple[BoardCell, ...]
    environment: Mapping[str, Any]
    verification: tuple[str, ...]
    sha256: str

    def __post_init__(self) -> None:
        """Refuse rows of other learners, rows twice, and numbers that the metric cannot have."""
        board = BoardPlan(self.board, repeats=self.repeats)
        metric = METRICS[board.config.metric]
        datasets = [cell.dataset for cell in self.cells]
        if twice := repeated(datasets):
            raise UserError(f"it has {twice[0]} twice")
        if other := {*datasets} ^ {*self.data}:
            raise UserError(f"its data and its cells are of others: {', '.join(sorted(other))}")
        for cell in self.cells:
            if cell.algorithm != self.learner:
                raise UserError(
                    f"it has a row of {cell.algorithm}; only {self.learner} may be in it"
                )
            if len(cell.label) > LONGEST_LABEL or not cell.label.isprintable():
                raise UserError(
                    f"{cell.dataset}: the label must have at most {LONGEST_LABEL} printable letters"
                )
            if cell.values:
                _check_numbers(cell, board.n_repeats(cell.dataset), metric)


def _check_numbers(cell: BoardCell, n_repeats: int, metric: Metric) -> None:
    """Refuse numbers of a cell that are too few or too many, or outside the metric's range."""
    for name in OF_REPEATS:
        if (n := len(getattr(cell, name).split())) != n_repeats:
            raise UserError(f"{cell.dataset}: {n} {name} are not of {n_repeats} repeats")
    texts = cell.values.split()
    most = 100.0 if metric.unit == "%" else math.inf
    for text in texts:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (0.0 <= value <= most and math.isfinite(value)):
            raise UserError(
                f"{cell.dataset}: {text!r} is not a number from 0 to {most:g}, as {metric.name} is"
            )
    for name, value in of_values(np.array(texts, dtype=float)).items():
        if not is_same(getattr(cell, name), value):
            raise UserError(
                f"{cell.dataset}: {name}={getattr(cell, name)} must be that of its values, "
                f"{value:.10g}"
            )


def digest(content: Mapping[str, Any]) -> str:
    """Return the hash of a submission's content, without the hash that it says it has."""
    kept = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def read_submission(path: Path) -> dict[str, Any]:
    """Return a submission's content.

    Raises
    ------
    UserError
        If it cannot be read, or was changed after it was made.
    """
    if path.is_file() and path.stat().st_size > LARGEST:
        raise UserError(f"{path}: is larger than {LARGEST // 2**20} MiB; no submission is")
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as fault:
        raise UserError(f"{path}: is not a submission ({fault})") from fault
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError(
            f"{path}: is not a submission of format {FORMAT}; create one with `omtl board --submit`"
        )
    typed_mapping(Submission, content, str(path))
    if content["sha256"] != digest(content):
        raise UserError(
            f"{path}: has changed since `omtl board --submit` wrote it (its hash differs); "
            "write it again"
        )
    return content


def submissions(folder: Path, board: str = "default") -> list[dict[str, Any]]:
    """Return the submissions of a folder to a board, by name."""
    found = [read_submission(path) for path in sorted(folder.glob("*.json"))]
    return [one for one in found if one["board"] == board]


def joined(
    found: pd.DataFrame, handed_in: Iterable[Mapping[str, Any]]
) -> tuple[pd.DataFrame, list[str]]:
    """Return cells with those of submissions that are comparable, and a note on each other one.

    An entry counts if it has numbers on all data sets that are ranked, all of them played on the
    very streams of the board, and in as many repeats: battles are of the repeats that all have.
    """
    there = found[found["stream"] != ""]
    streams = dict(zip(there["dataset"], there["stream"], strict=True))
    needed = _n_repeats(there).groupby(there["dataset"]).max()
    parts, notes, names = [found], [], {*found["algorithm"]}
    for content in handed_in:
        learner, rows = content["learner"], as_cells(content["cells"])
        rows = rows[rows["dataset"].isin(streams)]
        changed = (rows["stream"] != rows["dataset"].map(streams)).sum()
        played = set(rows.loc[rows["values"] != "", "dataset"])
        lacking = [dataset for dataset in streams if dataset not in played]
        faults = {
            "a learner of the board has its name": learner in names,
            f"{changed} of its {len(rows)} streams have changed since": changed,
            f"it has no numbers on {', '.join(lacking)}, and on all {len(streams)} data sets it "
            "must": lacking,
            "it has fewer repeats than the board": (
                _n_repeats(rows) < rows["dataset"].map(needed)
            ).any(),
        }
        if why := next((why for why, is_so in faults.items() if is_so), ""):
            notes.append(f"{learner} (submitted) is left out: {why}")
        else:
            names.add(learner)
            parts.append(rows.assign(label=rows["label"] + " (submitted)"))
    return pd.concat(parts, ignore_index=True), notes


def _n_repeats(cells: pd.DataFrame) -> pd.Series:
    return cells["values"].map(lambda values: len(values.split()))


def submit(board: BoardPlan, parallel: ParallelSpec, folder: Path | None = None) -> Path:
    """Play a learner on the board's data sets, replay a sample, and write a file that says so.

    Parameters
    ----------
    board : BoardPlan
        With one learner.
    parallel : ParallelSpec
    folder : Path, optional
        Where to write; by default ``submissions`` in the board's folder of ``results``.

    Raises
    ------
    UserError
        If the learner fails on a data set, and not for missing data.
    """
    content = replayed_submission(board, parallel)
    print("\n".join(content["verification"]))
    path = (folder or RESULTS / board.folder / "submissions") / f"{content['learner']}.json"
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return path


def replayed_submission(
    board: BoardPlan, parallel: ParallelSpec, store: Store | None = None
) -> dict[str, Any]:
    """Play a board with one learner, replay a sample, and return what is handed in.

    Raises
    ------
    UserError
        If the learner fails on a data set, and not for missing data.
    """
    name = board.only_entrant
    store = store or Store.default()
    outcome = board.play(store, parallel)
    broken = [one.reason for one in outcome.failed.values() if not one.missing_data]
    if broken:
        raise UserError(broken[0])
    found = board_cells(board, store, outcome).drop(columns=[SECONDS, "bytes", *board.more])
    content = {
        "format": FORMAT,
        "learner": name,
        "board": board.board,
        "data": board.datasets,
        "repeats": board.repeats,
        "seed": board.seed,
        "files": _files_of(name),
        "cells": json.loads(found.to_json(orient="records", double_precision=10)),
        "environment": host(),
    }
    replays = replay_sample(content, board, secrets.randbits(32))
    content["verification"] = [*map(str, replays)]
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
    files = [path, *filter(None, map(module_file, sorted(code_of(module).modules)))]
    own = [file for file in files if file.is_relative_to(folder)]
    return {file.relative_to(folder).as_posix(): read_text(file) for file in own}


def are_same(replays: Sequence[Replay]) -> bool:
    """Whether numbers were played again, and all are the same."""
    return {one.result for one in replays} == {SAME}


def check_submission(
    path: Path, seed: int | None = None, n_numbers: int | None = None
) -> tuple[list[str], bool]:
    """Replay a sample of a submission; return what came of it, and whether all agree.

    The learner's files that it brings, if it brings some, are in a folder of their own meanwhile,
    which takes the place of the user's.

    Parameters
    ----------
    path : Path
    seed : int, optional
        Draws the sample; by default a number that nobody can know before.
    n_numbers : int, optional
        As in `omtl.reproduction.replay.replay_sample`.

    Raises
    ------
    UserError
        If the file cannot be read, was changed, or names a file outside its folder.
    """
    content = read_submission(path)
    seed = secrets.randbits(32) if seed is None else seed
    learners, data = (content["learner"],), tuple(content["data"])
    board = BoardPlan(content["board"], learners, data, content["repeats"], content["seed"])
    own = os.environ.get(user_folder.VARIABLE, "")
    with tempfile.TemporaryDirectory() as fresh:
        try:
            if content["files"]:
                unpack(content["files"], Path(fresh))
                user_folder.use_folder(Path(fresh))
            replays = replay_sample(content, board, seed, n_numbers)
        finally:
            os.environ[user_folder.VARIABLE] = own
    return [f"drawn by --seed {seed}; {can_confine()}", *map(str, replays)], are_same(replays)


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
