"""The written diagnoses of cells that are off or many standard errors from the printed number.

They are in ``experiments/<paper>/diagnoses.yaml``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from omtl.experiment.config import paper_file
from omtl.experiment.descriptions import FILES, Diagnosis
from omtl.experiment.schema import State, check_names, file_state, read_file
from omtl.measures.metrics import METRICS
from omtl.tables.plan import describe, known_readings, row_labels


def diagnoses(paper: str) -> tuple[Diagnosis, ...]:
    """Return a paper's diagnoses."""
    path = paper_file(paper, "diagnoses.yaml")
    return _checked(path, file_state(path)) if path.exists() else ()


@cache  # each cell that is off asks for them
def _checked(path: Path, _: State) -> tuple[Diagnosis, ...]:
    entries: tuple[Diagnosis, ...] = read_file(FILES["diagnoses"], path)
    for entry in entries:
        table = describe("table", entry.table)
        check_names(
            str(path),
            ("reading", entry.readings, known_readings()),
            ("data set", [entry.dataset], [column.published for column in table.columns]),
            ("algorithm", entry.algorithms, row_labels(table)),
            ("metric", entry.metrics, METRICS),
        )
    return entries


def diagnosis_of(cell: Any, paper: str) -> str:
    """Return why a cell is off or far from the printed number; empty without a diagnosis."""
    for entry in diagnoses(paper):
        if (
            entry.table == cell.table
            and cell.reading in entry.readings
            and cell.dataset == entry.dataset
            and cell.algorithm in entry.algorithms
            and cell.metric in (entry.metrics or [cell.metric])
        ):
            return " ".join(entry.text.split())
    return ""
