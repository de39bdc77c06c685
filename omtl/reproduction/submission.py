"""Taking part in the board: one file with a learner's results, which others can replay."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.compute.store import Store
from omtl.evidence.board import (
    SECONDS,
    Asked,
    Board,
    as_cells,
    cells,
    code_of_learner,
    scored,
    stream_of,
)
from omtl.experiment.config import option_files
from omtl.experiment.host import host
from omtl.experiment.loading import load_prepared
from omtl.experiment.playing import compute
from omtl.experiment.schema import text_of
from omtl.experiment.specs import AlgorithmSpec
from omtl.tables.layout import plural
from omtl.util import user_folder
from omtl.util.code import code_of
from omtl.util.errors import UserError
from omtl.util.files import write_whole
from omtl.util.seeds import generator
from omtl.util.status import DONE, FAILED

FORMAT = 1

SAMPLE = 3
"""Cells that are played again, one repeat of each."""


def submit(board: Board, parallel: Mapping[str, Any], store: Store | None = None) -> dict[str, Any]:
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
    found = cells(board, store, outcome).drop(columns=SECONDS)
    content = {
        "format": FORMAT,
        "learner": name,
        "board": board.asked.board,
        "data": board.data,
        "repeats": board.n_repeats,
        "seed": board.asked.seed,
        "files": _files_of(name),
        "cells": json.loads(found.to_json(orient="records", double_precision=10)),
        "environment": host(),
    }
    sentences, _ = replayed(content, board)
    content["verification"] = sentences
    return {**content, "sha256": digest(content)}


def digest(content: Mapping[str, Any]) -> str:
    """Return the hash of a submission's content, without the hash that it says it has."""
    kept = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def _files_of(name: str) -> dict[str, str]:
    """Return the files of a learner of one's own: its config and its modules; none for others."""
    folder = user_folder.own_folder()
    path = option_files("algorithm")[name]
    if folder is None or not path.is_relative_to(folder):
        return {}
    module = AlgorithmSpec.named(name).learner.rpartition(".")[0]
    modules = map(user_folder.own_module, sorted(code_of(module).modules))
    paths = [path, *(one for one in modules if one is not None)]
    return {one.relative_to(folder).as_posix(): text_of(one) for one in paths}


def write(content: Mapping[str, Any], folder: Path) -> Path:
    """Write a submission; return its path."""
    path = folder / f"{content['learner']}.json"
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return path


def read(path: Path) -> dict[str, Any]:
    """Return a submission's content.

    Raises
    ------
    UserError
        If it cannot be read, or was changed after it was made.
    """
    try:
        content = json.loads(text_of(path))
    except ValueError as fault:
        raise UserError(f"{path}: is not a submission ({fault})") from fault
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError(
            f"{path}: is not a submission of format {FORMAT}; create one with `omtl submit`"
        )
    if content.get("sha256") != digest(content):
        raise UserError(
            f"{path}: has changed since `omtl submit` wrote it (its hash differs); write it again"
        )
    return content


def replayed(content: Mapping[str, Any], board: Board) -> tuple[list[str], bool]:
    """Play a sample of a submission's cells again from nothing.

    Returns
    -------
    sentences : list of str
        A line for each cell that was tried: the same, different, or outdated, as its data changed.
    sound : bool
        Whether all are the same, and any was tried.
    """
    [name] = board.entrants
    rows = [row for row in content["cells"] if row["dataset"] in board.data and row["values"]]
    rng = generator(board.asked.seed, of="replayed submission", learner=name)
    sentences = []
    for number in sorted(rng.permutation(len(rows))[:SAMPLE].tolist()):
        row = rows[number]
        kept = row["values"].split()
        repeat = int(rng.integers(len(kept)))
        experiment = board.experiment(row["dataset"], name)
        first, unit = (experiment.unit(board.asked.seed, one) for one in (0, repeat))
        data = load_prepared(first.dataset, first.seed, first.draw).sha256
        if row["stream"] != stream_of(first, data, board.composed(row["dataset"]).selection):
            sentences.append(f"outdated: {row['dataset']}: its data or options changed since")
            continue
        value = f"{scored(board, row['dataset'], experiment, [compute(unit)])[0][0]:.10g}"
        word = "same" if value == kept[repeat] else "different"
        code = "" if row["learner"] == code_of_learner(unit) else ", whose code changed since"
        sentences.append(
            f"{word}: {row['dataset']}, repeat {repeat}: {value}, submitted {kept[repeat]}{code}"
        )
    return sentences, bool(sentences) and all(line.startswith("same") for line in sentences)


def verify(path: Path) -> tuple[list[str], bool]:
    """Replay a sample of a submission, by the learner's files that it brings, if it brings some.

    These are used in a process of their own, which knows no other files of a user.

    Raises
    ------
    UserError
        If the file cannot be read, was changed, or names a file outside its folder.
    """
    content = read(path)
    folder = user_folder.own_folder()
    if all(folder and _is_there(folder / name, text) for name, text in content["files"].items()):
        learners, data = (content["learner"],), tuple(content["data"])
        asked = Asked(content["board"], learners, data, content["repeats"], content["seed"])
        return replayed(content, Board(asked))
    with tempfile.TemporaryDirectory() as fresh:
        unpack(content["files"], Path(fresh))
        words = [sys.executable, "-m", "omtl", "board", "--verify", str(path.absolute())]
        environment = {**os.environ, user_folder.VARIABLE: str(Path(fresh).resolve())}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        if done.returncode not in (DONE, FAILED):
            raise UserError(f"{path}: {done.stderr.strip()}")
        return done.stdout.splitlines(), done.returncode == DONE


def _is_there(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def unpack(files: Mapping[str, str], folder: Path) -> None:
    """Write a submission's files into a folder."""
    for name, text in files.items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise UserError(f"the submission has a file {name!r} outside its folder")
        write_whole(path, text)


def submissions(folder: Path) -> list[dict[str, Any]]:
    """Return the submissions of a folder, by name."""
    return [read(path) for path in sorted(folder.glob("*.json"))]


def joined(
    found: pd.DataFrame, handed_in: Iterable[Mapping[str, Any]]
) -> tuple[pd.DataFrame, list[str]]:
    """Return cells with those of submissions that are comparable, and a note on each other one.

    An entry counts if all its cells were played on the very streams of the board, and in as many
    repeats: battles are of the repeats that all have.
    """
    there = found[found["stream"] != ""]
    streams = dict(zip(there["dataset"], there["stream"], strict=True))
    n_repeats = max(map(_n_repeats, there["values"]), default=0)
    parts, notes = [found], []
    for content in handed_in:
        rows = as_cells(content["cells"])
        rows = rows[rows["dataset"].isin(streams)]
        stale = [row.dataset for row in rows.itertuples() if row.stream != streams[row.dataset]]
        if content["learner"] in set(found["algorithm"]):
            notes.append(
                f"{content['learner']} (submitted) has the same name as a learner of the board"
            )
        elif stale:
            notes.append(
                f"{content['learner']} (submitted) is left out: {len(stale)} of its {len(rows)} "
                "streams have changed since"
            )
        elif any(0 < _n_repeats(values) < n_repeats for values in rows["values"]):
            notes.append(
                f"{content['learner']} (submitted) is left out: it has fewer than the board's "
                f"{plural(n_repeats, 'repeat')}"
            )
        else:
            parts.append(rows.assign(label=rows["label"] + " (submitted)"))
    return pd.concat(parts, ignore_index=True), notes


def _n_repeats(values: str) -> int:
    return len(values.split())
