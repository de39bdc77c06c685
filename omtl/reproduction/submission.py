"""Submissions to the board: files with a learner's results, read and joined with the others."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.evidence.board import (
    as_cells,
)
from omtl.experiment.config import load_option, options
from omtl.experiment.schema import read_text, typed_mapping
from omtl.measures.metrics import METRICS, Metric
from omtl.tables.layout import plural
from omtl.util.errors import UserError
from omtl.util.files import write_whole

FORMAT = 1

LARGEST = 2**24
"""Bytes of the largest file that is read."""

LONGEST_LABEL = 60


@dataclass(frozen=True, kw_only=True)
class CellOfSubmission:
    """A row of ``results/board/cells.csv`` (`omtl.evidence.board.CELLS`)."""

    dataset: str
    algorithm: str
    label: str
    points: int
    mean: float | None
    std: float | None
    values: str
    chosen: str
    edge: float | None
    ties: float | None
    stream: str
    learner: str
    why: str
    curve: str


@dataclass(frozen=True, kw_only=True)
class Submission:
    """What `submit` writes; the only keys and types that are read."""

    format: int
    learner: str
    board: str
    data: tuple[str, ...]
    repeats: int
    seed: int
    files: Mapping[str, str]
    cells: tuple[CellOfSubmission, ...]
    environment: Mapping[str, Any]
    verification: tuple[str, ...]
    sha256: str

    def __post_init__(self) -> None:
        """Refuse rows of other learners, rows twice, and numbers that the metric cannot have."""
        known = self.board in options("board")
        metric = METRICS[load_option("board", self.board)["metric"]] if known else METRICS["error"]
        seen: set[str] = set()
        for cell in self.cells:
            if cell.algorithm != self.learner:
                raise UserError(
                    f"it has a row of {cell.algorithm}; only {self.learner} may be in it"
                )
            if cell.dataset in seen:
                raise UserError(f"it has {cell.dataset} twice")
            seen.add(cell.dataset)
            if len(cell.label) > LONGEST_LABEL or not cell.label.isprintable():
                raise UserError(
                    f"{cell.dataset}: the label must have at most {LONGEST_LABEL} printable letters"
                )
            if cell.values:
                _check_numbers(cell, self.repeats, metric)


def _check_numbers(cell: CellOfSubmission, n_repeats: int, metric: Metric) -> None:
    """Refuse numbers of a cell that are too few or too many, or outside the metric's range."""
    texts = cell.values.split()
    if len(texts) != n_repeats:
        raise UserError(f"{cell.dataset}: {len(texts)} values are not of {n_repeats} repeats")
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


def digest(content: Mapping[str, Any]) -> str:
    """Return the hash of a submission's content, without the hash that it says it has."""
    kept = {key: value for key, value in content.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def write_submission(content: Mapping[str, Any], folder: Path) -> Path:
    """Write a submission; return its path."""
    path = folder / f"{content['learner']}.json"
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return path


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


def submissions(folder: Path) -> list[dict[str, Any]]:
    """Return the submissions of a folder, by name."""
    return [read_submission(path) for path in sorted(folder.glob("*.json"))]


def joined(
    found: pd.DataFrame, handed_in: Iterable[Mapping[str, Any]]
) -> tuple[pd.DataFrame, list[str]]:
    """Return cells with those of submissions that are comparable, and a note on each other one.

    An entry counts if it has numbers on all data sets that are ranked, of its own learner alone,
    all of them played on the very streams of the board, and in as many repeats: battles are of the
    repeats that all have.
    """
    there = found[found["stream"] != ""]
    streams = dict(zip(there["dataset"], there["stream"], strict=True))
    n_repeats = max(map(_n_repeats, there["values"]), default=0)
    parts, notes = [found], []
    for content in handed_in:
        learner, rows = content["learner"], as_cells(content["cells"])
        rows = rows[rows["dataset"].isin(streams)]
        changed = (rows["stream"] != rows["dataset"].map(streams)).sum()
        played = set(rows.loc[rows["values"] != "", "dataset"])
        lacking = [dataset for dataset in streams if dataset not in played]
        faults = {
            "it has rows of other learners": set(rows["algorithm"]) - {learner},
            "a learner of the board has its name": learner in set(found["algorithm"]),
            f"{changed} of its {len(rows)} streams have changed since": changed,
            f"it has no numbers on {', '.join(lacking)}, and on all {len(streams)} data sets it "
            "must": lacking,
            f"it has fewer than the board's {plural(n_repeats, 'repeat')}": any(
                0 < _n_repeats(values) < n_repeats for values in rows["values"]
            ),
        }
        if why := next((why for why, is_so in faults.items() if is_so), ""):
            notes.append(f"{learner} (submitted) is left out: {why}")
        else:
            parts.append(rows.assign(label=rows["label"] + " (submitted)"))
    return pd.concat(parts, ignore_index=True), notes


def _n_repeats(values: str) -> int:
    return len(values.split())
