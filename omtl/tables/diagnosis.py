"""The written diagnoses of cells that are off or many standard errors from print.

They are in ``experiments/<paper>/diagnoses.yaml``.
"""

from __future__ import annotations

from typing import Any

import yaml

from omtl.experiment.papers import paper_file
from omtl.experiment.schema import check_all
from omtl.tables.plan import Table
from omtl.tables.scoring import Scored


def diagnoses(paper: str) -> list[dict[str, Any]]:
    """Return a paper's diagnoses: each with ``table``, ``readings``, ``dataset``, ``algorithms``
    (patterns of names) and ``text``, and with ``metrics`` where it is not for all of them."""
    path = paper_file(paper, "diagnoses.yaml")
    found = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []
    check_all("diagnosis", found, str(path))
    return found


def diagnosis_of(table: Table, scored: Scored) -> str | None:
    """Return why a cell is off or far from print, or None where nobody has written it down."""
    for entry in diagnoses(table.description["paper"]):
        if (
            entry["table"] == table.id
            and table.reading["name"] in entry["readings"]
            and scored.cell.dataset == entry["dataset"]
            and scored.cell.algorithm in entry["algorithms"]
            and scored.cell.metric in entry.get("metrics", [scored.cell.metric])
        ):
            return " ".join(entry["text"].split())
    return None
